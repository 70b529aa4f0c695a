// SPDX-License-Identifier: Apache-2.0
// A medium in a sparse file: a header of 4096 bytes, then the raw pages. Erased blocks take no
// space on the disk (holes); a block's space is reserved before its first page is programmed, so
// that a full disk is noticed when nothing is half written. One process at a time opens a file
// (flock).
#ifndef CSD_MEDIA_FILE_H
#define CSD_MEDIA_FILE_H

#include "csd/flash/media.h"

// A new file, not readable by others; refuses one that exists.
STN_MUST_CHECK enum stn_status
media_file_create(const char *path, const struct media_geometry *geometry, struct media **out);
// Refuses what is no medium, is damaged or truncated, or is open in another process. `path` is
// copied.
STN_MUST_CHECK enum stn_status media_file_open(const char *path, struct media **out);

#endif
