// SPDX-License-Identifier: Apache-2.0
#include "data/workspace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void data_workspace_init(struct data_workspace *workspace)
{
    memset(workspace, 0, sizeof(*workspace));
}

void data_workspace_fini(struct data_workspace *workspace)
{
    free(workspace->file.bytes);
    free(workspace->pixels.bytes);
    free(workspace->taps.bytes);
    free(workspace->row.bytes);
    memset(workspace, 0, sizeof(*workspace));
}

void *data_workspace_reserve(struct data_workspace *workspace, struct data_buffer *buffer,
                             size_t size)
{
    if (size <= buffer->size) {
        return buffer->bytes;
    }
    free(buffer->bytes);
    buffer->bytes = malloc(size);
    buffer->size = buffer->bytes ? size : 0;
    if (!buffer->bytes) {
        (void)data_workspace_fail(workspace, STN_ERR_NO_MEMORY, "no memory for an image: %zu bytes",
                                  size);
    }
    return buffer->bytes;
}

enum stn_status data_workspace_fail(struct data_workspace *workspace, enum stn_status status,
                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(workspace->message, sizeof(workspace->message), format, args);
    va_end(args);
    return status;
}
