// SPDX-License-Identifier: Apache-2.0
// What stn_last_error tells: begun and settled by each call that a session is given to.
#ifndef BASE_LAST_ERROR_H
#define BASE_LAST_ERROR_H

#include "stannis/status.h"

// For the log: an error line of this thread, as a person reads it.
void base_last_error_keep(const char *line);
// Before a call: nothing has failed.
void base_last_error_clear(void);
// After it: where this thread has said nothing itself, the line is that of another of its threads,
// or the status in words. Returns `status`.
enum stn_status base_last_error_settle(enum stn_status status);

#endif
