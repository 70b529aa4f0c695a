// SPDX-License-Identifier: Apache-2.0
// Which samples of the epoch are done: a place in the mixture of the public set and the nodes'
// private ones, as on a real cluster (plan/mixture.h, plan/share.h). When a node is lost, what is
// left of the epoch without it is a mixture of its own. Pure.
#ifndef SIM_EPOCH_H
#define SIM_EPOCH_H

#include <stdint.h>

#include "base/arena.h"
#include "plan/share.h"
#include "sim/sim.h"

struct sim_epoch {
    int number; // from 1
    int nodes;
    int64_t *counts; // [1 + nodes] of the mixture now: public, then each node's private ones
    int64_t *whole;  // [1 + nodes] of the epochs to come
    int64_t *taken;  // [1 + nodes] scratch
    int64_t position, samples; // in the mixture
    int64_t before;            // samples of this epoch done before it began
    int64_t saved;             // position that a lost run goes back to
    int64_t steps;             // done
    int64_t gone;              // private samples of lost nodes, in every epoch to come
};

STN_MUST_CHECK enum stn_status sim_epoch_init(struct sim_epoch *epoch, struct base_arena *arena,
                                              const struct sim_cluster *cluster,
                                              int64_t public_samples);
void sim_epoch_begin(struct sim_epoch *epoch); // the next one
int64_t sim_epoch_left(const struct sim_epoch *epoch);
int64_t sim_epoch_whole(const struct sim_epoch *epoch); // samples of the next one
// The next step of at most `batch` samples: what each node does of it.
struct plan_step sim_epoch_step(const struct sim_epoch *epoch, int64_t batch, int micro_batch,
                                const int split[]);
void sim_epoch_advance(struct sim_epoch *epoch, const struct plan_step *step);
// Goes back to what was saved; returns how many samples are to be computed again.
int64_t sim_epoch_rewind(struct sim_epoch *epoch);
// After rewinding: a node is gone for good. Adds the samples that no node can reach any more in
// this epoch to *lost.
void sim_epoch_lose(struct sim_epoch *epoch, int node, int64_t *lost);

#endif
