// SPDX-License-Identifier: Apache-2.0
#include "train/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "hypertune/cause.h"
#include "hypertune/decide.h"
#include "hypertune/exact.h"
#include "hypertune/paper.h"

// Steps in which guessed speeds are measured; their median counts, as the first is slow.
enum { FIRST_LOOK_STEPS = 3 };

struct train_adapt {
    struct base_arena arena;
    struct train_adapt_config config; // without what was copied
    int nodes, micro_batch;
    struct hypertune_load load; // the nodes undisturbed; the arrays are these:
    double *fixed_s, *each_s;
    int *least, *most;
    int *split, *next;                // of the step done, and of the one to come
    struct plan_curve *curves;        // for the paper's policy
    struct hypertune_report *reports; // of the step done
    double *looks[FIRST_LOOK_STEPS];  // seconds of a micro-batch; 0: not seen
    int look_count;
    struct hypertune_exact *exact;
    struct hypertune_decide *decide; // NULL: speeds are still looked at
    struct hypertune_causes *causes;
    struct hypertune_paper *paper; // NULL: another policy
    struct hypertune_incident *events;
    int event_count;
    struct stn_train_node_step *told;
    struct stn_train_change move; // step 0: nothing moved
    int64_t step;
};

static bool moves(const struct train_adapt *a)
{
    return !a->config.fixed && a->config.policy == STN_POLICY_BALANCED;
}

// ---- creation ----------------------------------------------------------------------------------

static struct hypertune_decide_options decide_options(const struct train_adapt *a)
{
    const struct stn_adapt_options *o = &a->config.options;
    struct hypertune_decide_options out = hypertune_decide_defaults();
    out.detect.evidence_needed = o->evidence;
    out.detect.noise_least = o->noise;
    out.cost_steps = moves(a) ? o->move_cost : INFINITY;
    out.gain_errors = o->move_certainty;
    out.gain_least = o->move_gain;
    out.horizon_most = fmax(o->move_horizon, out.horizon_least);
    out.probe.budget = o->probe_budget;
    out.probe.first_steps = moves(a) ? o->probe_steps : INT64_MAX / 2; // from any step on: never
    return out;
}

static enum stn_status paper_create(struct train_adapt *a)
{
    const struct stn_adapt_options *o = &a->config.options;
    struct hypertune_paper_options options = hypertune_paper_defaults();
    options.rebatch = (enum hypertune_rebatch)o->rebatch;
    options.speed_weight = o->decline_weight;
    options.margin = o->decline_margin;
    options.flags = o->decline_steps;
    options.range_low = 1.0 - o->batch_range;
    options.range_high = 1.0 + o->batch_range;
    options.scale_learning_rate = o->lr_scale == STN_LR_SCALE_LINEAR;
    for (int i = 0; i < a->nodes; i++) {
        a->curves[i].line = (struct plan_line){a->fixed_s[i], a->each_s[i]};
    }
    const struct hypertune_paper_config config = {.nodes = a->nodes,
                                                  .curves = a->curves,
                                                  .first = a->split,
                                                  .least = a->least,
                                                  .most = a->most,
                                                  .options = options};
    return hypertune_paper_create(&config, &a->paper);
}

// From here on the nodes' speeds are known.
static enum stn_status start_watching(struct train_adapt *a)
{
    const struct hypertune_decide_config config = {.load = a->load,
                                                   .first = a->split,
                                                   .split = hypertune_exact_split,
                                                   .split_context = a->exact,
                                                   .options = decide_options(a)};
    const struct hypertune_cause_options causes = hypertune_cause_defaults();
    enum stn_status status = hypertune_causes_create(&a->load, &causes, &a->causes);
    if (!status && a->config.policy == STN_POLICY_HYPERTUNE && !a->config.fixed) {
        status = paper_create(a);
    }
    return status ? status : hypertune_decide_create(&config, &a->decide);
}

static bool arrays_alloc(struct train_adapt *a)
{
    size_t nodes = (size_t)a->nodes;
    bool looks = true;
    a->fixed_s = base_arena_alloc(&a->arena, nodes * sizeof(*a->fixed_s));
    a->each_s = base_arena_alloc(&a->arena, nodes * sizeof(*a->each_s));
    a->least = base_arena_alloc(&a->arena, nodes * sizeof(*a->least));
    a->most = base_arena_alloc(&a->arena, nodes * sizeof(*a->most));
    a->split = base_arena_alloc(&a->arena, nodes * sizeof(*a->split));
    a->next = base_arena_alloc(&a->arena, nodes * sizeof(*a->next));
    a->curves = base_arena_alloc(&a->arena, nodes * sizeof(*a->curves));
    a->reports = base_arena_alloc(&a->arena, nodes * sizeof(*a->reports));
    a->events = base_arena_alloc(&a->arena, nodes * sizeof(*a->events));
    a->told = base_arena_alloc(&a->arena, nodes * sizeof(*a->told));
    for (int k = 0; k < FIRST_LOOK_STEPS; k++) {
        a->looks[k] = base_arena_alloc(&a->arena, nodes * sizeof(*a->looks[k]));
        looks = looks && a->looks[k];
    }
    return a->fixed_s && a->each_s && a->least && a->most && a->split && a->next && a->curves &&
           a->reports && a->events && a->told && looks;
}

