// SPDX-License-Identifier: Apache-2.0
// Catches log lines, so that a test can say what a person would have read. One thread.
#ifndef TESTS_CAPTURE_H
#define TESTS_CAPTURE_H

#include <stdio.h>

#include "stannis/log.h"

struct capture {
    int lines;
    enum stn_log_level level; // of the last line
    char last[1100];
};

static inline void capture_sink(void *context, enum stn_log_level level, const char *line)
{
    struct capture *capture = context;
    capture->lines++;
    capture->level = level;
    snprintf(capture->last, sizeof(capture->last), "%s", line);
}

static inline void capture_start(struct capture *capture)
{
    *capture = (struct capture){0};
    stn_log_set_sink(capture_sink, capture);
}

static inline void capture_stop(void)
{
    stn_log_set_sink(NULL, NULL);
}

#endif
