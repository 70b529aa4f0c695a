// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

int64_t base_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double base_clock_seconds(void)
{
    return (double)base_clock_ns() * 1e-9;
}
