// SPDX-License-Identifier: Apache-2.0
// Replaces a file in one go: what is written goes to PATH.tmp-PID beside it, which takes its place
// only when it is complete and on the disk. Whatever fails before leaves the old file as it was.
//
//     open → write × n → commit | abort
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H

#include <stddef.h>

#include "stannis/status.h"

struct atomic_file {
    char *path, *temporary;
    int fd;
};

STN_MUST_CHECK enum stn_status atomic_file_open(const char *path, struct atomic_file *out);
STN_MUST_CHECK enum stn_status atomic_file_write(struct atomic_file *file, const void *bytes,
                                                 size_t size);
// Fails like abort: in either case the file is done with.
STN_MUST_CHECK enum stn_status atomic_file_commit(struct atomic_file *file);
void atomic_file_abort(struct atomic_file *file);

// All of it in one call: bytes as they are, or a text and the end of its last line.
STN_MUST_CHECK enum stn_status atomic_file_store(const char *path, const void *bytes, size_t size);
STN_MUST_CHECK enum stn_status atomic_file_store_line(const char *path, const char *text);

#endif
