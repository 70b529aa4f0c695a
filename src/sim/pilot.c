// SPDX-License-Identifier: Apache-2.0
#include "sim/pilot.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "hypertune/exact.h"

struct sim_pilot {
    struct base_arena arena;
    const struct plan_policy *policy;
    struct plan_node *nodes; // with floors
    int count;
    int *first;       // the split to begin with
    const int *split; // in force
    int micro_batches;
    // One of the two watches, or none.
    struct hypertune_exact *exact;
    struct hypertune_decide *decide;
    struct hypertune_paper *paper;
};

static bool is_paper(const struct plan_policy *policy)
{
    return policy == plan_policy_find("hypertune");
}

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

// Floors depend on the batch, and the papers' batches do not care for floors. Where theirs leaves
// no room, it stays: a node whose private data is more than its split does more anyway
// (plan/share.h).
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

static enum stn_status create_decide(struct sim_pilot *pilot, const struct sim_config *config)
{
    size_t count = (size_t)pilot->count;
    double *seconds = calloc(2 * count, sizeof(*seconds));
    int *bounds = calloc(2 * count, sizeof(*bounds));
    enum stn_status status = seconds && bounds ? STN_OK : fail_memory(pilot->count);
    for (size_t i = 0; status == STN_OK && i < count; i++) {
        seconds[i] = pilot->nodes[i].curve.line.fixed_s;
        seconds[count + i] = pilot->nodes[i].curve.line.each_s;
        bounds[i] = pilot->nodes[i].floor;
        bounds[count + i] = pilot->nodes[i].cap;
    }
    if (status == STN_OK) {
        status = hypertune_exact_create(pilot->count, &pilot->exact);
    }
    if (status == STN_OK) {
        const struct hypertune_decide_config decide = {
            .load = {.nodes = pilot->count,
                     .total = pilot->micro_batches,
                     .fixed_s = seconds,
                     .each_s = seconds + count,
                     .least = bounds,
                     .most = bounds + count},
            .first = pilot->first,
            .split = hypertune_exact_split,
            .split_context = pilot->exact,
            .options = config->decide,
        };
        status = hypertune_decide_create(&decide, &pilot->decide);
    }
    free(bounds);
    free(seconds);
    return status;
}

static enum stn_status create_paper(struct sim_pilot *pilot, const struct sim_config *config)
{
    size_t count = (size_t)pilot->count;
    struct plan_curve *curves = calloc(count, sizeof(*curves));
    int *bounds = calloc(2 * count, sizeof(*bounds));
    enum stn_status status = curves && bounds ? STN_OK : fail_memory(pilot->count);
    for (size_t i = 0; status == STN_OK && i < count; i++) {
        curves[i] = pilot->nodes[i].curve;
        bounds[i] = pilot->nodes[i].floor;
        bounds[count + i] = pilot->nodes[i].cap;
    }
    if (status == STN_OK) {
        const struct hypertune_paper_config paper = {
            .nodes = pilot->count,
            .curves = curves,
            .first = pilot->first,
            .least = bounds,
            .most = bounds + count,
            .options = config->paper,
        };
        status = hypertune_paper_create(&paper, &pilot->paper);
    }
    free(bounds);
    free(curves);
    return status;
}

static enum stn_status create_watch(struct sim_pilot *pilot, const struct sim_config *config)
{
    if (!pilot->policy->adapts) {
        return STN_OK;
    }
    return is_paper(pilot->policy) ? create_paper(pilot, config) : create_decide(pilot, config);
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
    pilot->policy = config->policy;
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
        status = create_watch(pilot, config);
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
        hypertune_paper_destroy(pilot->paper);
        hypertune_decide_destroy(pilot->decide);
        hypertune_exact_destroy(pilot->exact);
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

struct sim_decision sim_pilot_step(struct sim_pilot *pilot, int64_t step, int64_t done,
                                   int64_t steps, const struct hypertune_report reports[])
{
    struct sim_decision out = {.action = HYPERTUNE_KEEP, .node = -1};
    if (pilot->decide != NULL) {
        struct hypertune_decision decision = hypertune_decide_step(pilot->decide, step, reports);
        pilot->split = decision.split;
        out.action = decision.action;
        out.node = decision.node;
        out.gain = decision.gain;
    } else if (pilot->paper != NULL) {
        struct hypertune_paper_decision decision =
            hypertune_paper_step(pilot->paper, step, done, steps, reports);
        pilot->split = decision.split;
        out.action = decision.end_epoch ? HYPERTUNE_REPLAN : HYPERTUNE_KEEP;
        out.ends_epoch = decision.end_epoch;
        out.node = decision.node;
        sum_up(pilot);
    }
    return out;
}
