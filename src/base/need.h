// SPDX-License-Identifier: Apache-2.0
// What a caller of the library must give.
#ifndef BASE_NEED_H
#define BASE_NEED_H

#include "stannis/status.h"

// ERR_INVALID with a line if `pointer` is NULL: which call misses it, and what it is.
STN_MUST_CHECK enum stn_status base_need(const void *pointer, const char *call, const char *what);

#endif
