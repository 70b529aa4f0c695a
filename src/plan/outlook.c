// SPDX-License-Identifier: Apache-2.0
#include "plan/outlook.h"

#include <math.h>

static struct plan_outlook_node outlook_of_node(const struct plan_node *node, int micro_batches,
                                                const struct plan_outlook *outlook)
{
    double compute_s = plan_curve_seconds(&node->curve, micro_batches);
    return (struct plan_outlook_node){
        .compute_s = compute_s,
        .busy = compute_s / outlook->step_s,
        .too_slow = node->cap > 0 && plan_curve_seconds(&node->curve, 1) > outlook->compute_s,
    };
}

struct plan_outlook plan_outlook_of(const struct plan_cluster *cluster, const int split[],
                                    struct plan_outlook_node nodes[])
{
    struct plan_outlook outlook = {0};
    double micro_batches = 0.0;
    for (int i = 0; i < cluster->count; i++) {
        const struct plan_node *node = &cluster->nodes[i];
        micro_batches += split[i];
        outlook.compute_s = fmax(outlook.compute_s, plan_curve_seconds(&node->curve, split[i]));
        outlook.ceiling += node->cap > 0 ? cluster->micro_batch / node->curve.line.each_s : 0.0;
    }
    outlook.step_s = outlook.compute_s + plan_reduction_exposed_s(&cluster->reduction);
    outlook.samples_per_s = micro_batches * cluster->micro_batch / outlook.step_s;
    outlook.efficiency = outlook.samples_per_s / outlook.ceiling;
    for (int i = 0; nodes && i < cluster->count; i++) {
        nodes[i] = outlook_of_node(&cluster->nodes[i], split[i], &outlook);
    }
    return outlook;
}
