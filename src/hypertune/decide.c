// SPDX-License-Identifier: Apache-2.0
#include "hypertune/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "hypertune/common.h"
#include "hypertune/value.h"
#include "plan/energy.h"
#include "plan/split.h"

// How sure the profile is, in samples: its fit has a few, taken at another time.
static const double profile_weight = 8.0;
// A level younger than this, in samples, still settles; the plan follows it closely.
static const double settled_weight = 6.0;
// A node gets at most so many times the micro-batches that its level was measured with.
static const double growth_most = 4.0;
// Drift beyond so many deviations of the level is no noise. (In a long run the level's are smaller
// than the weight says, by √2: old samples fade.)
static const double drift_deviations = 3.0;
// Weight of the latest in the running means of overhead and horizon.
static const double overhead_follow = 0.1, horizon_follow = 0.3;

struct node {
    struct hypertune_detect detect;
    struct hypertune_clock clock;
    struct hypertune_probe probe;
    double planned; // log slowdown that the plan is made from
    int shown;      // micro-batches that it has done at its level
    int changed_ago;
    enum hypertune_report_state report;
};

struct hypertune_decide {
    struct base_arena arena;
    struct hypertune_decide_options options;
    int count, total, micro_batch; // nodes; micro-batches of a step; samples of one
    // What a split is to be good for, and scratch for that, as `now` and a number a node; NULL: a
    // short step.
    const struct plan_objective *objective;
    struct plan_node *limited;
    double *errors;
    const struct plan_node *profile; // [count] undisturbed
    struct plan_node *now;           // [count] slowed as planned
    struct plan_offer *offers;       // [count] scratch of the split
    struct node *nodes;
    int *plan, *best, *probing; // splits
    const int *in_force;        // plan or probing
    double plan_s, best_s;      // their slowest nodes
    struct hypertune_off *offs; // [nodes] of the step reported
    double common;              // log of what slows all nodes, running mean
    double overhead_s, horizon; // of a step besides the slowest node; in steps
    int64_t replan_step;
    bool begun, stale;
};

struct hypertune_decide_options hypertune_decide_defaults(void)
{
    return (struct hypertune_decide_options){
        .detect = hypertune_detect_defaults(),
        .probe = hypertune_probe_defaults(),
        .cost_steps = 1.0,
        .gain_errors = 3.0,
        .gain_least = 0.03,
        .horizon_least = 4.0,
        .horizon_most = 50.0,
        .drift_least = 0.005,
    };
}

static double node_s(const struct hypertune_decide *d, const int split[], int i)
{
    return plan_line_seconds(&d->now[i].curve.line, split[i]);
}

static int slowest(const struct hypertune_decide *d, const int split[])
{
    int node = 0;
    for (int i = 1; i < d->count; i++) {
        node = node_s(d, split, i) > node_s(d, split, node) ? i : node;
    }
    return node;
}

static struct plan_cluster cluster_now(const struct hypertune_decide *d)
{
    return (struct plan_cluster){.nodes = d->now,
                                 .count = d->count,
                                 .micro_batch = d->micro_batch,
                                 .reduction.total_s = d->overhead_s,
                                 .objective = d->objective};
}

// The best split for the nodes as they are now: the fastest, or, where that keeps the least speed,
// the best for the objective.
static enum stn_status split_now(struct hypertune_decide *d, int split[])
{
    const struct plan_cluster cluster = cluster_now(d);
    enum stn_status status = plan_split(&cluster, d->total, d->offers, split);
    if (status || !d->objective || plan_energy_of(&cluster, split).too_slow) {
        return status;
    }
    memcpy(d->limited, d->now, (size_t)d->count * sizeof(*d->limited));
    return plan_energy_split(&cluster, d->total, d->limited, d->offers, split);
}

// ---- what the reports say ----------------------------------------------------------------------

