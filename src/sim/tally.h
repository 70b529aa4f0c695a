// SPDX-License-Identifier: Apache-2.0
// Adds up what was done, by phase and by node. Pure but for memory.
#ifndef SIM_TALLY_H
#define SIM_TALLY_H

#include "plan/share.h"
#include "sim/sim.h"

struct sim_tally {
    struct sim_result *result;
    int64_t begins[SIM_PHASES_MAX]; // first steps of the phases but the first
    int begin_count;
};

STN_MUST_CHECK enum stn_status sim_tally_init(struct sim_tally *tally,
                                              const struct sim_cluster *cluster,
                                              const struct sim_config *config,
                                              struct sim_result *result);
// A step that was done; `alive` are the nodes that were there.
void sim_tally_step(struct sim_tally *tally, const struct sim_step *step,
                    const struct plan_share shares[], const bool alive[]);
// Time that passed with nothing done.
void sim_tally_pause(struct sim_tally *tally, int64_t step, double seconds, const bool alive[]);
void sim_tally_end(struct sim_tally *tally);

#endif
