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
        joules += power->busy_w * node->busy_s + waiting_w * (result->seconds - node->busy_s);
    }
    return (struct sim_energy){.joules = joules,
                               .watts = joules / result->seconds,
                               .joules_per_image = joules / (double)result->images};
}

double sim_energy_flops_per_watt(const struct sim_energy *energy, double flops_per_image)
{
    return flops_per_image / energy->joules_per_image;
}