// A rate taken from a few micro-batches says little about many: quotas are full, and clocks high,
// after a rest. So a node gets no more than some times what it has shown that rate with. A rate
// that it has had before, over many samples, is believed at once.
static void node_limit(struct hypertune_decide *d, int i, int micro_batches)
{
    struct node *node = &d->nodes[i];
    if (node->changed_ago > 0) {
        bool known = node->detect.weight >= settled_weight;
        node->shown = known ? d->profile[i].cap : micro_batches;
    } else if (node->detect.slower.far == 0 && micro_batches > node->shown) {
        node->shown = micro_batches;
    }
    double most = fmax(growth_most * node->shown, d->plan[i]);
    most = fmin(most, d->profile[i].cap);
    d->stale = d->stale || d->now[i].cap != (int)most;
    d->now[i].cap = (int)most;
}

static void node_plan_with(struct hypertune_decide *d, int i, double level)
{
    double slowdown = exp(level);
    d->nodes[i].planned = level;
    const struct plan_line *line = &d->profile[i].curve.line;
    d->now[i].curve.line =
        (struct plan_line){.fixed_s = line->fixed_s * slowdown, .each_s = line->each_s * slowdown};
    d->stale = true;
}

// Standard error of a node's level, whose samples are of so many micro-batches.
static double level_error(const struct hypertune_decide *d, int i, int micro_batches)
{
    const struct hypertune_detect *detect = &d->nodes[i].detect;
    int m = micro_batches > 0 ? micro_batches : 1;
    return hypertune_detect_noise(detect, &d->options.detect, m) / sqrt(detect->weight);
}

// The plan takes notice of a level that changed, that still settles, or that drifted out of its
// noise.
static void node_take_notice(struct hypertune_decide *d, int i, int micro_batches)
{
    struct node *node = &d->nodes[i];
    double level = node->detect.level, drift = fabs(level - node->planned);
    double error = level_error(d, i, micro_batches);
    bool settling = node->detect.weight < settled_weight && drift > d->options.drift_least / 2.0;
    bool drifted = drift > fmax(drift_deviations * error, d->options.drift_least);
    if (node->changed_ago > 0 || settling || drifted) {
        node_plan_with(d, i, level);
    }
}

// A probe that finds a node faster is believed at once: nothing makes a computation too fast.
static void node_probed(struct hypertune_decide *d, int i, double slowdown, int64_t step)
{
    struct node *node = &d->nodes[i];
    double noise = hypertune_detect_noise(&node->detect, &d->options.detect, 1);
    if (log(slowdown) < node->detect.level - 2.0 * noise) {
        hypertune_detect_believe(&node->detect, slowdown);
        node->changed_ago = 1;
    } else {
        node->changed_ago = hypertune_detect_add(&node->detect, &d->options.detect, slowdown, 1);
        hypertune_probe_failed(&node->probe, &d->options.probe, step);
    }
}

static double slowdown_of(const struct hypertune_decide *d, int i,
                          const struct hypertune_report *report)
{
    return report->compute_s / plan_line_seconds(&d->profile[i].curve.line, report->micro_batches);
}

static double common_shift(struct hypertune_decide *d, const struct hypertune_report reports[])
{
    for (int i = 0; i < d->count; i++) {
        const struct hypertune_detect *detect = &d->nodes[i].detect;
        bool tells = d->nodes[i].report == HYPERTUNE_REPORT_USABLE && d->plan[i] > 0;
        int m = tells ? reports[i].micro_batches : 1;
        d->offs[i] = (struct hypertune_off){
            .off = tells ? log(slowdown_of(d, i, &reports[i])) - detect->level : INFINITY,
            .noise = hypertune_detect_noise(detect, &d->options.detect, m),
            .micro_batches = m,
        };
    }
    return hypertune_common_shift(d->offs, d->count, &d->common);
}

static void node_observe(struct hypertune_decide *d, int i, int64_t step,
                         const struct hypertune_report *report, double common)
{
    struct node *node = &d->nodes[i];
    if (node->report != HYPERTUNE_REPORT_USABLE) {
        if (d->in_force[i] > d->plan[i]) { // a probe that came to nothing
            hypertune_probe_failed(&node->probe, &d->options.probe, step);
        }
        return;
    }
    int m = report->micro_batches;
    double slowdown = slowdown_of(d, i, report) * exp(-common);
    if (d->plan[i] == 0) {
        node_probed(d, i, slowdown, step);
    } else {
        node->changed_ago = hypertune_detect_add(&node->detect, &d->options.detect, slowdown, m);
    }
    node_take_notice(d, i, m);
    node_limit(d, i, m);
}

