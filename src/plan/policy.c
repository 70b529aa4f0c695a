// SPDX-License-Identifier: Apache-2.0
#include "plan/policy.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "plan/energy.h"
#include "plan/mixture.h"
#include "plan/split.h"

const struct plan_policy_options plan_policy_defaults = {
    .batch = {.efficiency = 0.95},
    .knee = 0.95,
    .margin = 5.0,
};

// ---- ours --------------------------------------------------------------------------------------

static int sum_of(const int split[], int count)
{
    long long sum = 0;
    for (int i = 0; i < count; i++) {
        sum += split[i];
    }
    return sum < INT_MAX ? (int)sum : INT_MAX;
}

static enum stn_status split_for_time(const struct plan_request *request,
                                      const struct plan_scratch *scratch, int split[])
{
    if (request->micro_batches > 0) {
        return plan_split(&request->cluster, request->micro_batches, scratch->offers, split);
    }
    struct plan_batch batch;
    return plan_batch_find(&request->cluster, &request->options.batch, scratch->nodes,
                           scratch->offers, split, &batch);
}

// The batch is the same for every objective: how much is learnt from an epoch depends on it.
enum stn_status plan_split_balanced(const struct plan_request *request,
                                    const struct plan_scratch *scratch, int split[])
{
    int micro_batches = request->micro_batches, count = request->cluster.count;
    if (!request->cluster.objective) {
        return split_for_time(request, scratch, split);
    }
    if (micro_batches > 0) {
        memcpy(scratch->nodes, request->cluster.nodes, (size_t)count * sizeof(*scratch->nodes));
    } else {
        enum stn_status status = split_for_time(request, scratch, split);
        if (status) {
            return status;
        }
        micro_batches = sum_of(split, count);
    }
    return plan_energy_split(&request->cluster, micro_batches, scratch->nodes, scratch->offers,
                             split);
}

// M in the proportions that `split` has, as far as floors and caps allow: nodes as fast as their
// numbers would all be done at the same time. A 0 stays one if it can.
static enum stn_status split_in_proportion(const struct plan_request *request,
                                           const struct plan_scratch *scratch, int split[])
{
    struct plan_cluster cluster = request->cluster;
    for (int i = 0; i < cluster.count; i++) {
        scratch->nodes[i] = cluster.nodes[i];
        double weight = split[i] > 0 ? split[i] : 1e-9;
        scratch->nodes[i].curve = (struct plan_curve){.line = {.each_s = 1.0 / weight}};
    }
    cluster.nodes = scratch->nodes;
    return plan_split(&cluster, request->micro_batches, scratch->offers, split);
}

// Equal batches, what Horovod and DDP do. Without a batch: the one that `balanced` would take, with
// its floors, so that the two can be compared.
enum stn_status plan_split_uniform(const struct plan_request *request,
                                   const struct plan_scratch *scratch, int split[])
{
    struct plan_request sized = *request;
    if (request->micro_batches == 0) {
        enum stn_status status = split_for_time(request, scratch, split);
        if (status) {
            return status;
        }
        sized.micro_batches = sum_of(split, request->cluster.count);
        sized.cluster.nodes = scratch->nodes;
    }
    for (int i = 0; i < request->cluster.count; i++) {
        split[i] = 1;
    }
    return split_in_proportion(&sized, scratch, split);
}

// ---- the papers' -------------------------------------------------------------------------------

// The papers keep every node at work.
static int least_of(const struct plan_node *node)
{
    return node->floor > 1 ? node->floor : 1;
}

static int clamp_to(const struct plan_node *node, int batch)
{
    return batch < least_of(node) ? least_of(node) : batch > node->cap ? node->cap : batch;
}

static int best_batch(const struct plan_request *request, const struct plan_node *node)
{
    return plan_curve_best(&node->curve, request->options.knee, least_of(node), node->cap);
}

static double best_speed(const struct plan_request *request, const struct plan_node *node)
{
    return plan_curve_speed(&node->curve, best_batch(request, node));
}

// Algorithm 1 on one node. As printed the increment is a part of t_slow − t and vanishes at
// equality, before the loop's end at t_slow·(1 + 1/E); so the aim is that end. A step past it is
// not taken.
static int grow_to(const struct plan_node *node, int from, double aim_s, double adjust_s)
{
    int batch = plan_curve_within(&node->curve, aim_s, least_of(node), clamp_to(node, from));
    while (batch < node->cap) {
        double left_s = aim_s - plan_curve_seconds(&node->curve, batch);
        double step = fmin(batch * left_s / adjust_s, node->cap - batch);
        int next = batch + (step < 1.0 ? 1 : (int)step);
        while (next > batch && plan_curve_seconds(&node->curve, next) > aim_s) {
            next = batch + (next - batch) / 2; // C was too coarse
        }
        if (next == batch) {
            break;
        }
        batch = next;
    }
    return batch;
}

// The node whose best batch is slowest.
static int slowest_node(const struct plan_request *request)
{
    int slowest = 0;
    double speed = INFINITY;
    for (int i = 0; i < request->cluster.count; i++) {
        const struct plan_node *node = &request->cluster.nodes[i];
        if (node->cap > 0 && best_speed(request, node) < speed) {
            slowest = i;
            speed = best_speed(request, node);
        }
    }
    return slowest;
}

