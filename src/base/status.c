// SPDX-License-Identifier: Apache-2.0
#include "stannis/status.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/need.h"
#include "stannis/log.h"

static const struct {
    const char *name, *text;
    int exit_code;
} statuses[] = {
#define X(name, exit_code, text) {#name, text, exit_code},
    STN_STATUS_MAP(X)
#undef X
};

// A number that is none of them, from a caller's own mistake, is an internal error.
static size_t row_of(enum stn_status status)
{
    size_t row = (size_t)status;
    return row < sizeof(statuses) / sizeof(statuses[0]) ? row : STN_ERR_INTERNAL;
}

const char *stn_status_name(enum stn_status status)
{
    return statuses[row_of(status)].name;
}

const char *stn_status_text(enum stn_status status)
{
    return statuses[row_of(status)].text;
}

int stn_status_exit_code(enum stn_status status)
{
    return statuses[row_of(status)].exit_code;
}

enum stn_status(stn_fail)(enum stn_status status, const char *format, ...)
{
    char line[1024] = "";
    va_list args;
    if (format) {
        va_start(args, format);
        vsnprintf(line, sizeof(line), format, args);
        va_end(args);
    }
    stn_log(STN_LOG_ERROR, "%s", line);
    return status;
}

enum stn_status base_need(const void *pointer, const char *call, const char *what)
{
    return pointer ? STN_OK : stn_fail(STN_ERR_INVALID, "%s: no %s (NULL)", call, what);
}
