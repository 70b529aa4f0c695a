// SPDX-License-Identifier: Apache-2.0
// What one thread needs to turn a stored sample into pixels: scratch memory that grows to the
// largest image seen and is then reused, and the text of the last failure. One per
// thread.
//
// Reading does not report failures through the log: whether a bad image is an error or is skipped
// with a warning is for the reader's caller to say, so the line waits here.
#ifndef DATA_WORKSPACE_H
#define DATA_WORKSPACE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

enum { DATA_MESSAGE_BYTES = 768 };

struct data_buffer {
    void *bytes;
    size_t size;
};

struct data_workspace {
    struct data_buffer file;   // an image file as stored
    struct data_buffer pixels; // decoded, uint8
    struct data_buffer taps;   // resampling weights
    struct data_buffer row;    // float, one row being resampled
    char path[PATH_MAX];       // of the sample being read
    char message[DATA_MESSAGE_BYTES];
};

void data_workspace_init(struct data_workspace *workspace);
void data_workspace_fini(struct data_workspace *workspace);
// At least `size` bytes, contents lost when it grows; NULL (and the message set) when memory is
// out.
void *data_workspace_reserve(struct data_workspace *workspace, struct data_buffer *buffer,
                             size_t size);
// Keeps the line for the caller, which decides what becomes of the failure; returns `status`.
enum stn_status data_workspace_fail(struct data_workspace *workspace, enum stn_status status,
                                    const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
