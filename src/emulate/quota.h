// SPDX-License-Identifier: Apache-2.0
// The numbers by which the kernel gives a group its CPU share: so many µs of processor time in
// every period. Pure; for this folder and its tests.
#ifndef EMULATE_QUOTA_H
#define EMULATE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

struct emulate_quota {
    int64_t quota_us, period_us;
    int64_t burst_us; // of a period, that a group may use in a later one; 0: none
};

// `fits`: what emulate_shares_fit says.
struct emulate_quota emulate_quota_of(double cpus, bool fits);

// As how many processes a group weighs where others want the same core.
double emulate_weight_of(double cpus);

// Whether nodes can be put on cores so that no core is asked for more than it has: shares of 1.0
// and three times 0.25 fit two cores, three times 0.6 do not. It packs the largest first, and may
// overlook a way.
bool emulate_shares_fit(const double cpus[], int count, int cores);

#endif
