// SPDX-License-Identifier: Apache-2.0
#include "hypertune/value.h"

#include <math.h>
#include <string.h>

const struct plan_objective *hypertune_value_copy(struct base_arena *arena,
                                                  const struct plan_cluster *cluster)
{
    size_t bytes = (size_t)cluster->count * sizeof(struct plan_power);
    struct plan_power *powers = base_arena_alloc(arena, bytes);
    struct plan_objective *objective = base_arena_alloc(arena, sizeof(*objective));
    if (!powers || !objective) {
        return NULL;
    }
    memcpy(powers, cluster->objective->powers, bytes);
    *objective = *cluster->objective;
    objective->powers = powers;
    return objective;
}

double hypertune_value_gain(const struct plan_cluster *cluster, const int from[], const int to[])
{
    struct plan_energy before = plan_energy_of(cluster, from), after = plan_energy_of(cluster, to);
    if (before.too_slow || after.too_slow) {
        return (before.step_s - after.step_s) / before.step_s;
    }
    return before.score > 0.0 ? (before.score - after.score) / before.score : 0.0;
}

static double node_s(const struct plan_cluster *cluster, const int split[], int i)
{
    return plan_line_seconds(&cluster->nodes[i].curve.line, split[i]);
}

static int slowest(const struct plan_cluster *cluster, const int split[])
{
    int node = 0;
    for (int i = 1; i < cluster->count; i++) {
        node = node_s(cluster, split, i) > node_s(cluster, split, node) ? i : node;
    }
    return node;
}

// A node whose time is off by a part is off by that part of what it takes less or more for the
// move; all watts together are off by what the slowest nodes of both splits are.
double hypertune_value_error(const struct plan_cluster *cluster, const int from[], const int to[],
                             const double errors[])
{
    const struct plan_power *powers = cluster->objective->powers;
    struct plan_energy before = plan_energy_of(cluster, from), after = plan_energy_of(cluster, to);
    double sum = 0.0;
    for (int i = 0; i < cluster->count; i++) {
        double moved_s = node_s(cluster, from, i) - node_s(cluster, to, i);
        double joules = (powers[i].busy_w - powers[i].idle_w) * moved_s * errors[i];
        sum += joules * joules;
    }
    double watts = before.joules / before.step_s;
    double either = hypot(errors[slowest(cluster, from)], errors[slowest(cluster, to)]);
    double joules = watts * (before.step_s - after.step_s) * either;
    return before.joules > 0.0 ? sqrt(sum + joules * joules) / before.joules : 0.0;
}
