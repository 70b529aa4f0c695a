// SPDX-License-Identifier: Apache-2.0
#include "plan/node.h"

#include <assert.h>
#include <limits.h>
#include <math.h>

struct plan_reduction plan_reduction_ring(int nodes, double bytes, double bytes_per_s,
                                          double latency_s, double window_s)
{
    double hops = 2.0 * (nodes - 1);
    double total_s = hops * (bytes / nodes / bytes_per_s + latency_s);
    return (struct plan_reduction){.total_s = total_s, .hidden_s = fmin(total_s, window_s)};
}

double plan_reduction_exposed_s(const struct plan_reduction *reduction)
{
    return fmax(0.0, reduction->total_s - reduction->hidden_s) + reduction->uneven_s;
}

int plan_node_floor(int64_t private_samples, int64_t steps, int micro_batch)
{
    assert(steps >= 1 && micro_batch >= 1);
    int64_t room = steps * micro_batch;
    int64_t floor = (private_samples + room - 1) / room;
    return floor < INT_MAX ? (int)floor : INT_MAX;
}
