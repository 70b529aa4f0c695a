// SPDX-License-Identifier: Apache-2.0
#include "crew/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "hypertune/cause.h"
#include "hypertune/policy.h"

// Where speeds had only been guessed, so many first steps measure them. Their median counts, since
// the first step is slow.
enum { FIRST_LOOK_STEPS = 3 };

struct crew_adapt {
    struct base_arena arena;
    struct crew_adapt_config config; // but for profile and first, which were copied
    int nodes, micro_batch;
    struct plan_node *known;          // [nodes] what each node can do undisturbed, as a line
    int micro_batches;                // of a whole step
    int *split, *next;                // of the step that is done, and of the one to come
    struct hypertune_report *reports; // of the step done
    double *looks[FIRST_LOOK_STEPS];  // seconds of a micro-batch; 0: not seen
    int look_count;
    const struct hypertune_policy_ways *policy; // NULL: nothing is moved
    void *state;                                // the policy's
    struct hypertune_decide *onlooker; // watches in place of a policy that does not; else NULL
    const struct hypertune_decide
        *watch; // the policy's or the onlooker; NULL: speeds are being measured
    struct hypertune_causes *causes;
    struct hypertune_incident *events;
    int event_count;
    struct stn_train_node_step *told;
    struct stn_train_change move; // step 0: nothing moved
    int64_t step;
};

// ---- creation ----------------------------------------------------------------------------------

static struct hypertune_decide_options decide_options(const struct settings *s)
{
    struct hypertune_decide_options out = hypertune_decide_defaults();
    out.detect.evidence_needed = s->evidence;
    out.detect.noise_least = s->noise;
    out.cost_steps = s->move_cost;
    out.gain_errors = s->move_certainty;
    out.gain_least = s->move_gain;
    out.horizon_most = fmax(s->move_horizon, out.horizon_least);
    out.probe.budget = s->probe_budget;
    out.probe.first_steps = s->probe_steps;
    return out;
}

static struct hypertune_paper_options paper_options(const struct settings *s)
{
    struct hypertune_paper_options out = hypertune_paper_defaults();
    out.rebatch = (enum hypertune_rebatch)s->rebatch;
    out.speed_weight = s->decline_weight;
    out.margin = s->decline_margin;
    out.flags = s->decline_steps;
    out.range_low = 1.0 - s->batch_range;
    out.range_high = 1.0 + s->batch_range;
    out.scale_learning_rate = s->lr_scale == SETTINGS_LR_SCALE_LINEAR;
    return out;
}

// Makes the onlooker: it watches the nodes, and never moves work.
static enum stn_status onlooker_create(struct crew_adapt *a, const struct plan_cluster *cluster)
{
    struct hypertune_decide_config config = {.cluster = cluster,
                                             .micro_batches = a->micro_batches,
                                             .first = a->split,
                                             .options = decide_options(a->config.settings)};
    config.options.cost_steps = INFINITY;
    config.options.probe.first_steps = INT64_MAX / 2; // from any step on: never
    enum stn_status status = hypertune_decide_create(&config, &a->onlooker);
    a->watch = a->onlooker;
    return status;
}

static enum stn_status policy_open(struct crew_adapt *a, const struct plan_cluster *cluster)
{
    const struct hypertune_policy_config config = {.cluster = cluster,
                                                   .micro_batches = a->micro_batches,
                                                   .first = a->split,
                                                   .decide = decide_options(a->config.settings),
                                                   .paper = paper_options(a->config.settings)};
    enum stn_status status = a->policy->open(&config, &a->state);
    if (!status && a->policy->watch) {
        a->watch = a->policy->watch(a->state);
    }
    return status;
}

// Called once the nodes' speeds are known.
static enum stn_status start_watching(struct crew_adapt *a)
{
    const struct plan_cluster cluster = {.nodes = a->known,
                                         .count = a->nodes,
                                         .micro_batch = a->micro_batch,
                                         .objective = a->config.profile->cluster.objective};
    const struct hypertune_cause_options causes = hypertune_cause_defaults();
    enum stn_status status = hypertune_causes_create(&cluster, &causes, &a->causes);
    if (!status && a->policy) {
        status = policy_open(a, &cluster);
    }
    return status || a->watch ? status : onlooker_create(a, &cluster);
}