static void batches_stannis(const struct plan_request *request, int split[])
{
    const struct plan_node *nodes = request->cluster.nodes;
    const struct plan_node *slowest = &nodes[slowest_node(request)];
    int batch = best_batch(request, slowest);
    double slow_s = plan_curve_seconds(&slowest->curve, batch);
    double aim_s = slow_s * (1.0 + 1.0 / request->options.margin);
    double adjust_s = request->options.adjust_s > 0.0 ? request->options.adjust_s : 2.0 * slow_s;
    for (int i = 0; i < request->cluster.count; i++) {
        if (nodes[i].cap == 0) {
            split[i] = 0;
        } else if (nodes[i].kind == slowest->kind) {
            split[i] = clamp_to(&nodes[i], batch);
        } else {
            split[i] = grow_to(&nodes[i], batch, aim_s, adjust_s);
        }
    }
}

// One node of the kind whose speed times count is greatest. `counts` is scratch, one for each node.
static int most_influencing(const struct plan_request *request, int counts[])
{
    const struct plan_node *nodes = request->cluster.nodes;
    memset(counts, 0, (size_t)request->cluster.count * sizeof(*counts));
    for (int i = 0; i < request->cluster.count; i++) {
        counts[nodes[i].kind] += nodes[i].cap > 0;
    }
    int best = 0;
    double influence_best = 0.0;
    for (int i = 0; i < request->cluster.count; i++) {
        if (nodes[i].cap == 0) {
            continue;
        }
        double influence = counts[nodes[i].kind] * best_speed(request, &nodes[i]);
        if (influence > influence_best) {
            best = i;
            influence_best = influence;
        }
    }
    return best;
}

// Whatever comes nearest in time. What takes no longer than the least it can do is free.
static int batch_at(const struct plan_node *node, double seconds)
{
    double least_s = plan_curve_seconds(&node->curve, least_of(node));
    int below = plan_curve_within(&node->curve, fmax(seconds, least_s), least_of(node), node->cap);
    if (below == node->cap || seconds < least_s) {
        return below;
    }
    double early_s = seconds - plan_curve_seconds(&node->curve, below);
    double late_s = plan_curve_seconds(&node->curve, below + 1) - seconds;
    return late_s < early_s ? below + 1 : below;
}

// The paper's batches are of samples. Of micro-batches, a slow node may need longer for one than
// the fastest for its best batch: then that grows until both take as long.
static int first_batch(const struct plan_request *request, const struct plan_node *first)
{
    int best = best_batch(request, first), batch = best;
    for (int i = 0; i < request->cluster.count; i++) {
        const struct plan_node *node = &request->cluster.nodes[i];
        if (node->cap > 0) {
            double least_s = plan_curve_seconds(&node->curve, least_of(node));
            int as_long = plan_curve_within(&first->curve, least_s, best, first->cap);
            batch = as_long > batch ? as_long : batch;
        }
    }
    return batch;
}

static void batches_hypertune(const struct plan_request *request, int split[])
{
    const struct plan_node *nodes = request->cluster.nodes;
    const struct plan_node *first = &nodes[most_influencing(request, split)];
    int batch = first_batch(request, first);
    double step_s = plan_curve_seconds(&first->curve, batch);
    for (int i = 0; i < request->cluster.count; i++) {
        if (nodes[i].cap == 0) {
            split[i] = 0;
        } else if (nodes[i].kind == first->kind) {
            split[i] = clamp_to(&nodes[i], batch);
        } else {
            split[i] = batch_at(&nodes[i], step_s);
        }
    }
}

static enum stn_status check_papers(const struct plan_request *request)
{
    enum stn_status status = plan_split_check(&request->cluster);
    if (status) {
        return status;
    }
    for (int i = 0; i < request->cluster.count; i++) {
        int kind = request->cluster.nodes[i].kind;
        if (kind < 0 || kind >= request->cluster.count) {
            return stn_fail(STN_ERR_INVALID, "node %d: is of kind %d, which is no node's number", i,
                            kind);
        }
    }
    const struct plan_policy_options *options = &request->options;
    if (!(options->knee > 0.0 && options->knee <= 1.0) || !(options->margin > 0.0) ||
        !(options->adjust_s >= 0.0)) {
        return stn_fail(STN_ERR_INVALID,
                        "C = %g, E = %g, knee %g: C must not be negative, E must be positive and "
                        "the knee above 0 and at most 1",
                        options->adjust_s, options->margin, options->knee);
    }
    return STN_OK;
}

static enum stn_status split_paper(const struct plan_request *request,
                                   const struct plan_scratch *scratch,
                                   void (*batches)(const struct plan_request *, int[]), int split[])
{
    enum stn_status status = check_papers(request);
    if (status) {
        return status;
    }
    batches(request, split);
    if (request->micro_batches == 0) {
        return STN_OK;
    }
    return split_in_proportion(request, scratch, split);
}

enum stn_status plan_split_stannis(const struct plan_request *request,
                                   const struct plan_scratch *scratch, int split[])
{
    return split_paper(request, scratch, batches_stannis, split);
}

enum stn_status plan_split_hypertune(const struct plan_request *request,
                                     const struct plan_scratch *scratch, int split[])
{
    return split_paper(request, scratch, batches_hypertune, split);
}

// ---- data
// ----------------------------------------------------------------------------------------

int64_t plan_policy_data(const int split[], int nodes, int micro_batch, int64_t samples,
                         int64_t data[])
{
    int64_t total = 0, before = 0, given = 0;
    for (int i = 0; i < nodes; i++) {
        total += split[i];
    }
    assert(total > 0);
    for (int i = 0; i < nodes; i++) {
        before += split[i];
        int64_t until = (int64_t)((plan_wide)samples * (plan_wide)before / (plan_wide)total);
        data[i] = until - given;
        given = until;
    }
    return (samples + total * micro_batch - 1) / (total * micro_batch);
}
