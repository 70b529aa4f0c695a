// SPDX-License-Identifier: Apache-2.0
#include "stannis/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/last_error.h"
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

// ---- the last one ------------------------------------------------------------------------------

enum { LINE_BYTES = 1024 };

static _Thread_local char own_line[LINE_BYTES];

// Of a call's other threads: a loader's, say, which its caller hears of as a status.
static struct {
    pthread_mutex_t mutex;
    char line[LINE_BYTES]; // the first one
} others = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void remember(const char *line)
{
    snprintf(own_line, sizeof(own_line), "%s", line);
    pthread_mutex_lock(&others.mutex);
    if (!others.line[0]) {
        snprintf(others.line, sizeof(others.line), "%s", line);
    }
    pthread_mutex_unlock(&others.mutex);
}

void base_last_error_clear(void)
{
    own_line[0] = '\0';
    pthread_mutex_lock(&others.mutex);
    others.line[0] = '\0';
    pthread_mutex_unlock(&others.mutex);
}

enum stn_status base_last_error_settle(enum stn_status status)
{
    if (status == STN_OK || own_line[0]) {
        return status;
    }
    pthread_mutex_lock(&others.mutex);
    const char *line = others.line[0] ? others.line : stn_status_text(status);
    snprintf(own_line, sizeof(own_line), "%s", line);
    pthread_mutex_unlock(&others.mutex);
    return status;
}

const char *stn_last_error(void)
{
    return own_line;
}

enum stn_status(stn_fail)(enum stn_status status, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format ? format : "", args);
    va_end(args);
    remember(line);
    stn_log(STN_LOG_ERROR, "%s", line);
    return status;
}

enum stn_status base_need(const void *pointer, const char *call, const char *what)
{
    return pointer ? STN_OK : stn_fail(STN_ERR_INVALID, "%s: no %s (NULL)", call, what);
}