static bool arrays_alloc(struct crew_adapt *a)
{
    size_t nodes = (size_t)a->nodes;
    bool looks = true;
    a->known = base_arena_alloc(&a->arena, nodes * sizeof(*a->known));
    a->split = base_arena_alloc(&a->arena, nodes * sizeof(*a->split));
    a->next = base_arena_alloc(&a->arena, nodes * sizeof(*a->next));
    a->reports = base_arena_alloc(&a->arena, nodes * sizeof(*a->reports));
    a->events = base_arena_alloc(&a->arena, nodes * sizeof(*a->events));
    a->told = base_arena_alloc(&a->arena, nodes * sizeof(*a->told));
    for (int k = 0; k < FIRST_LOOK_STEPS; k++) {
        a->looks[k] = base_arena_alloc(&a->arena, nodes * sizeof(*a->looks[k]));
        looks = looks && a->looks[k];
    }
    return a->known && a->split && a->next && a->reports && a->events && a->told && looks;
}

static void take_profile(struct crew_adapt *a, const struct crew_adapt_config *config)
{
    for (int i = 0; i < a->nodes; i++) {
        const struct plan_node *node = &config->profile->nodes[i];
        double update_s =
            config->profile->about[i].update_s; // not part of the times that nodes report
        const struct plan_line *line = &node->curve.line;
        a->known[i] = (struct plan_node){
            .curve.line = {fmax(0.0, line->fixed_s - update_s), line->each_s},
            .floor = node->floor < node->cap ? node->floor : node->cap,
            .cap = node->cap,
        };
        a->split[i] = a->next[i] = config->first[i];
        a->micro_batches += config->first[i];
    }
}

// NULL if the split stays: it is the user's own, or the policy never changes it.
static const struct hypertune_policy_ways *policy_that_moves(const struct crew_adapt_config *config)
{
    const struct hypertune_policy *policy = hypertune_policy_of(config->settings->policy);
    return !config->settings->split && policy && policy->does->open ? policy->does : NULL;
}

enum stn_status crew_adapt_create(const struct crew_adapt_config *config, struct crew_adapt **out)
{
    const struct plan_cluster *cluster = &config->profile->cluster;
    struct crew_adapt *a = calloc(1, sizeof(*a));
    if (!a) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to watch %d nodes", cluster->count);
    }
    a->config = *config;
    a->nodes = cluster->count;
    a->micro_batch = cluster->micro_batch;
    a->policy = policy_that_moves(config);
    enum stn_status status = STN_OK;
    if (!arrays_alloc(a)) {
        status = stn_fail(STN_ERR_NO_MEMORY, "no memory to watch %d nodes", cluster->count);
    }
    if (!status) {
        take_profile(a, config);
        status = config->profile->measured ? start_watching(a) : STN_OK;
    }
    if (status) {
        crew_adapt_destroy(a);
        return status;
    }
    *out = a;
    return STN_OK;
}

void crew_adapt_destroy(struct crew_adapt *adapt)
{
    if (!adapt) {
        return;
    }
    if (adapt->policy) {
        adapt->policy->close(adapt->state);
    }
    hypertune_decide_destroy(adapt->onlooker);
    hypertune_causes_destroy(adapt->causes);
    base_arena_fini(&adapt->arena);
    free(adapt);
}

// ---- a first look at nodes whose speeds are guessed --------------------------------------------

static double median_of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

// Seconds of a micro-batch in the first steps; 0 if the node had no work in one of them.
static double look_median(const struct crew_adapt *a, int i)
{
    double x = a->looks[0][i], y = a->looks[1][i], z = a->looks[2][i];
    return fmin(x, fmin(y, z)) > 0.0 ? median_of_three(x, y, z) : 0.0;
}

// Replaces guessed speeds by measured ones. The proportions of the guesses are right, so nodes that
// had no work are scaled as the others.
static void settle_speeds(struct crew_adapt *a)
{
    double ratios = 0.0;
    int seen = 0;
    for (int i = 0; i < a->nodes; i++) {
        double measured = look_median(a, i);
        ratios += measured / a->known[i].curve.line.each_s;
        seen += measured > 0.0;
    }
    for (int i = 0; i < a->nodes && seen > 0; i++) {
        double measured = look_median(a, i), *each_s = &a->known[i].curve.line.each_s;
        *each_s = measured > 0.0 ? measured : *each_s * ratios / seen;
    }
}

static enum stn_status look(struct crew_adapt *a)
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

