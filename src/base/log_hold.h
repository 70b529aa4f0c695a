// SPDX-License-Identifier: Apache-2.0
// Error lines that wait. Of several nodes that fail alike, one is to speak: each holds its line
// back until they have agreed which one. Each thread by itself: the lines of a thread that holds
// wait, those of others go out at once.
#ifndef BASE_LOG_HOLD_H
#define BASE_LOG_HOLD_H

#include <stdbool.h>

// From here on this thread's error lines wait (the first of them: it names the cause).
void base_log_hold(void);
// Ends waiting. The line, if there is one, is printed after "NODE: " (NULL: no prefix), or dropped.
void base_log_release(bool print, const char *node);

#endif
