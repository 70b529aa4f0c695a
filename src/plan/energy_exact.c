// SPDX-License-Identifier: Apache-2.0
// The exact optimum of plan/energy.h. The slowest node of a split has some number k of
// micro-batches, so its time is one of the breakpoints a_i + c_i·k. For each of these, what nodes
// compute within it at the least energy is a dynamic program over nodes, best[j] = least for j
// micro-batches of the nodes so far, whose inner minimum over a window of sizes moves along:
// O(nodes · micro-batches) a breakpoint. Breakpoints end where even the cheapest micro-batches
// could not pay for the time.
#include <math.h>
#include <string.h>

#include "plan/energy_terms.h"

// One row of the program for j = 0 … micro_batches, and a node's choice for each j.
struct table {
    double best[PLAN_ENERGY_EXACT_MOST + 1], next[PLAN_ENERGY_EXACT_MOST + 1];
    int window[PLAN_ENERGY_EXACT_MOST + 1];
    int taken[PLAN_ENERGY_EXACT_MOST]; // [nodes][micro_batches + 1]
};

// What node `node` adds: from best to next, with window minima of best[k] − each·k.
static void add_node(const struct energy_terms *terms, int node, double level_s,
                     struct table *table)
{
    const struct plan_line *line = energy_terms_line(terms, node);
    double busy_w = energy_terms_busy_w(terms, node), each_j = busy_w * line->each_s;
    double begin_j = busy_w * line->fixed_s;
    begin_j += energy_terms_off_w(terms, node) * (level_s + terms->exposed_s);
    int floor = terms->nodes[node].floor, least = floor > 1 ? floor : 1;
    int most = energy_terms_within(terms, node, level_s), first = 0, last = 0;
    int *taken = &table->taken[(size_t)node * (size_t)(terms->micro_batches + 1)];
    for (int j = 0; j <= terms->micro_batches; j++) {
        table->next[j] = floor == 0 ? table->best[j] : INFINITY;
        taken[j] = 0;
        int from = j - least; // the newest in the window
        if (from >= 0 && isfinite(table->best[from])) {
            double value = table->best[from] - each_j * from;
            while (last > first &&
                   table->best[table->window[last - 1]] - each_j * table->window[last - 1] >=
                       value) {
                last--;
            }
            table->window[last++] = from;
        }
        while (first < last && table->window[first] < j - most) {
            first++;
        }
        if (first < last) {
            int k = table->window[first];
            double joules = table->best[k] + begin_j + each_j * (j - k);
            if (joules < table->next[j]) {
                table->next[j] = joules;
                taken[j] = j - k;
            }
        }
    }
    memcpy(table->best, table->next, (size_t)(terms->micro_batches + 1) * sizeof(*table->best));
}

// The least score of splits whose nodes are all done by `level_s`.
static double solve(const struct energy_terms *terms, double level_s, struct table *table)
{
    double step_s = level_s + terms->exposed_s;
    table->best[0] = terms->always_w * step_s;
    for (int j = 1; j <= terms->micro_batches; j++) {
        table->best[j] = INFINITY;
    }
    for (int i = 0; i < terms->cluster->count; i++) {
        add_node(terms, i, level_s, table);
    }
    double joules = table->best[terms->micro_batches];
    return terms->times_step ? joules * step_s : joules;
}

static void read_split(const struct energy_terms *terms, const struct table *table, int split[])
{
    int left = terms->micro_batches;
    for (int i = terms->cluster->count - 1; i >= 0; i--) {
        // add_node has filled every row; NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
        split[i] = table->taken[(size_t)i * (size_t)(terms->micro_batches + 1) + (size_t)left];
        left -= split[i];
    }
}

// The next time at which some node would be done with one more; INFINITY: there is none.
static double next_level(const struct energy_terms *terms, double level_s)
{
    double next_s = INFINITY;
    for (int i = 0; i < terms->cluster->count; i++) {
        int within = energy_terms_within(terms, i, level_s);
        if (within < terms->nodes[i].cap && within < terms->micro_batches) {
            next_s = fmin(next_s, plan_line_seconds(energy_terms_line(terms, i), within + 1));
        }
    }
    return next_s;
}

// What no split of a step of `level_s` or more is below.
static double bound_at(const struct energy_terms *terms, double level_s)
{
    double each_j = INFINITY, step_s = level_s + terms->exposed_s;
    for (int i = 0; i < terms->cluster->count; i++) {
        if (terms->nodes[i].cap > 0) {
            double joules = energy_terms_busy_w(terms, i) * energy_terms_line(terms, i)->each_s;
            each_j = fmin(each_j, joules);
        }
    }
    double joules = terms->always_w * step_s + each_j * terms->micro_batches;
    return terms->times_step ? joules * step_s : joules;
}

enum stn_status plan_energy_exact(const struct plan_cluster *cluster, int micro_batches,
                                  struct plan_node nodes[], struct plan_offer heap[], int split[])
{
    struct energy_terms terms;
    struct table table;
    double level_s;
    enum stn_status status =
        energy_terms_make(cluster, micro_batches, nodes, heap, split, &level_s, &terms);
    if (status) {
        return status;
    }
    if ((int64_t)cluster->count * (micro_batches + 1) > PLAN_ENERGY_EXACT_MOST) {
        return stn_fail(STN_ERR_INVALID,
                        "%d nodes with %d micro-batches are too many for the exact "
                        "plan",
                        cluster->count, micro_batches);
    }
    double best = INFINITY;
    while (isfinite(level_s) && level_s <= terms.level_most_s && bound_at(&terms, level_s) < best) {
        double score = solve(&terms, level_s, &table);
        if (score < best) {
            best = score;
            read_split(&terms, &table, split);
        }
        level_s = next_level(&terms, level_s);
    }
    return STN_OK;
}
