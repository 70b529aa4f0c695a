// SPDX-License-Identifier: Apache-2.0
#include "exchange/recent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void exchange_recent_add(struct exchange_recent *recent, double seconds)
{
    recent->seconds[recent->count++ % EXCHANGE_RECENT_MAX] = seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double exchange_recent_quantile(const struct exchange_recent *recent, double share)
{
    double sorted[EXCHANGE_RECENT_MAX];
    size_t count = recent->count < EXCHANGE_RECENT_MAX ? recent->count : EXCHANGE_RECENT_MAX;
    if (count == 0) {
        return 0;
    }
    memcpy(sorted, recent->seconds, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    double rank = ceil(share * (double)count);
    return sorted[rank > 1 ? (size_t)rank - 1 : 0];
}
