// SPDX-License-Identifier: Apache-2.0
// The fast form, and the choice between it and the exact one.
#include "plan/energy.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/energy_terms.h"
#include "plan/split.h"

// Up to so many nodes every prefix is tried. Above, the one that is best for a fluid.
enum { PREFIXES_TRIED_MOST = 64, FLUID_ROUNDS = 3, MOVE_ROUNDS_MOST = 8 };

// ---- nodes by their joules a micro-batch -------------------------------------------------------

static int by_offer(const void *one, const void *other)
{
    const struct plan_offer *a = one, *b = other;
    if (a->seconds != b->seconds) {
        return a->seconds < b->seconds ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

// order[i].seconds is what the nodes are sorted by: joules.
static void order_by_joules(const struct energy_terms *terms, struct plan_offer order[])
{
    for (int i = 0; i < terms->cluster->count; i++) {
        double watts = energy_terms_busy_w(terms, i) + energy_terms_off_w(terms, i);
        order[i] = (struct plan_offer){watts * energy_terms_line(terms, i)->each_s, i};
    }
    qsort(order, (size_t)terms->cluster->count, sizeof(*order), by_offer);
}

// As joules a micro-batch are if a node works until `level_s`, its fixed time included.
static void order_until(const struct energy_terms *terms, double level_s, struct plan_offer order[])
{
    for (int i = 0; i < terms->cluster->count; i++) {
        int within = energy_terms_within(terms, i, level_s);
        double seconds = plan_line_seconds(energy_terms_line(terms, i), within);
        double joules = energy_terms_busy_w(terms, i) * seconds +
                        energy_terms_off_w(terms, i) * (level_s + terms->exposed_s);
        order[i] = (struct plan_offer){within > 0 ? joules / within : INFINITY, i};
    }
    qsort(order, (size_t)terms->cluster->count, sizeof(*order), by_offer);
}

// ---- how many of them, for a fluid -------------------------------------------------------------

// Nodes that all work until one level, beside others that do a certain number whatever the level.
struct fluid {
    double rate, started; // Σ 1/c, Σ a/c of those that follow the level
    double watts, off_w;  // that those draw until the level; off: until the end of the step
    double done, done_j;  // micro-batches and joules of the others
};

static void fluid_add(const struct energy_terms *terms, int node, int micro_batches,
                      struct fluid *fluid)
{
    if (micro_batches > 0) {
        double seconds = plan_line_seconds(energy_terms_line(terms, node), micro_batches);
        fluid->done += micro_batches;
        fluid->done_j += energy_terms_busy_w(terms, node) * seconds;
        fluid->off_w += energy_terms_off_w(terms, node);
    }
}

static void fluid_remove(const struct energy_terms *terms, int node, int micro_batches,
                         struct fluid *fluid)
{
    if (micro_batches > 0) {
        double seconds = plan_line_seconds(energy_terms_line(terms, node), micro_batches);
        fluid->done -= micro_batches;
        fluid->done_j -= energy_terms_busy_w(terms, node) * seconds;
        fluid->off_w -= energy_terms_off_w(terms, node);
    }
}

// From its floor to what it does as one that was taken: its cap, if it is there before `level_s`.
static void fluid_take(const struct energy_terms *terms, int node, double level_s,
                       struct fluid *fluid)
{
    const struct plan_line *line = energy_terms_line(terms, node);
    const struct plan_node *n = &terms->nodes[node];
    fluid_remove(terms, node, n->floor, fluid);
    if (n->cap < terms->micro_batches && plan_line_seconds(line, n->cap) < level_s) {
        fluid_add(terms, node, n->cap, fluid);
        return;
    }
    fluid->rate += 1.0 / line->each_s;
    fluid->started += line->fixed_s / line->each_s;
    fluid->watts += energy_terms_busy_w(terms, node);
    fluid->off_w += energy_terms_off_w(terms, node);
}

static double fluid_level(const struct energy_terms *terms, const struct fluid *fluid)
{
    double left = terms->micro_batches - fluid->done;
    return fluid->rate > 0.0 ? (left + fluid->started) / fluid->rate : left > 0.0 ? INFINITY : 0.0;
}

static double fluid_score(const struct energy_terms *terms, const struct fluid *fluid)
{
    double level_s = fluid_level(terms, fluid), step_s = level_s + terms->exposed_s;
    if (!isfinite(level_s)) {
        return INFINITY;
    }
    double joules = (terms->always_w + fluid->off_w) * step_s;
    joules += fluid->watts * level_s + fluid->done_j;
    return terms->times_step ? joules * step_s : joules;
}

// Nodes of the best prefix, if those that reach their caps are those that do so before *level_s;
// *level_s becomes that of this prefix.
static int fluid_best(const struct energy_terms *terms, const struct plan_offer order[],
                      double *level_s)
{
    struct fluid fluid = {0};
    for (int i = 0; i < terms->cluster->count; i++) {
        fluid_add(terms, i, terms->nodes[i].floor, &fluid);
    }
    int best = terms->cluster->count;
    double score_best = INFINITY, level_best = *level_s;
    for (int k = 0; k < terms->cluster->count; k++) {
        fluid_take(terms, order[k].node, *level_s, &fluid);
        double score = fluid_score(terms, &fluid);
        if (score < score_best) {
            score_best = score;
            level_best = fluid_level(terms, &fluid);
            best = k + 1;
        }
    }
    *level_s = level_best;
    return best;
}

// ---- candidates --------------------------------------------------------------------------------

struct search {
    const struct energy_terms *terms;
    struct plan_node *nodes; // caps as the least speed allows
    struct plan_offer *heap;
    int *split; // the best so far
    int *trial; // [PREFIXES_TRIED_MOST], or NULL: `split` is the only one
    double score;
};

static void keep_better(struct search *search)
{
    double score = energy_terms_score(search->terms, search->trial);
    if (score < search->score) {
        search->score = score;
        memcpy(search->split, search->trial,
               (size_t)search->terms->cluster->count * sizeof(*search->split));
    }
}

// The shortest step of the first `taken` nodes, or of as many more as their caps ask for; the
// others do their floors. `order` is the heap.
static enum stn_status split_prefix(struct search *search, int taken, int split[])
{
    const struct energy_terms *terms = search->terms;
    const struct plan_offer *order = search->heap;
    int count = terms->cluster->count;
    int64_t room = 0;
    for (int i = 0; i < count; i++) {
        room += search->nodes[i].floor;
    }
    for (int k = 0; k < count; k++) {
        struct plan_node *node = &search->nodes[order[k].node];
        bool in = k < taken || room < terms->micro_batches;
        room += in ? node->cap - node->floor : 0;
        node->cap = in ? node->cap : node->floor;
    }
    struct plan_cluster prefix = *terms->cluster;
    prefix.nodes = search->nodes;
    enum stn_status status = plan_split(&prefix, terms->micro_batches, search->heap, split);
    for (int i = 0; i < count; i++) {
        search->nodes[i].cap = terms->cluster->nodes[i].cap;
        search->nodes[i].cap = energy_terms_within(terms, i, terms->level_most_s);
    }
    return status;
}

// Everything within a level that leaves room for it: by rising joules, each node as full as it
// gets.
static void try_level(struct search *search, double level_s)
{
    const struct energy_terms *terms = search->terms;
    int left = terms->micro_batches;
    for (int i = 0; i < terms->cluster->count; i++) {
        left -= search->nodes[i].floor;
    }
    order_until(terms, level_s, search->heap);
    for (int k = 0; k < terms->cluster->count; k++) {
        int i = search->heap[k].node, floor = search->nodes[i].floor;
        int more = energy_terms_within(terms, i, level_s) - floor;
        more = more < left ? more : left;
        search->trial[i] = floor + more;
        left -= more;
    }
    if (left == 0) {
        keep_better(search);
    }
}

// Levels at which one of the nodes is done with 1, 2, 3, 4, 6, 8, 11, … micro-batches.
static void try_levels(struct search *search, double fastest_s)
{
    const struct energy_terms *terms = search->terms;
    for (int i = 0; i < terms->cluster->count; i++) {
        const struct plan_line *line = energy_terms_line(terms, i);
        int most = energy_terms_within(terms, i, INFINITY);
        for (int m = 1; m <= most; m += 1 + m / 3) {
            double level_s = plan_line_seconds(line, m);
            if (level_s >= fastest_s) {
                try_level(search, level_s);
            }
        }
    }
}

// One micro-batch, or as many as go, from one node to another, where that makes the split better.
static bool move_between(struct search *search, int from, int to)
{
    int *split = search->split;
    int most = split[from] - search->nodes[from].floor, room = search->nodes[to].cap - split[to];
    most = most < room ? most : room;
    for (int moved = most; moved > 0; moved = moved > 1 ? 1 : 0) {
        split[from] -= moved;
        split[to] += moved;
        double score = energy_terms_score(search->terms, split);
        if (score < search->score) {
            search->score = score;
            return true;
        }
        split[from] += moved;
        split[to] -= moved;
    }
    return false;
}

static void move_while_better(struct search *search)
{
    int count = search->terms->cluster->count;
    bool better = true;
    for (int round = 0; round < MOVE_ROUNDS_MOST && better; round++) {
        better = false;
        for (int from = 0; from < count; from++) {
            for (int to = 0; to < count; to++) {
                better |= from != to && move_between(search, from, to);
            }
        }
    }
}

static enum stn_status try_all_prefixes(struct search *search, double fastest_s)
{
    int trial[PREFIXES_TRIED_MOST];
    enum stn_status status = STN_OK;
    search->trial = trial;
    for (int k = 1; k <= search->terms->cluster->count && status == STN_OK; k++) {
        order_by_joules(search->terms, search->heap);
        status = split_prefix(search, k, trial);
        if (status == STN_OK) {
            keep_better(search);
        }
    }
    try_levels(search, fastest_s);
    move_while_better(search);
    search->trial = NULL;
    return status;
}

static enum stn_status try_fluid_prefix(struct search *search)
{
    double level_s = 0.0; // no node reaches its cap before it, in the first round
    int taken = 0;
    order_by_joules(search->terms, search->heap);
    for (int round = 0; round < FLUID_ROUNDS; round++) {
        taken = fluid_best(search->terms, search->heap, &level_s);
    }
    return split_prefix(search, taken, search->split);
}

enum stn_status plan_energy_fast(const struct plan_cluster *cluster, int micro_batches,
                                 struct plan_node nodes[], struct plan_offer heap[], int split[])
{
    struct energy_terms terms;
    double level_s;
    enum stn_status status =
        energy_terms_make(cluster, micro_batches, nodes, heap, split, &level_s, &terms);
    if (status) {
        return status;
    }
    struct search search = {.terms = &terms,
                            .nodes = nodes,
                            .heap = heap,
                            .split = split,
                            .score = energy_terms_score(&terms, split)};
    return cluster->count <= PREFIXES_TRIED_MOST ? try_all_prefixes(&search, level_s)
                                                 : try_fluid_prefix(&search);
}

enum stn_status plan_energy_split(const struct plan_cluster *cluster, int micro_batches,
                                  struct plan_node nodes[], struct plan_offer heap[], int split[])
{
    bool small = (int64_t)cluster->count * ((int64_t)micro_batches + 1) <= PLAN_ENERGY_EXACT_MOST;
    return small ? plan_energy_exact(cluster, micro_batches, nodes, heap, split)
                 : plan_energy_fast(cluster, micro_batches, nodes, heap, split);
}