// The node that came last waits for nothing but the exchange.
static void overhead_observe(struct hypertune_decide *d, const struct hypertune_report reports[])
{
    double least = INFINITY;
    for (int i = 0; i < d->count; i++) {
        if (d->nodes[i].report == HYPERTUNE_REPORT_USABLE && reports[i].wait_s < least) {
            least = reports[i].wait_s;
        }
    }
    if (isfinite(least)) {
        d->overhead_s += (least - d->overhead_s) * (d->begun ? overhead_follow : 1.0);
    }
}

// Index of the node that changed most in this step, or −1.
static int observe(struct hypertune_decide *d, int64_t step,
                   const struct hypertune_report reports[])
{
    int node = -1;
    double most = 0.0;
    for (int i = 0; i < d->count; i++) {
        d->nodes[i].changed_ago = 0;
        d->nodes[i].report = hypertune_report_check(&reports[i], step, &d->nodes[i].clock);
    }
    double common = common_shift(d, reports);
    for (int i = 0; i < d->count; i++) {
        double before = d->nodes[i].planned;
        node_observe(d, i, step, &reports[i], common);
        double change = fabs(d->nodes[i].planned - before);
        if (change > most) {
            most = change;
            node = i;
        }
    }
    overhead_observe(d, reports);
    return node;
}

// ---- the plan ----------------------------------------------------------------------------------

static double gain_of_best(const struct hypertune_decide *d)
{
    const struct plan_cluster cluster = cluster_now(d);
    double gain = d->objective ? hypertune_value_gain(&cluster, d->plan, d->best)
                               : (d->plan_s - d->best_s) / (d->plan_s + d->overhead_s);
    return gain > 0.0 ? gain : 0.0;
}

static bool value_is_certain(const struct hypertune_decide *d)
{
    const struct plan_cluster cluster = cluster_now(d);
    for (int i = 0; i < d->count; i++) {
        d->errors[i] = level_error(d, i, d->plan[i]);
    }
    double error = hypertune_value_error(&cluster, d->plan, d->best, d->errors);
    return gain_of_best(d) > d->options.gain_errors * error;
}

// Work is taken from one node, which may be faster than it seems; each that gets some may be
// slower.
static bool gain_is_certain(const struct hypertune_decide *d)
{
    int from = slowest(d, d->plan);
    double step_s = d->plan_s + d->overhead_s, error = level_error(d, from, d->plan[from]);
    bool certain = gain_of_best(d) > d->options.gain_errors * error;
    for (int i = 0; i < d->count && certain; i++) {
        if (d->best[i] > d->plan[i]) {
            double gain = (d->plan_s - node_s(d, d->best, i)) / step_s;
            double both = hypot(error, level_error(d, i, d->plan[i]));
            certain = gain > d->options.gain_errors * both;
        }
    }
    return certain;
}

