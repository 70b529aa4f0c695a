// SPDX-License-Identifier: Apache-2.0
// The energy of a simulated run. Modelled, not measured: each node draws its busy power while it
// computes and its idle power while it waits, and the box around it draws its base all the time.
// Pure.
#ifndef SIM_ENERGY_H
#define SIM_ENERGY_H

#include "sim/device.h"
#include "sim/sim.h"

// What a node does while it waits for the others.
enum sim_waiting {
    SIM_WAITING_SLEEPS, // as ours: it idles
    SIM_WAITING_SPINS,  // as MPI's default and so the papers': it stays busy
};

struct sim_energy {
    double joules;
    double watts; // mean
    double joules_per_image;
};

// powers[node_count], of the nodes in their order. The run has done at least a step.
struct sim_energy sim_energy_of(const struct sim_result *result,
                                const struct sim_device_power *const powers[],
                                enum sim_waiting waiting);
// Operations a second for each watt are operations for each joule.
double sim_energy_flops_per_watt(const struct sim_energy *energy, double flops_per_image);

#endif
