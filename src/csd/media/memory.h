// SPDX-License-Identifier: Apache-2.0
// A medium in memory, gone when it is closed: for benches and tests. Programmed pages alone take
// space.
#ifndef CSD_MEDIA_MEMORY_H
#define CSD_MEDIA_MEMORY_H

#include "csd/flash/media.h"

STN_MUST_CHECK enum stn_status media_memory_create(const struct media_geometry *geometry,
                                                   struct media **out);

#endif
