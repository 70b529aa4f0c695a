// SPDX-License-Identifier: Apache-2.0
// One-line messages for people. The library never prints elsewhere: a program that embeds it
// replaces the sink. Threads: stn_log may be called from any thread; set the sink before starting
// others.
#ifndef STANNIS_LOG_H
#define STANNIS_LOG_H

#include "stannis/export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum stn_log_level { STN_LOG_ERROR, STN_LOG_WARN, STN_LOG_INFO, STN_LOG_DEBUG };

// `line` has no newline and is valid during the call.
typedef void stn_log_sink(void *context, enum stn_log_level level, const char *line);

// Sets where lines go. NULL restores the default sink: "stannis: error: …" on standard error.
STN_EXPORT void stn_log_set_sink(stn_log_sink *sink, void *context);
// Sets the level above which messages are dropped; STN_LOG_INFO at first.
STN_EXPORT void stn_log_set_level(enum stn_log_level level);
// Sends a line, as of printf, to the sink.
STN_EXPORT void stn_log(enum stn_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