static void take_profile(struct train_adapt *a, const struct train_adapt_config *config)
{
    for (int i = 0; i < a->nodes; i++) {
        const struct plan_node *node = &config->profile->nodes[i];
        double update_s = config->profile->about[i].update_s; // not part of what nodes report
        a->fixed_s[i] = fmax(0.0, node->curve.line.fixed_s - update_s);
        a->each_s[i] = node->curve.line.each_s;
        a->most[i] = node->cap;
        a->least[i] = node->floor < node->cap ? node->floor : node->cap;
        a->split[i] = a->next[i] = config->first[i];
        a->load.total += config->first[i];
    }
    a->load.nodes = a->nodes;
    a->load.fixed_s = a->fixed_s;
    a->load.each_s = a->each_s;
    a->load.least = a->least;
    a->load.most = a->most;
}

enum stn_status train_adapt_create(const struct train_adapt_config *config,
                                   struct train_adapt **out)
{
    const struct plan_cluster *cluster = &config->profile->cluster;
    struct train_adapt *a = calloc(1, sizeof(*a));
    if (!a) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to watch %d nodes", cluster->count);
    }
    a->config = *config;
    a->nodes = cluster->count;
    a->micro_batch = cluster->micro_batch;
    enum stn_status status = hypertune_exact_create(a->nodes, &a->exact);
    if (!status && !arrays_alloc(a)) {
        status = stn_fail(STN_ERR_NO_MEMORY, "no memory to watch %d nodes", cluster->count);
    }
    if (!status) {
        take_profile(a, config);
        status = config->profile->measured ? start_watching(a) : STN_OK;
    }
    if (status) {
        train_adapt_destroy(a);
        return status;
    }
    *out = a;
    return STN_OK;
}

void train_adapt_destroy(struct train_adapt *adapt)
{
    if (!adapt) {
        return;
    }
    hypertune_paper_destroy(adapt->paper);
    hypertune_decide_destroy(adapt->decide);
    hypertune_causes_destroy(adapt->causes);
    hypertune_exact_destroy(adapt->exact);
    base_arena_fini(&adapt->arena);
    free(adapt);
}

// ---- a first look at nodes whose speeds are guessed --------------------------------------------

static double median_of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

// Seconds of a micro-batch; 0 where the node has not always had work.
static double look_median(const struct train_adapt *a, int i)
{
    double x = a->looks[0][i], y = a->looks[1][i], z = a->looks[2][i];
    return fmin(x, fmin(y, z)) > 0.0 ? median_of_three(x, y, z) : 0.0;
}

// Guesses have the right proportions: nodes that had no work follow the others.
static void settle_speeds(struct train_adapt *a)
{
    double ratios = 0.0;
    int seen = 0;
    for (int i = 0; i < a->nodes; i++) {
        double measured = look_median(a, i);
        ratios += measured / a->each_s[i];
        seen += measured > 0.0;
    }
    for (int i = 0; i < a->nodes && seen > 0; i++) {
        double measured = look_median(a, i);
        a->each_s[i] = measured > 0.0 ? measured : a->each_s[i] * ratios / seen;
    }
}

static enum stn_status look(struct train_adapt *a)
{
    bool any = false;
    for (int i = 0; i < a->nodes; i++) {
        const struct hypertune_report *report = &a->reports[i];
        bool usable = report->step == a->step && report->micro_batches > 0 &&
                      isfinite(report->compute_s) && report->compute_s > 0.0;
        a->looks[a->look_count][i] = usable ? report->compute_s / report->micro_batches : 0.0;
        any = any || usable;
    }
    a->look_count += any;
    if (a->look_count < FIRST_LOOK_STEPS) {
        return STN_OK;
    }
    settle_speeds(a);
    return start_watching(a);
}

// ---- a step ------------------------------------------------------------------------------------

static void take_reports(struct train_adapt *a, const struct train_adapt_moment *moment,
                         const struct train_node_report reports[])
{
    size_t bytes = (size_t)a->nodes * sizeof(*a->split);
    a->step = moment->step;
    a->event_count = 0;
    a->move = (struct stn_train_change){0};
    memcpy(a->split, moment->split, bytes);
    memcpy(a->next, moment->split, bytes);
    for (int i = 0; i < a->nodes; i++) {
        const struct hypertune_report *vitals = &reports[i].vitals;
        a->reports[i] = *vitals;
        a->told[i] = (struct stn_train_node_step){
            .micro_batches = reports[i].micro_batches,
            .planned = moment->split[i],
            .compute_seconds = vitals->compute_s,
            .wait_seconds = vitals->wait_s,
            .data_seconds = vitals->io_s,
            .queue_seconds = vitals->queue_s,
            .throttled_seconds = vitals->throttled_s,
            .cpu_seconds = vitals->cpu_s,
            .share_cpu_seconds = vitals->share_cpu_s,
        };
    }
}

