// SPDX-License-Identifier: Apache-2.0
#include "stannis/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log_hold.h"

enum { LINE_BYTES = 1024 };

static const char *const prefixes[] = {"stannis: error: ", "stannis: warning: ", "",
                                       "stannis: debug: "};

static void sink_stderr(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    fprintf(stderr, "%s%s\n", prefixes[level], line);
}

static struct {
    stn_log_sink *sink;
    void *context;
    enum stn_log_level level;
} log_state = {sink_stderr, NULL, STN_LOG_INFO};

static _Thread_local struct {
    bool holding;
    char line[LINE_BYTES]; // "": none yet
} held;

void base_log_hold(void)
{
    held.holding = true;
}

void base_log_release(bool print, const char *node)
{
    held.holding = false;
    if (print && held.line[0]) {
        stn_log(STN_LOG_ERROR, "%s%s%s", node ? node : "", node ? ": " : "", held.line);
    }
    held.line[0] = '\0';
}

void stn_log_set_sink(stn_log_sink *sink, void *context)
{
    log_state.sink = sink ? sink : sink_stderr;
    log_state.context = context;
}

void stn_log_set_level(enum stn_log_level level)
{
    log_state.level = level;
}

void stn_log(enum stn_log_level level, const char *format, ...)
{
    if (level > log_state.level) {
        return;
    }
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *c = line; *c; c++) {
        if (*c == '\n' || *c == '\r') {
            *c = ' '; // one message, one line, also when a file name holds a newline
        }
    }
    if (level == STN_LOG_ERROR && held.holding) {
        if (!held.line[0]) {
            memcpy(held.line, line, sizeof(line));
        }
        return;
    }
    log_state.sink(log_state.context, level, line);
}
