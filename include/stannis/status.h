// SPDX-License-Identifier: Apache-2.0
// What every fallible call of Stannis returns. One list makes the enum, the names, the texts and
// the exit codes.
//
// Rule of the house: whoever detects a failure first reports it (stn_fail: one line through the
// log) and returns the status; everybody above only forwards it.
#ifndef STANNIS_STATUS_H
#define STANNIS_STATUS_H

#include "stannis/export.h"

#ifdef __cplusplus
extern "C" {
#endif

//        name          exit  text
#define STN_STATUS_MAP(X)                                                                          \
    X(OK, 0, "success")                                                                            \
    X(ERR_INVALID, 2, "invalid argument or input")                                                 \
    X(ERR_NOT_FOUND, 2, "not found")                                                               \
    X(ERR_CORRUPT, 2, "damaged or foreign file")                                                   \
    X(ERR_UNSUPPORTED, 2, "not supported")                                                         \
    X(ERR_IO, 1, "input/output error")                                                             \
    X(ERR_NO_SPACE, 1, "no space left")                                                            \
    X(ERR_NO_MEMORY, 1, "out of memory")                                                           \
    X(ERR_DIVERGED, 1, "training diverged")                                                        \
    X(ERR_NODE_LOST, 1, "a node was lost")                                                         \
    X(ERR_INTERNAL, 1, "internal error")                                                           \
    X(ERR_INTERRUPTED, 130, "interrupted")

enum stn_status {
#define X(name, exit_code, text) STN_##name,
    STN_STATUS_MAP(X)
#undef X
};

#define STN_MUST_CHECK __attribute__((warn_unused_result))

// The name of a status: "ERR_INVALID".
STN_EXPORT const char *stn_status_name(enum stn_status status);
// A status in words: "invalid argument or input".
STN_EXPORT const char *stn_status_text(enum stn_status status);
// The exit code that suits a program that ends with this status: 0, 1, 2 or 130.
STN_EXPORT int stn_status_exit_code(enum stn_status status);

// Reports one line at error level and returns `status`. So detecting reads
//     return stn_fail(STN_ERR_INVALID, "--batch %d: must be at least 1", batch);
STN_EXPORT enum stn_status stn_fail(enum stn_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The line of the last failure that this thread has seen, of its last call of the library; "" where
// there was none. Valid until the thread's next call.
STN_EXPORT const char *stn_last_error(void);
#ifdef __clang_analyzer__ // sees one file at a time, and would think that it may return STN_OK
#define stn_fail(status, ...) ((void)stn_fail(status, __VA_ARGS__), (status))
#endif

#ifdef __cplusplus
}
#endif

#endif
