// SPDX-License-Identifier: Apache-2.0
#include "plan/split.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/setting_mark.h"

// A fixed part as long as so many micro-batches is a mistake. Below it, what a double says of "how
// many until then" is right to a millionth of a micro-batch.
static const double FIXED_MOST = 1e9;

// ---- what cannot be planned --------------------------------------------------------------------

struct node_label {
    char text[80];
};

static struct node_label label_of(const struct plan_cluster *cluster, int i)
{
    struct node_label label;
    const char *name = cluster->nodes[i].name;
    if (name) {
        snprintf(label.text, sizeof(label.text), "node %d (%s)", i, name);
    } else {
        snprintf(label.text, sizeof(label.text), "node %d", i);
    }
    return label;
}

static enum stn_status check_node(const struct plan_cluster *cluster, int i)
{
    const struct plan_node *node = &cluster->nodes[i];
    const struct plan_line *line = &node->curve.line;
    bool possible = line->each_s > 0.0 && line->fixed_s >= 0.0 && isfinite(line->each_s) &&
                    line->fixed_s <= FIXED_MOST * line->each_s;
    if (!possible) {
        return stn_fail(STN_ERR_INVALID,
                        "%s: a step time of %g s + %g s per micro-batch cannot be: measure again",
                        label_of(cluster, i).text, line->fixed_s, line->each_s);
    }
    if (node->floor < 0 || node->cap < 0) {
        return stn_fail(STN_ERR_INVALID, "%s: limits of %d to %d micro-batches a step cannot be",
                        label_of(cluster, i).text, node->floor, node->cap);
    }
    if (node->floor > node->cap) {
        return stn_fail(
            STN_ERR_INVALID,
            "%s: its private data needs %lld samples of every step, but its memory or max_batch "
            "allows %lld: raise that, or make epochs longer (a smaller " BASE_SETTING "batch)",
            label_of(cluster, i).text, (long long)node->floor * cluster->micro_batch,
            (long long)node->cap * cluster->micro_batch);
    }
    return STN_OK;
}

enum stn_status plan_split_check(const struct plan_cluster *cluster)
{
    if (cluster->count < 1) {
        return stn_fail(STN_ERR_INVALID, "no node to plan for: name at least one");
    }
    bool any = false;
    for (int i = 0; i < cluster->count; i++) {
        enum stn_status status = check_node(cluster, i);
        if (status) {
            return status;
        }
        any = any || cluster->nodes[i].cap > 0;
    }
    if (!any) {
        return stn_fail(STN_ERR_INVALID,
                        "no node may compute: memory or max_batch of all of them is below one "
                        "micro-batch (%d samples): raise one, or take a smaller " BASE_SETTING
                        "micro-batch",
                        cluster->micro_batch);
    }
    return STN_OK;
}

static enum stn_status check_sums(const struct plan_cluster *cluster, int micro_batches)
{
    long long floors = 0, caps = 0, g = cluster->micro_batch, batch = micro_batches * g;
    for (int i = 0; i < cluster->count; i++) {
        floors += cluster->nodes[i].floor;
        caps += cluster->nodes[i].cap;
    }
    if (micro_batches < 1) {
        return stn_fail(STN_ERR_INVALID,
                        "a step of %lld samples: it must have at least one "
                        "micro-batch (%lld samples)",
                        batch, g);
    }
    if (floors > micro_batches) {
        return stn_fail(STN_ERR_INVALID,
                        "a batch of %lld samples is too small: the nodes' private data needs %lld "
                        "of every step; take " BASE_SETTING "batch %lld, or make epochs longer",
                        batch, floors * g, floors * g);
    }
    if (caps < micro_batches) {
        return stn_fail(STN_ERR_INVALID,
                        "a batch of %lld samples is too large: memory and max_batch of the nodes "
                        "allow %lld; take " BASE_SETTING "batch %lld, or raise these limits",
                        batch, caps * g, caps * g);
    }
    return STN_OK;
}

// ---- water level -------------------------------------------------------------------------------

struct fill {
    double micro_batches; // that nodes would do until the level, fractions included
    double slope;         // and how many more a second later
};

static struct fill fill_until(const struct plan_cluster *cluster, double level_s)
{
    struct fill fill = {0};
    for (int i = 0; i < cluster->count; i++) {
        const struct plan_node *node = &cluster->nodes[i];
        double rate = 1.0 / node->curve.line.each_s;
        double done = (level_s - node->curve.line.fixed_s) * rate;
        if (done <= node->floor) {
            fill.micro_batches += node->floor;
        } else if (done >= node->cap) {
            fill.micro_batches += node->cap;
        } else {
            fill.micro_batches += done;
            fill.slope += rate;
        }
    }
    return fill;
}

static double level_that_is_enough(const struct plan_cluster *cluster, int micro_batches)
{
    double level_s = 0.0;
    for (int i = 0; i < cluster->count; i++) {
        const struct plan_node *node = &cluster->nodes[i];
        int most = node->cap < micro_batches ? node->cap : micro_batches;
        level_s = fmax(level_s, plan_line_seconds(&node->curve.line, most));
    }
    return level_s;
}

// A level at which fewer than M are done, by less than one and by more than rounding could hide.
// Newton's steps aim between; every third halves the bracket instead, as clamped nodes can bend the
// function against Newton. 0, the floors, when there is nothing to hand out.
static double level_find(const struct plan_cluster *cluster, int micro_batches)
{
    double low = 0.0, high = level_that_is_enough(cluster, micro_batches), at = low;
    for (int round = 1;; round++) {
        struct fill fill = fill_until(cluster, at);
        double missing = micro_batches - fill.micro_batches;
        if (missing < 1.0 && (missing > 0.25 || at == 0.0)) {
            return at;
        }
        if (missing < 1.0) {
            high = at;
        } else {
            low = at;
        }
        double next = fill.slope > 0.0 ? at + (missing - 0.6) / fill.slope : high;
        if (round % 3 == 0 || !(next > low && next < high)) {
            next = low + (high - low) / 2;
        }
        if (!(next > low && next < high)) {
            return low;
        }
        at = next;
    }
}

// What a node is done with at the level for certain, whichever way its time is rounded: one that it
// has just finished is left for the greedy part.
static int node_until(const struct plan_node *node, double level_s)
{
    double done = (level_s - node->curve.line.fixed_s) / node->curve.line.each_s - 0.01;
    return done <= node->floor ? node->floor : done >= node->cap ? node->cap : (int)done;
}

enum stn_status plan_split(const struct plan_cluster *cluster, int micro_batches,
                           struct plan_offer heap[], int split[])
{
    enum stn_status status = plan_split_check(cluster);
    status = status ? status : check_sums(cluster, micro_batches);
    if (status) {
        return status;
    }
    double level_s = level_find(cluster, micro_batches);
    long long given = 0;
    for (int i = 0; i < cluster->count; i++) {
        split[i] = node_until(&cluster->nodes[i], level_s);
        given += split[i];
    }
    struct plan_greedy greedy = plan_greedy_start(cluster, split, heap);
    for (; given < micro_batches; given++) {
        plan_greedy_give(&greedy);
    }
    return STN_OK;
}
