// SPDX-License-Identifier: Apache-2.0
// The energy of a simulated run. Modelled, not measured: each node draws its busy power while it
// computes and its idle power while it waits, and the box around it draws its base all the time. A
// node that can be switched off draws nothing in steps without work. Pure but for memory.
#ifndef SIM_ENERGY_H
#define SIM_ENERGY_H

#include "plan/energy.h"
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

// What plans are made for, without the nodes' watts: those are taken from `powers`, which all have
// to be known (not NULL, busy above 0); refused with what would help, where a node's is not. `out`
// keeps an array in `arena`.
STN_MUST_CHECK enum stn_status sim_energy_objective(const struct sim_cluster *cluster,
                                                    const struct sim_device_power *const powers[],
                                                    struct base_arena *arena,
                                                    const struct plan_objective *wanted,
                                                    struct plan_objective *out);

#endif
