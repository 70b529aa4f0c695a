// SPDX-License-Identifier: Apache-2.0
#include "stannis/log.h"

#include <stdarg.h>
#include <stdio.h>

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
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *c = line; *c; c++) {
        if (*c == '\n' || *c == '\r') {
            *c = ' '; // one message, one line, also when a file name holds a newline
        }
    }
    log_state.sink(log_state.context, level, line);
}
