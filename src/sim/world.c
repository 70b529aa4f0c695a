// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <math.h>

#include "base/random.h"

enum stn_status sim_world_init(struct sim_world *world, struct base_arena *arena,
                               const struct sim_cluster *cluster, uint64_t seed)
{
    size_t nodes = (size_t)cluster->count, loads = (size_t)cluster->load_count;
    *world = (struct sim_world){
        .cluster = cluster,
        .loads = base_arena_alloc(arena, (loads + 1) * sizeof(struct sim_load *)),
        .first = base_arena_alloc(arena, (nodes + 2) * sizeof(int)),
        .memory = base_arena_alloc(arena, nodes * sizeof(double)),
        .seed = seed,
    };
    if (!world->loads || !world->first || !world->memory) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to simulate %d nodes", cluster->count);
    }
    // Counting sort by node; first[i + 1] runs from the beginning of node i to its end.
    for (size_t i = 0; i < loads; i++) {
        world->first[cluster->loads[i].node + 2]++;
    }
    for (size_t i = 2; i < nodes + 2; i++) {
        world->first[i] += world->first[i - 1];
    }
    for (size_t i = 0; i < loads; i++) {
        const struct sim_load *load = &cluster->loads[i];
        world->loads[world->first[load->node + 1]++] = load;
    }
    return STN_OK;
}

// Part of its strength that a load has in one of its steps.
static double strength(const struct sim_load *load, int64_t step)
{
    switch (load->shape) {
    case SIM_LOAD_RAMP:
        return (double)(step - load->from + 1) / (double)(load->to - load->from + 1);
    case SIM_LOAD_ON_OFF: return (step - load->from) % load->period_steps < load->on_steps;
    case SIM_LOAD_STEADY: break;
    case SIM_LOAD_RECORDED: return 0.0; // a factor of its own
    }
    return 1.0;
}

double sim_world_slowdown(const struct sim_world *world, int node, int64_t step)
{
    double added = 0.0, recorded = 1.0;
    for (int i = world->first[node]; i < world->first[node + 1]; i++) {
        const struct sim_load *load = world->loads[i];
        if (step < load->from || step > load->to) {
            continue;
        }
        if (load->shape == SIM_LOAD_RECORDED) {
            recorded *= load->recorded[step - load->from];
        } else {
            added += strength(load, step) * (load->slowdown - 1.0);
        }
    }
    return recorded * (1.0 + added);
}

double sim_world_noise(struct sim_world *world, int node, int64_t step)
{
    const struct sim_noise *noise = &world->cluster->nodes[node].noise;
    if (noise->relative == 0.0 && noise->spikes == 0.0) {
        return 1.0;
    }
    uint64_t key = base_key(base_key(world->seed, (uint64_t)node), (uint64_t)step);
    struct base_random random = base_random_from(key);
    double *memory = &world->memory[node];
    double fresh = sqrt(1.0 - noise->memory * noise->memory);
    *memory = noise->memory * *memory + fresh * base_random_normal(&random);
    bool spike = base_random_unit(&random) < noise->spikes;
    return exp(noise->relative * *memory) * (spike ? noise->spike_factor : 1.0);
}