static void take_reports(struct crew_adapt *a, const struct crew_adapt_moment *moment,
                         const struct crew_node_report reports[])
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

static void move_to(struct crew_adapt *a, const int split[], struct crew_verdict *verdict)
{
    size_t bytes = (size_t)a->nodes * sizeof(*split);
    verdict->moved = memcmp(a->split, split, bytes) != 0;
    memcpy(verdict->split, split, bytes);
    memcpy(a->next, split, bytes);
}

// The policy hypertune: the split's sum may change, and the global batch with it, from the next
// epoch on.
static void move_to_next_epoch(struct crew_adapt *a, const struct crew_adapt_moment *moment,
                               const struct hypertune_move *move, struct crew_verdict *verdict)
{
    verdict->end_epoch = true;
    verdict->lr = a->config.settings->lr * move->learning_rate;
    for (int i = 0; i < a->nodes; i++) {
        verdict->batch += move->split[i] * a->micro_batch;
    }
    a->move = (struct stn_train_change){.step = moment->step,
                                        .node = move->node,
                                        .batch = verdict->batch,
                                        .lost_samples = moment->left};
}

// Notes the policy's new split as a change, unless it is a probe, which lasts for one step.
static void move_by_policy(struct crew_adapt *a, const struct crew_adapt_moment *moment,
                           const struct hypertune_move *move, struct crew_verdict *verdict)
{
    if (!move->split) {
        return;
    }
    move_to(a, move->split, verdict);
    if (move->end_epoch) {
        move_to_next_epoch(a, moment, move, verdict);
    } else if (move->action == HYPERTUNE_REPLAN && verdict->moved) {
        a->move =
            (struct stn_train_change){.step = a->step, .node = move->node, .gain = move->gain};
    }
}

// How long the slowest node takes with the split in force, at the speeds of now.
static double slowest_s(const struct crew_adapt *a)
{
    double most = 0.0;
    for (int i = 0; i < a->nodes; i++) {
        most = fmax(most, hypertune_decide_node(a->watch, i).slowdown *
                              plan_line_seconds(&a->known[i].curve.line, a->split[i]));
    }
    return most;
}

// The decision as hypertune/cause.h is to see it: with the split that is in force, not with the one
// that the onlooker would have planned.
static struct hypertune_decision
decide(struct crew_adapt *a, const struct crew_adapt_moment *moment, struct crew_verdict *verdict)
{
    struct hypertune_move move = {.node = -1};
    if (a->onlooker) {
        hypertune_decide_step(a->onlooker, a->step, a->reports);
    }
    if (a->policy) {
        const struct hypertune_moment now = {moment->step, moment->done, moment->steps};
        move = a->policy->step(a->state, &now, a->reports);
        move_by_policy(a, moment, &move, verdict);
    }
    return (struct hypertune_decision){
        .split = a->next, .predicted_s = a->onlooker ? slowest_s(a) : move.predicted_s};
}

enum stn_status crew_adapt_step(struct crew_adapt *adapt, const struct crew_adapt_moment *moment,
                                const struct crew_node_report reports[],
                                struct crew_verdict *verdict)
{
    struct crew_adapt *a = adapt;
    take_reports(a, moment, reports);
    if (!a->watch) {
        return look(a);
    }
    struct hypertune_decision decision = decide(a, moment, verdict);
    a->event_count =
        hypertune_causes_step(a->causes, a->step, a->reports, a->watch, &decision, a->events);
    for (int i = 0; i < a->nodes; i++) {
        a->told[i].slowdown = hypertune_decide_node(a->watch, i).slowdown;
    }
    return STN_OK;
}

// ---- telling -----------------------------------------------------------------------------------

const struct stn_train_node_step *crew_adapt_nodes(const struct crew_adapt *adapt)
{
    return adapt->told;
}

static void tell_incident(const struct crew_adapt *a, const struct hypertune_incident *incident,
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

void crew_adapt_tell(const struct crew_adapt *adapt, const struct stn_train_observer *observer)
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

void crew_adapt_tell_end(const struct crew_adapt *adapt, const struct stn_train_observer *observer)
{
    for (int i = 0; i < adapt->nodes && adapt->causes && observer->change; i++) {
        const struct hypertune_incident *incident = hypertune_causes_open(adapt->causes, i);
        if (incident) {
            tell_incident(adapt, incident, STN_CHANGE_LASTING, observer);
        }
    }
}
