// SPDX-License-Identifier: Apache-2.0
// The last times of a series, for quantiles: a few bad ones make most of a mean. Pure.
#ifndef EXCHANGE_RECENT_H
#define EXCHANGE_RECENT_H

#include <stddef.h>

enum { EXCHANGE_RECENT_MAX = 255 };

struct exchange_recent {
    double seconds[EXCHANGE_RECENT_MAX]; // a ring
    size_t count;                        // ever added
};

void exchange_recent_add(struct exchange_recent *recent, double seconds);
// The smallest of the times that a part `share` (0 … 1) of them does not exceed; 0.5 gives the
// lower median. 0 if there are none.
double exchange_recent_quantile(const struct exchange_recent *recent, double share);

#endif
