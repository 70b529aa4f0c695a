// SPDX-License-Identifier: Apache-2.0
// What the kernel is told so that a group gets its share of the CPUs, and nothing more: so many µs
// of CPU in every period. Pure; for this folder and its tests.
#ifndef EMULATE_QUOTA_H
#define EMULATE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

struct emulate_quota {
    int64_t quota_us, period_us;
    int64_t burst_us; // that a group may keep of a period for later ones; 0: none
};

// `fits`: emulate_shares_fit.
struct emulate_quota emulate_quota_of(double cpus, bool fits);

// How many processes a group counts for where it and others want the same core.
double emulate_weight_of(double cpus);

// Whether each node could have its share on cores that it shares with none that it must wait
// for: 1.0 and three times 0.25 fit two cores, three times 0.6 do not. Found by packing the largest
// first, which may overlook a way.
bool emulate_shares_fit(const double cpus[], int count, int cores);

#endif
