// SPDX-License-Identifier: Apache-2.0
// A policy at work, whichever it is: the first split from plan/, later ones from hypertune/. Pure
// but for memory.
#ifndef SIM_PILOT_H
#define SIM_PILOT_H

#include "sim/sim.h"

struct sim_pilot;

struct sim_decision {
    enum hypertune_action action;
    bool ends_epoch;
    int node;    // whose changed speed was the reason; −1: none
    double gain; // predicted, of a step's time
};

// `cluster` says what is known of the nodes (those without a cap take no part), `samples` are what
// an epoch holds, private[nodes] of them tied to nodes; they make floors. Copied.
STN_MUST_CHECK enum stn_status sim_pilot_create(const struct sim_config *config,
                                                const struct plan_cluster *cluster, int64_t samples,
                                                const int64_t private_samples[],
                                                struct sim_pilot **out);
void sim_pilot_destroy(struct sim_pilot *pilot);
const int *sim_pilot_split(const struct sim_pilot *pilot); // in force
int sim_pilot_micro_batches(const struct sim_pilot *pilot);
// `done` of the epoch's steps are, this one included.
struct sim_decision sim_pilot_step(struct sim_pilot *pilot, int64_t step, int64_t done,
                                   int64_t steps, const struct hypertune_report reports[]);

#endif