static void move_to(struct train_adapt *a, const int split[], struct train_verdict *verdict)
{
    size_t bytes = (size_t)a->nodes * sizeof(*split);
    verdict->moved = memcmp(a->split, split, bytes) != 0;
    memcpy(verdict->split, split, bytes);
    memcpy(a->next, split, bytes);
}

// Whole micro-batches: the global batch of the paper's policy changes with the split.
static void move_by_paper(struct train_adapt *a, const struct train_adapt_moment *moment,
                          struct train_verdict *verdict)
{
    struct hypertune_paper_decision decision =
        hypertune_paper_step(a->paper, moment->step, moment->done, moment->steps, a->reports);
    if (!decision.end_epoch) {
        return;
    }
    move_to(a, decision.split, verdict);
    verdict->end_epoch = true;
    verdict->lr = a->config.lr * decision.learning_rate;
    for (int i = 0; i < a->nodes; i++) {
        verdict->batch += decision.split[i] * a->micro_batch;
    }
    a->move = (struct stn_train_change){.step = moment->step,
                                        .node = decision.node,
                                        .batch = verdict->batch,
                                        .lost_samples = moment->left};
}

// A probe is no change of plan: it lasts a step.
static void move_by_decision(struct train_adapt *a, const struct hypertune_decision *decision,
                             struct train_verdict *verdict)
{
    move_to(a, decision->split, verdict);
    if (decision->action == HYPERTUNE_REPLAN && verdict->moved) {
        a->move = (struct stn_train_change){
            .step = a->step, .node = decision->node, .gain = decision->gain};
    }
}

// The slowest node with the split that was in force, as things are now.
static double slowest_s(const struct train_adapt *a)
{
    double most = 0.0;
    for (int i = 0; i < a->nodes; i++) {
        const struct plan_line line = {a->fixed_s[i], a->each_s[i]};
        most = fmax(most, hypertune_decide_node(a->decide, i).slowdown *
                              plan_line_seconds(&line, a->split[i]));
    }
    return most;
}

enum stn_status train_adapt_step(struct train_adapt *adapt, const struct train_adapt_moment *moment,
                                 const struct train_node_report reports[],
                                 struct train_verdict *verdict)
{
    struct train_adapt *a = adapt;
    take_reports(a, moment, reports);
    if (!a->decide) {
        return look(a);
    }
    struct hypertune_decision decision = hypertune_decide_step(a->decide, a->step, a->reports);
    if (a->paper) {
        move_by_paper(a, moment, verdict);
    } else if (moves(a)) {
        move_by_decision(a, &decision, verdict);
    }
    if (!moves(a)) { // then the plan that it knows is not what happens
        decision.split = a->next;
        decision.predicted_s = slowest_s(a);
    }
    a->event_count =
        hypertune_causes_step(a->causes, a->step, a->reports, a->decide, &decision, a->events);
    for (int i = 0; i < a->nodes; i++) {
        a->told[i].slowdown = hypertune_decide_node(a->decide, i).slowdown;
    }
    return STN_OK;
}

// ---- telling -----------------------------------------------------------------------------------

const struct stn_train_node_step *train_adapt_nodes(const struct train_adapt *adapt)
{
    return adapt->told;
}

static void tell_incident(const struct train_adapt *a, const struct hypertune_incident *incident,
                          enum stn_train_change_kind kind,
                          const struct stn_train_observer *observer)
{
    const struct stn_train_change change = {
        .kind = kind,
        .step = a->step,
        .node = incident->node,
        .before = a->split,
        .after = a->next,
        .cause = hypertune_cause_text(incident->cause),
        .slowdown = incident->slowdown,
        .since_step = incident->since_step,
        .cost_seconds = incident->cost_s,
    };
    observer->change(observer->context, &change);
}

void train_adapt_tell(const struct train_adapt *adapt, const struct stn_train_observer *observer)
{
    if (!observer->change) {
        return;
    }
    for (int k = 0; k < adapt->event_count; k++) {
        const struct hypertune_incident *incident = &adapt->events[k];
        tell_incident(adapt, incident,
                      incident->until_step < 0 ? STN_CHANGE_SLOWED : STN_CHANGE_RECOVERED,
                      observer);
    }
    if (adapt->move.step > 0) {
        struct stn_train_change change = adapt->move;
        change.kind = STN_CHANGE_SPLIT;
        change.before = adapt->split;
        change.after = adapt->next;
        observer->change(observer->context, &change);
    }
}

void train_adapt_tell_end(const struct train_adapt *adapt,
                          const struct stn_train_observer *observer)
{
    for (int i = 0; i < adapt->nodes && adapt->causes && observer->change; i++) {
        const struct hypertune_incident *incident = hypertune_causes_open(adapt->causes, i);
        if (incident) {
            tell_incident(adapt, incident, STN_CHANGE_LASTING, observer);
        }
    }
}
