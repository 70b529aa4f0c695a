// SPDX-License-Identifier: Apache-2.0
#include "base/last_error.h"

#include <pthread.h>
#include <stdio.h>

enum { LINE_BYTES = 1024 };

static _Thread_local char own_line[LINE_BYTES];

// Of a call's other threads: a loader's, say, which its caller hears of as a status.
static struct {
    pthread_mutex_t mutex;
    char line[LINE_BYTES]; // the first one
} others = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void base_last_error_keep(const char *line)
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