static double at_least_at_most(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static bool is_settled(const struct hypertune_decide *d)
{
    bool settled = true;
    for (int i = 0; i < d->count; i++) {
        settled = settled && d->nodes[i].detect.weight >= settled_weight;
    }
    return settled;
}

static bool is_worth_it(const struct hypertune_decide *d, int64_t step)
{
    double gain = gain_of_best(d);
    if (gain <= 0.0 || (gain <= d->options.gain_least && is_settled(d))) {
        return false;
    }
    double since = (double)(step - d->replan_step);
    double lasts = at_least_at_most(fmax(d->horizon, since), d->options.horizon_least,
                                    d->options.horizon_most);
    bool certain = d->objective ? value_is_certain(d) : gain_is_certain(d);
    return gain * lasts > d->options.cost_steps && certain;
}

static void plan_adopt(struct hypertune_decide *d, int64_t step)
{
    int *best = d->best;
    d->best = d->plan;
    d->plan = best;
    d->plan_s = d->best_s;
    double since = fmin((double)(step - d->replan_step), d->options.horizon_most);
    d->horizon += (since - d->horizon) * horizon_follow;
    d->replan_step = step;
    memcpy(d->best, d->plan, (size_t)d->count * sizeof(*d->best));
}

// What the plan and the best split promise now.
static void plan_compare(struct hypertune_decide *d)
{
    if (!d->stale) {
        return;
    }
    d->plan_s = node_s(d, d->plan, slowest(d, d->plan));
    if (split_now(d, d->best) != STN_OK) {
        memcpy(d->best, d->plan, (size_t)d->count * sizeof(*d->best));
    }
    d->best_s = node_s(d, d->best, slowest(d, d->best));
    d->stale = false;
}

// ---- probes ------------------------------------------------------------------------------------

static void probes_schedule(struct hypertune_decide *d, int64_t step)
{
    for (int i = 0; i < d->count; i++) {
        // Whether a node without work is as fast as ever: then it is the objective that leaves it
        // out.
        bool spared = d->objective && d->nodes[i].planned <= d->options.drift_least;
        if (d->plan[i] > 0 || d->now[i].cap == 0 || spared) {
            hypertune_probe_wake(&d->nodes[i].probe);
        } else {
            double excess = plan_line_seconds(&d->now[i].curve.line, 1) / d->plan_s - 1.0;
            hypertune_probe_rest(&d->nodes[i].probe, &d->options.probe, step, excess);
        }
    }
}

static int probes_room(const struct hypertune_decide *d)
{
    int free = d->total, some = 1 + d->total / 4;
    for (int i = 0; i < d->count; i++) {
        free -= d->profile[i].floor;
    }
    return free < some ? free : some;
}

// Nodes asked together cost one slow step, not one each; but most of a step stays work.
static int probes_raise(struct hypertune_decide *d, int64_t step)
{
    int room = probes_room(d), raised = 0;
    for (int i = 0; i < d->count; i++) {
        bool due = hypertune_probe_is_due(&d->nodes[i].probe, step) && raised < room;
        d->now[i].floor = due ? 1 : d->profile[i].floor;
        raised += due;
    }
    return raised;
}

static bool probe(struct hypertune_decide *d, int64_t step)
{
    probes_schedule(d, step);
    if (probes_raise(d, step) == 0) {
        return false;
    }
    enum stn_status status = split_now(d, d->probing);
    for (int i = 0; i < d->count; i++) {
        d->now[i].floor = d->profile[i].floor;
    }
    return status == STN_OK;
}

// ---- one step ----------------------------------------------------------------------------------

static void begin(struct hypertune_decide *d, int64_t step)
{
    if (!d->begun) {
        d->replan_step = step - (int64_t)d->horizon;
        d->begun = true;
    }
}

struct hypertune_decision hypertune_decide_step(struct hypertune_decide *decide, int64_t step,
                                                const struct hypertune_report reports[])
{
    struct hypertune_decide *d = decide;
    bool probed = d->in_force == d->probing;
    struct hypertune_decision out = {.node = observe(d, step, reports)};
    begin(d, step);
    plan_compare(d);
    out.planned_s = d->best_s;
    out.predicted_s = d->plan_s;
    out.gain = gain_of_best(d);
    bool replan = is_worth_it(d, step);
    if (replan) {
        plan_adopt(d, step);
    }
    d->in_force = probe(d, step) ? d->probing : d->plan;
    out.split = d->in_force;
    out.action = replan                      ? HYPERTUNE_REPLAN
                 : d->in_force == d->probing ? HYPERTUNE_PROBE
                 : probed                    ? HYPERTUNE_RETURN
                                             : HYPERTUNE_KEEP;
    return out;
}

const int *hypertune_decide_split(const struct hypertune_decide *decide)
{
    return decide->in_force;
}

struct hypertune_node hypertune_decide_node(const struct hypertune_decide *decide, int node)
{
    const struct node *n = &decide->nodes[node];
    int m = decide->in_force[node] > 0 ? decide->in_force[node] : 1;
    return (struct hypertune_node){
        .slowdown = hypertune_detect_slowdown(&n->detect),
        .noise = hypertune_detect_noise(&n->detect, &decide->options.detect, m),
        .changed_ago = n->changed_ago,
        .report = n->report,
    };
}

// ---- creation ----------------------------------------------------------------------------------

// Only what a split counts is taken: the lines and the bounds.
static struct plan_node *copy_nodes(struct base_arena *arena, const struct plan_cluster *cluster)
{
    struct plan_node *to = base_arena_alloc(arena, (size_t)cluster->count * sizeof(*to));
    for (int i = 0; to != NULL && i < cluster->count; i++) {
        const struct plan_node *from = &cluster->nodes[i];
        to[i] = (struct plan_node){
            .curve.line = from->curve.line, .floor = from->floor, .cap = from->cap};
    }
    return to;
}

static bool objective_copy(struct hypertune_decide *d, const struct plan_cluster *cluster)
{
    size_t nodes = (size_t)cluster->count;
    d->objective = hypertune_value_copy(&d->arena, cluster);
    d->limited = base_arena_alloc(&d->arena, nodes * sizeof(*d->limited));
    d->errors = base_arena_alloc(&d->arena, nodes * sizeof(*d->errors));
    return d->objective && d->limited && d->errors;
}

static bool arrays_alloc(struct hypertune_decide *d, const struct plan_cluster *cluster)
{
    size_t nodes = (size_t)cluster->count;
    d->profile = copy_nodes(&d->arena, cluster);
    d->now = copy_nodes(&d->arena, cluster);
    d->offers = base_arena_alloc(&d->arena, nodes * sizeof(*d->offers));
    d->plan = base_arena_alloc(&d->arena, nodes * sizeof(*d->plan));
    d->best = base_arena_alloc(&d->arena, nodes * sizeof(*d->best));
    d->probing = base_arena_alloc(&d->arena, nodes * sizeof(*d->probing));
    d->nodes = base_arena_alloc(&d->arena, nodes * sizeof(*d->nodes));
    d->offs = base_arena_alloc(&d->arena, nodes * sizeof(*d->offs));
    return d->profile && d->now && d->offers && d->plan && d->best && d->probing && d->nodes &&
           d->offs;
}

static enum stn_status cluster_check(const struct plan_cluster *cluster)
{
    for (int i = 0; i < cluster->count; i++) {
        const struct plan_line *line = &cluster->nodes[i].curve.line;
        if (!(line->fixed_s >= 0.0 && line->each_s > 0.0) || !isfinite(line->fixed_s) ||
            !isfinite(line->each_s)) {
            return stn_fail(STN_ERR_INVALID,
                            "node %d: %g s and %g s per micro-batch are no profile: tune again", i,
                            line->fixed_s, line->each_s);
        }
    }
    return STN_OK;
}

static enum stn_status plan_first(struct hypertune_decide *d, const int first[])
{
    d->in_force = d->plan;
    d->stale = true;
    if (first != NULL) {
        memcpy(d->plan, first, (size_t)d->count * sizeof(*d->plan));
        return STN_OK;
    }
    return split_now(d, d->plan);
}

enum stn_status hypertune_decide_create(const struct hypertune_decide_config *config,
                                        struct hypertune_decide **out)
{
    enum stn_status status = cluster_check(config->cluster);
    if (status != STN_OK) {
        return status;
    }
    struct hypertune_decide *d = calloc(1, sizeof(*d));
    if (d == NULL || !arrays_alloc(d, config->cluster) ||
        (config->cluster->objective && !objective_copy(d, config->cluster))) {
        hypertune_decide_destroy(d);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to watch %d nodes", config->cluster->count);
    }
    d->options = config->options;
    // As few false alarms in a thousand nodes as in one: they fall with e^(−2·evidence).
    d->options.detect.evidence_needed += 0.5 * log(config->cluster->count);
    d->count = config->cluster->count;
    d->total = config->micro_batches;
    d->micro_batch = config->cluster->micro_batch;
    d->horizon = config->options.horizon_most;
    for (int i = 0; i < config->cluster->count; i++) {
        hypertune_detect_init(&d->nodes[i].detect, 1.0, profile_weight);
        d->nodes[i].shown = config->cluster->nodes[i].cap;
    }
    status = plan_first(d, config->first);
    if (status != STN_OK) {
        hypertune_decide_destroy(d);
        return status;
    }
    *out = d;
    return STN_OK;
}

void hypertune_decide_destroy(struct hypertune_decide *decide)
{
    if (decide != NULL) {
        base_arena_fini(&decide->arena);
        free(decide);
    }
}
