// SPDX-License-Identifier: Apache-2.0
#include "emulate/quota.h"

#include <math.h>
#include <stdlib.h>

// The kernel's own period, 100 ms, would let a node of 0.25 CPUs compute for 25 ms and stand still
// for 75, as long as a whole step of a small network: its speed would be all or nothing. But what a
// group cannot use of a period is lost, and where shares do not fit the cores the scheduler, whose
// clock ticks every 4 ms, loses 5 % of a short one: these get longer ones, and may keep a little
// (docs/decisions/0020). Quotas below 1 ms are refused by the kernel, so shares below 0.05 get a
// longer period too.
static const double short_period_us = 20000, long_period_us = 40000, quota_us_min = 1000;
static const double burst_share = 0.1;
static const double processes_per_cpu = 10, slack_min = 0.05;
static const double rounding = 1e-9; // shares are decimals

struct emulate_quota emulate_quota_of(double cpus, bool fits)
{
    double period = fmax(fits ? short_period_us : long_period_us, quota_us_min / cpus);
    return (struct emulate_quota){.quota_us = llround(cpus * period),
                                  .period_us = llround(period),
                                  .burst_us = fits ? 0 : llround(burst_share * cpus * period)};
}

// To the scheduler a group weighs as much as one process, however many nodes are in it: beside
// other programs it would get a fraction of its quota. So each CPU of a share weighs as much as
// some ten processes; the quota limits it anyway. Nodes that cannot make up for a wait weigh more
// and run first: a share of a whole core never catches up, one of a quarter does.
double emulate_weight_of(double cpus)
{
    double slack = 1 - cpus / ceil(cpus - rounding);
    return processes_per_cpu * cpus / (slack + slack_min);
}

static int compare_falling(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left < right) - (left > right);
}

bool emulate_shares_fit(const double cpus[], int count, int cores)
{
    double *parts = calloc((size_t)count + 1, sizeof(*parts));
    double *free_parts = calloc((size_t)cores + 1, sizeof(*free_parts));
    bool fits = parts && free_parts;
    for (int i = 0; fits && i < count; i++) { // whole cores are set aside
        double whole = floor(cpus[i] + rounding);
        cores -= (int)whole;
        parts[i] = cpus[i] - whole;
        fits = cores >= 0;
    }
    if (fits) {
        qsort(parts, (size_t)count, sizeof(*parts), compare_falling);
    }
    for (int c = 0; fits && c < cores; c++) {
        free_parts[c] = 1.0;
    }
    for (int i = 0; fits && i < count && parts[i] > rounding; i++) {
        int c = 0;
        while (c < cores && free_parts[c] + rounding < parts[i]) {
            c++;
        }
        fits = c < cores;
        if (fits) {
            free_parts[c] -= parts[i];
        }
    }
    free(parts);
    free(free_parts);
    return fits;
}
