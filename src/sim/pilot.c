// SPDX-License-Identifier: Apache-2.0
#include "sim/pilot.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct sim_pilot {
    struct base_arena arena;
    const struct hypertune_policy_ways *policy;
    struct plan_node *nodes; // with floors
    int count;
    int *first;       // the split to begin with
    const int *split; // in force
    int micro_batches;
    void *state; // of a policy that moves work; else NULL
};

static enum stn_status fail_memory(int nodes)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory to simulate %d nodes", nodes);
}

static void sum_up(struct sim_pilot *pilot)
{
    pilot->micro_batches = 0;
    for (int i = 0; i < pilot->count; i++) {
        pilot->micro_batches += pilot->split[i];
    }
}

// ---- the first split ---------------------------------------------------------------------------

static bool has_private(const int64_t private_samples[], int nodes)
{
    for (int i = 0; i < nodes; i++) {
        if (private_samples[i] > 0) {
            return true;
        }
    }
    return false;
}

// Returns their sum.
static int64_t set_floors(struct sim_pilot *pilot, int64_t samples, const int64_t private_samples[],
                          int micro_batch)
{
    int64_t batch = (int64_t)pilot->micro_batches * micro_batch, sum = 0;
    int64_t steps = (samples + batch - 1) / batch;
    for (int i = 0; i < pilot->count; i++) {
        pilot->nodes[i].floor = plan_node_floor(private_samples[i], steps, micro_batch);
        sum += pilot->nodes[i].floor;
    }
    return sum;
}

static void drop_floors(struct sim_pilot *pilot)
{
    for (int i = 0; i < pilot->count; i++) {
        pilot->nodes[i].floor = 0;
    }
}

static enum stn_status split_with(struct sim_pilot *pilot, const struct plan_request *request)
{
    size_t nodes = (size_t)pilot->count;
    const struct plan_scratch scratch = {.nodes = calloc(nodes, sizeof(*scratch.nodes)),
                                         .offers = calloc(nodes, sizeof(*scratch.offers))};
    enum stn_status status = scratch.nodes && scratch.offers
                                 ? pilot->policy->split(request, &scratch, pilot->first)
                                 : fail_memory(pilot->count);
    free(scratch.offers);
    free(scratch.nodes);
    if (status == STN_OK) {
        sum_up(pilot);
    }
    return status;
}

// Floors depend on the batch, but the papers' ways choose batches without looking at floors. Where
// theirs leaves no room, it stays: a node whose private data is more than its split does more
// anyway (plan/share.h).
static enum stn_status split_first(struct sim_pilot *pilot, const struct sim_config *config,
                                   const struct plan_cluster *cluster, int64_t samples,
                                   const int64_t private_samples[])
{
    struct plan_request request = {
        .cluster = *cluster, .micro_batches = config->micro_batches, .options = config->plan};
    bool floors = has_private(private_samples, pilot->count);
    request.cluster.nodes = pilot->nodes;
    request.options.batch.samples = samples;
    request.options.batch.private_samples = floors ? private_samples : NULL;
    pilot->micro_batches = config->micro_batches;
    if (pilot->micro_batches == 0) {
        enum stn_status status = split_with(pilot, &request);
        if (status != STN_OK || !floors) {
            return status;
        }
        request.micro_batches = pilot->micro_batches;
        if (set_floors(pilot, samples, private_samples, config->micro_batch) >
            pilot->micro_batches) {
            drop_floors(pilot);
            return STN_OK;
        }
    } else if (floors) {
        set_floors(pilot, samples, private_samples, config->micro_batch);
    }
    return split_with(pilot, &request);
}

// ---- creation ----------------------------------------------------------------------------------

static enum stn_status open_policy(struct sim_pilot *pilot, const struct sim_config *config)
{
    const struct plan_cluster cluster = {.nodes = pilot->nodes,
                                         .count = pilot->count,
                                         .micro_batch = config->micro_batch,
                                         .objective = config->objective};
    const struct hypertune_policy_config policy = {.cluster = &cluster,
                                                   .micro_batches = pilot->micro_batches,
                                                   .first = pilot->first,
                                                   .decide = config->decide,
                                                   .paper = config->paper};
    return pilot->policy->open ? pilot->policy->open(&policy, &pilot->state) : STN_OK;
}

enum stn_status sim_pilot_create(const struct sim_config *config,
                                 const struct plan_cluster *cluster, int64_t samples,
                                 const int64_t private_samples[], struct sim_pilot **out)
{
    struct sim_pilot *pilot = calloc(1, sizeof(*pilot));
    if (pilot == NULL) {
        return fail_memory(cluster->count);
    }
    size_t count = (size_t)cluster->count;
    enum stn_status status = STN_OK;
    pilot->policy = config->policy->does;
    pilot->count = cluster->count;
    pilot->nodes = base_arena_alloc(&pilot->arena, count * sizeof(*pilot->nodes));
    pilot->first = base_arena_alloc(&pilot->arena, count * sizeof(*pilot->first));
    pilot->split = pilot->first;
    if (!pilot->nodes || !pilot->first) {
        status = fail_memory(pilot->count);
    }
    if (status == STN_OK) {
        memcpy(pilot->nodes, cluster->nodes, count * sizeof(*pilot->nodes));
        status = split_first(pilot, config, cluster, samples, private_samples);
    }
    if (status == STN_OK) {
        status = open_policy(pilot, config);
    }
    if (status != STN_OK) {
        sim_pilot_destroy(pilot);
        return status;
    }
    *out = pilot;
    return STN_OK;
}

void sim_pilot_destroy(struct sim_pilot *pilot)
{
    if (pilot != NULL) {
        if (pilot->state != NULL) {
            pilot->policy->close(pilot->state);
        }
        base_arena_fini(&pilot->arena);
        free(pilot);
    }
}

// ---- one step ----------------------------------------------------------------------------------

const int *sim_pilot_split(const struct sim_pilot *pilot)
{
    return pilot->split;
}

int sim_pilot_micro_batches(const struct sim_pilot *pilot)
{
    return pilot->micro_batches;
}

struct hypertune_move sim_pilot_step(struct sim_pilot *pilot, const struct hypertune_moment *moment,
                                     const struct hypertune_report reports[])
{
    if (pilot->state == NULL) {
        return (struct hypertune_move){.action = HYPERTUNE_KEEP, .node = -1};
    }
    struct hypertune_move move = pilot->policy->step(pilot->state, moment, reports);
    if (move.split != NULL) {
        pilot->split = move.split;
        sum_up(pilot);
    }
    return move;
}
