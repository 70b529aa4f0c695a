// SPDX-License-Identifier: Apache-2.0
// How fast virtual nodes really are in a step: undisturbed speed, loads, noise. Noise is a function
// of (seed, node, step), but for its memory. Pure.
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/arena.h"
#include "sim/sim.h"

struct sim_world {
    const struct sim_cluster *cluster;
    const struct sim_load **loads; // [load_count] those of a node together
    int *first;                    // [nodes + 1] where they begin
    double *memory;                // [nodes] noise that is still there
    uint64_t seed;
};

// The arena keeps its arrays. The cluster is borrowed, and was checked.
STN_MUST_CHECK enum stn_status sim_world_init(struct sim_world *world, struct base_arena *arena,
                                              const struct sim_cluster *cluster, uint64_t seed);
// By all loads in this step, without noise.
double sim_world_slowdown(const struct sim_world *world, int node, int64_t step);
// The factor by chance; to be asked for once a step.
double sim_world_noise(struct sim_world *world, int node, int64_t step);

#endif
