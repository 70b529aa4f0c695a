// SPDX-License-Identifier: Apache-2.0
#include "stannis/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/last_error.h"
#include "base/log_hold.h"
#include "base/setting_mark.h"

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

// ---- names of settings -------------------------------------------------------------------------

static const char *setting_prefix = "";

void base_setting_prefix(const char *prefix)
{
    setting_prefix = prefix;
}

// Puts the prefix where the marks are.
static void render(const char *from, char *to, size_t bytes)
{
    size_t used = 0;
    for (; *from && used + 1 < bytes; from++) {
        if (*from == BASE_SETTING_CHAR) {
            used += (size_t)snprintf(to + used, bytes - used, "%s", setting_prefix);
        } else {
            to[used++] = *from == '\n' || *from == '\r' ? ' ' : *from; // one message, one line
        }
    }
    to[used < bytes ? used : bytes - 1] = '\0';
}

// ---- the log -----------------------------------------------------------------------------------

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
    if (level > log_state.level || (unsigned)level > STN_LOG_DEBUG || !format) {
        return;
    }
    char text[LINE_BYTES], line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    render(text, line, sizeof(line));
    if (level == STN_LOG_ERROR) {
        base_last_error_keep(line);
    }
    if (level == STN_LOG_ERROR && held.holding) {
        if (!held.line[0]) {
            memcpy(held.line, line, sizeof(line));
        }
        return;
    }
    log_state.sink(log_state.context, level, line);
}
