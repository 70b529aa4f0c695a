// SPDX-License-Identifier: Apache-2.0
// A policy at work, whichever it is: the first split from plan/, later ones from hypertune/. Pure
// but for memory.
#ifndef SIM_PILOT_H
#define SIM_PILOT_H

#include "sim/sim.h"

struct sim_pilot;

// `cluster` says what is known of the nodes (those without a cap take no part), `samples` are what
// an epoch holds, private[nodes] of them tied to nodes; they make floors. Copied.
STN_MUST_CHECK enum stn_status sim_pilot_create(const struct sim_config *config,
                                                const struct plan_cluster *cluster, int64_t samples,
                                                const int64_t private_samples[],
                                                struct sim_pilot **out);
void sim_pilot_destroy(struct sim_pilot *pilot);
const int *sim_pilot_split(const struct sim_pilot *pilot); // in force
int sim_pilot_micro_batches(const struct sim_pilot *pilot);
struct hypertune_move sim_pilot_step(struct sim_pilot *pilot, const struct hypertune_moment *moment,
                                     const struct hypertune_report reports[]);

#endif
