// SPDX-License-Identifier: Apache-2.0
// Monotonic time. Any thread.
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t base_clock_ns(void);
double base_clock_seconds(void);

#endif
