// SPDX-License-Identifier: Apache-2.0
// Every batch within the limits is looked at, from the smallest: efficiency is not monotone (an odd
// micro-batch more can cost a step, a cap can stop a fast node). One more is one step of the greedy
// split; only when the number of steps changes do floors rise, and a new split is made.
#include "plan/batch.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/setting_mark.h"
#include "plan/split.h"

const struct plan_batch_options plan_batch_defaults = {.efficiency = 0.95};

static int micro_batches_up(int64_t samples, int micro_batch)
{
    int64_t count = (samples + micro_batch - 1) / micro_batch;
    return count < 1 ? 1 : count > INT_MAX ? INT_MAX : (int)count;
}

static int micro_batches_down(int64_t samples, int micro_batch)
{
    int64_t count = samples / micro_batch;
    return count > INT_MAX ? INT_MAX : (int)count;
}

void plan_batch_limits(const struct plan_batch_options *options, int micro_batch, int *least,
                       int *most)
{
    int64_t by_set = options->samples > 0 ? options->samples / PLAN_BATCH_STEPS_LEAST : INT64_MAX;
    int64_t by_default = by_set < PLAN_BATCH_MOST ? by_set : PLAN_BATCH_MOST;
    *least = micro_batches_up(options->least > 0 ? options->least : PLAN_BATCH_LEAST, micro_batch);
    *most = micro_batches_down(options->most > 0 ? options->most : by_default, micro_batch);
    if (options->most <= 0 && *most < *least) { // a tiny set: the lower limit rules
        *most = *least;
    } else if (options->least <= 0 && *least > *most) {
        *least = *most > 0 ? *most : 1;
    }
}

// ---- the search --------------------------------------------------------------------------------

struct search {
    struct plan_cluster cluster; // with nodes of our own, whose floors move
    struct plan_node *nodes;
    const struct plan_node *given;
    const struct plan_batch_options *options;
    struct plan_offer *heap;
    int *split;
    int64_t steps, floors; // of an epoch; sum
    struct plan_greedy greedy;
    double compute_s, exposed_s, ceiling; // the slowest node now; micro-batches a second at most
};

static int64_t steps_at(const struct search *search, int micro_batches)
{
    int64_t batch = (int64_t)micro_batches * search->cluster.micro_batch;
    return search->options->private_samples ? (search->options->samples + batch - 1) / batch : 0;
}

static void floors_set(struct search *search, int64_t steps)
{
    search->steps = steps;
    search->floors = 0;
    for (int i = 0; i < search->cluster.count; i++) {
        int floor = search->given[i].floor;
        if (steps > 0) {
            int needed = plan_node_floor(search->options->private_samples[i], steps,
                                         search->cluster.micro_batch);
            floor = needed > floor ? needed : floor;
        }
        search->nodes[i].floor = floor;
        search->floors += floor;
    }
}

// Whether anything can be planned at these floors, and up to how many micro-batches.
static int64_t caps_sum(const struct search *search)
{
    int64_t sum = 0;
    for (int i = 0; i < search->cluster.count; i++) {
        if (search->nodes[i].floor > search->nodes[i].cap) {
            return 0;
        }
        sum += search->nodes[i].cap;
    }
    return sum;
}

static enum stn_status split_anew(struct search *search, int micro_batches)
{
    enum stn_status status =
        plan_split(&search->cluster, micro_batches, search->heap, search->split);
    if (status) {
        return status;
    }
    search->compute_s = 0.0;
    for (int i = 0; i < search->cluster.count; i++) {
        double seconds = plan_line_seconds(&search->nodes[i].curve.line, search->split[i]);
        search->compute_s = fmax(search->compute_s, seconds);
    }
    search->greedy = plan_greedy_start(&search->cluster, search->split, search->heap);
    return STN_OK;
}

static double efficiency_at(const struct search *search, int micro_batches)
{
    return micro_batches / (search->compute_s + search->exposed_s) / search->ceiling;
}

static void split_one_more(struct search *search)
{
    search->compute_s = fmax(search->compute_s, search->greedy.heap[0].seconds);
    plan_greedy_give(&search->greedy);
}

// out->micro_batches stays 0 if nothing within the limits can be planned; then *last is where the
// search ended.
static enum stn_status batch_scan(struct search *search, int least, int most,
                                  struct plan_batch *out, int *last)
{
    bool stale = true; // the split is not the one of the batch before
    int64_t caps = 0;
    for (int at = least; at <= most && !out->reached; at++) {
        *last = at;
        int64_t steps = steps_at(search, at);
        if (at == least || steps != search->steps) {
            floors_set(search, steps);
            caps = caps_sum(search);
            stale = true;
        }
        if (caps < at) {
            break; // floors and batches only rise
        }
        if (search->floors > at) {
            stale = true;
            continue;
        }
        enum stn_status status = STN_OK;
        if (stale) {
            status = split_anew(search, at);
        } else {
            split_one_more(search);
        }
        if (status) {
            return status;
        }
        stale = false;
        double efficiency = efficiency_at(search, at);
        if (efficiency > out->efficiency) {
            *out = (struct plan_batch){.micro_batches = at, .efficiency = efficiency};
        }
        out->reached = efficiency >= search->options->efficiency;
    }
    return STN_OK;
}

// ---- limits of what may be asked ---------------------------------------------------------------

static enum stn_status check(const struct plan_cluster *cluster,
                             const struct plan_batch_options *options, int least, int most)
{
    if (!(options->efficiency > 0.0 && options->efficiency <= 1.0)) {
        return stn_fail(STN_ERR_INVALID, "an efficiency of %g: must be above 0 and at most 1",
                        options->efficiency);
    }
    if (least > most) {
        return stn_fail(STN_ERR_INVALID,
                        "no batch from %lld to %lld samples is a multiple of the micro-batch (%d): "
                        "widen the limits or take a smaller " BASE_SETTING "micro-batch",
                        (long long)options->least, (long long)options->most, cluster->micro_batch);
    }
    return plan_split_check(cluster);
}

enum stn_status plan_batch_find(const struct plan_cluster *cluster,
                                const struct plan_batch_options *options, struct plan_node nodes[],
                                struct plan_offer heap[], int split[], struct plan_batch *out)
{
    int least, most, last = 0;
    plan_batch_limits(options, cluster->micro_batch, &least, &most);
    enum stn_status status = check(cluster, options, least, most);
    if (status) {
        return status;
    }
    memcpy(nodes, cluster->nodes, (size_t)cluster->count * sizeof(*nodes));
    struct search search = {.cluster = *cluster,
                            .nodes = nodes,
                            .given = cluster->nodes,
                            .options = options,
                            .heap = heap,
                            .split = split,
                            .exposed_s = plan_reduction_exposed_s(&cluster->reduction)};
    search.cluster.nodes = nodes;
    for (int i = 0; i < cluster->count; i++) {
        search.ceiling += nodes[i].cap > 0 ? 1.0 / nodes[i].curve.line.each_s : 0.0;
    }
    *out = (struct plan_batch){0};
    status = batch_scan(&search, least, most, out, &last);
    if (status || out->reached) {
        return status;
    }
    // Back to the most efficient; or to where the search ended, for the reason why there is none.
    int best = out->micro_batches > 0 ? out->micro_batches : last;
    floors_set(&search, steps_at(&search, best));
    return plan_split(&search.cluster, best, heap, split);
}
