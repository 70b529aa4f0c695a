// SPDX-License-Identifier: Apache-2.0
#include "sim/energy.h"

struct sim_energy sim_energy_of(const struct sim_result *result,
                                const struct sim_device_power *const powers[],
                                enum sim_waiting waiting)
{
    double joules = 0.0;
    for (int i = 0; i < result->node_count; i++) {
        const struct sim_device_power *power = powers[i];
        const struct sim_node_result *node = &result->nodes[i];
        double waiting_w = waiting == SIM_WAITING_SPINS ? power->busy_w : power->idle_w;
        joules += power->base_w * result->seconds;
        double waiting_s = result->seconds - node->busy_s - (power->can_off ? node->spare_s : 0.0);
        joules += power->busy_w * node->busy_s + waiting_w * waiting_s;
    }
    return (struct sim_energy){.joules = joules,
                               .watts = joules / result->seconds,
                               .joules_per_image = joules / (double)result->images};
}

double sim_energy_flops_per_watt(const struct sim_energy *energy, double flops_per_image)
{
    return flops_per_image / energy->joules_per_image;
}

enum stn_status sim_energy_objective(const struct sim_cluster *cluster,
                                     const struct sim_device_power *const powers[],
                                     struct base_arena *arena, const struct plan_objective *wanted,
                                     struct plan_objective *out)
{
    struct plan_power *each = base_arena_alloc(arena, (size_t)cluster->count * sizeof(*each));
    *out = *wanted;
    if (!each) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the watts of %d nodes", cluster->count);
    }
    for (int i = 0; i < cluster->count; i++) {
        const struct sim_device_power *power = powers[i];
        if (!power || !(power->busy_w > 0.0)) {
            return stn_fail(STN_ERR_INVALID,
                            "a plan for energy needs the watts of every node, and those of %s are "
                            "not known: give its device a profile with power: {idle: …, busy: …}",
                            cluster->nodes[i].name);
        }
        out->base_w += power->base_w;
        each[i] = (struct plan_power){
            .idle_w = power->idle_w, .busy_w = power->busy_w, .can_off = power->can_off};
    }
    out->powers = each;
    return STN_OK;
}
