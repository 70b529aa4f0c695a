// SPDX-License-Identifier: Apache-2.0
#include "hypertune/cause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

// Weight of the latest sample: of a node as it always is, of one that is slowed, of its normal
// speed.
static const double usual_follow = 0.05, slowed_follow = 0.3, normal_follow = 0.02;
// Samples that may already be slowed when that is found out; they do not count as usual.
enum { SUSPECT_SAMPLES = 3 };

// Seconds for work that takes one second by the profile.
struct rates {
    double compute, data, throttled, queue, cpu, others;
};

struct node {
    struct rates usual, slowed;
    struct rates suspect[SUSPECT_SAMPLES]; // the latest, ring
    long samples;
    double normal; // slowdown without incident
    bool is_open, is_told;
    int64_t found_step; // when the incident was noticed
    struct hypertune_incident incident;
};

struct hypertune_causes {
    struct base_arena arena;
    struct hypertune_cause_options options;
    int nodes;
    const struct plan_line *lines; // [nodes]
    struct node *node;
    int *split;     // [nodes] of the step reported
    double quiet_s; // the slowest node when there was no incident
};

const char *hypertune_cause_name(enum hypertune_cause cause)
{
    static const char *const names[] = {
#define X(name, text) #name,
        HYPERTUNE_CAUSE_MAP(X)
#undef X
    };
    return names[cause];
}

const char *hypertune_cause_text(enum hypertune_cause cause)
{
    static const char *const texts[] = {
#define X(name, text) text,
        HYPERTUNE_CAUSE_MAP(X)
#undef X
    };
    return texts[cause];
}

struct hypertune_cause_options hypertune_cause_defaults(void)
{
    return (struct hypertune_cause_options){
        .slowdown_least = 0.1, .slowdown_noise = 3.0, .cost_steps = 0.5, .explained_least = 0.4};
}

// ---- what the time went into -------------------------------------------------------------------

static struct rates rates_of(const struct hypertune_report *r, double work_s)
{
    // The scheduler's figure holds the throttling too.
    return (struct rates){
        .compute = r->compute_s / work_s,
        .data = r->io_s / work_s,
        .throttled = r->throttled_s / work_s,
        .queue = fmax(0.0, r->queue_s - r->throttled_s) / work_s,
        .cpu = r->cpu_s / work_s,
        .others = fmax(0.0, r->share_cpu_s - r->cpu_s) / work_s,
    };
}

static void rates_follow(struct rates *mean, const struct rates *latest, double follow)
{
    mean->compute += (latest->compute - mean->compute) * follow;
    mean->data += (latest->data - mean->data) * follow;
    mean->throttled += (latest->throttled - mean->throttled) * follow;
    mean->queue += (latest->queue - mean->queue) * follow;
    mean->cpu += (latest->cpu - mean->cpu) * follow;
    mean->others += (latest->others - mean->others) * follow;
}

static void node_sample(struct node *node, const struct rates *latest)
{
    if (node->is_open) {
        rates_follow(&node->slowed, latest, slowed_follow);
        return;
    }
    struct rates *oldest = &node->suspect[node->samples % SUSPECT_SAMPLES];
    if (node->samples == 0) {
        node->usual = *latest;
    } else if (node->samples >= SUSPECT_SAMPLES) {
        rates_follow(&node->usual, oldest, usual_follow);
    }
    *oldest = *latest;
    node->samples++;
}

static double part(double more, double of)
{
    return of > 0.0 ? fmax(0.0, fmin(1.0, more / of)) : 0.0;
}

// Of the processor time of the node's share, what others used.
static double others_part(const struct rates *rates)
{
    double all = rates->others + rates->cpu;
    return all > 0.0 ? rates->others / all : 0.0;
}

// The largest part makes the cause, if it is large enough.
static enum hypertune_cause cause_find(const struct node *node, double explained_least,
                                       double explained[HYPERTUNE_CAUSES])
{
    const struct rates *was = &node->usual, *is = &node->slowed;
    double more = is->compute - was->compute;
    double throttled = part(is->throttled - was->throttled, more);
    bool by_others = others_part(is) - others_part(was) > 0.2 * (1.0 - was->compute / is->compute);
    memset(explained, 0, HYPERTUNE_CAUSES * sizeof(*explained));
    explained[HYPERTUNE_CAUSE_PROCESS] =
        fmin(1.0, part(is->queue - was->queue, more) + (by_others ? throttled : 0.0));
    explained[HYPERTUNE_CAUSE_THROTTLED] = by_others ? 0.0 : throttled;
    explained[HYPERTUNE_CAUSE_DATA] = part(is->data - was->data, more);
    // Threads add up in processor time, so only its growth can be compared.
    explained[HYPERTUNE_CAUSE_CLOCK] =
        was->cpu > 0.0 ? part(is->cpu / was->cpu - 1.0, is->compute / was->compute - 1.0) : 0.0;
    enum hypertune_cause cause = HYPERTUNE_CAUSE_UNKNOWN;
    double most = explained_least;
    for (int i = 0; i < HYPERTUNE_CAUSES; i++) {
        if (explained[i] > most) {
            most = explained[i];
            cause = (enum hypertune_cause)i;
        }
    }
    return cause;
}

// ---- incidents ---------------------------------------------------------------------------------

static void incident_update(struct hypertune_causes *causes, struct node *node, double ratio,
                            int split_now)
{
    struct hypertune_incident *incident = &node->incident;
    incident->slowdown_now = ratio;
    incident->slowdown = fmax(incident->slowdown, ratio);
    incident->split_now = split_now;
    incident->cause = cause_find(node, causes->options.explained_least, incident->explained);
}

static void incident_begin(struct hypertune_causes *causes, int i, int64_t step, int changed_ago)
{
    struct node *node = &causes->node[i];
    node->is_open = true;
    node->found_step = step;
    node->slowed = node->suspect[(node->samples + SUSPECT_SAMPLES - 1) % SUSPECT_SAMPLES];
    node->incident = (struct hypertune_incident){
        .node = i,
        .since_step = changed_ago > 0 ? step - changed_ago + 1 : step,
        .until_step = -1,
        .split_before = causes->split[i],
    };
}

static void incident_end(struct node *node, int64_t step, int changed_ago)
{
    node->incident.until_step = changed_ago > 0 ? step - changed_ago + 1 : step;
    node->is_open = false;
    node->samples = SUSPECT_SAMPLES; // what was usual before is again
    for (int i = 0; i < SUSPECT_SAMPLES; i++) {
        node->suspect[i] = node->usual;
    }
}

static void node_step(struct hypertune_causes *causes, int i, int64_t step,
                      const struct hypertune_node *now, int split_next)
{
    struct node *node = &causes->node[i];
    double ratio = now->slowdown / node->normal, least = causes->options.slowdown_least;
    double noise = causes->options.slowdown_noise * now->noise;
    if (!node->is_open && ratio <= 1.0 + fmax(least, noise)) {
        bool faster = ratio < 1.0 - least; // than ever: that is its speed from now on
        node->normal *= pow(ratio, faster ? 1.0 : normal_follow);
        return;
    }
    if (!node->is_open) {
        incident_begin(causes, i, step, now->changed_ago);
    } else if (ratio < 1.0 + least / 2.0) {
        node->incident.slowdown_now = ratio;
        incident_end(node, step, now->changed_ago);
        return;
    }
    incident_update(causes, node, ratio, split_next);
}

// An incident that came and went and cost nothing is not told.
static bool node_has_news(struct node *node, double cost_least_s)
{
    bool begins = node->is_open && !node->is_told && node->incident.cost_s >= cost_least_s;
    bool ends = !node->is_open && node->is_told;
    node->is_told = node->is_told ? !ends : begins;
    return begins || ends;
}

// What a step took longer is shared out by the work that each slowed node could not do in its time.
static double weight_of(const struct node *node)
{
    int work = node->incident.split_before > 0 ? node->incident.split_before : 1;
    return node->is_open ? (1.0 - 1.0 / node->incident.slowdown_now) * work : 0.0;
}

static void cost_add(struct hypertune_causes *causes, int64_t step, double step_s)
{
    double weights = 0.0;
    for (int i = 0; i < causes->nodes; i++) {
        weights += weight_of(&causes->node[i]);
    }
    if (weights <= 0.0) {
        causes->quiet_s = step_s;
        return;
    }
    double loss_s = fmax(0.0, step_s - causes->quiet_s);
    for (int i = 0; i < causes->nodes; i++) {
        struct node *node = &causes->node[i];
        // When it is noticed, the steps before count as well.
        int64_t from = node->found_step == step ? node->incident.since_step : step;
        node->incident.cost_s += loss_s * (double)(step - from + 1) * weight_of(node) / weights;
    }
}

int hypertune_causes_step(struct hypertune_causes *causes, int64_t step,
                          const struct hypertune_report reports[],
                          const struct hypertune_decide *decide,
                          const struct hypertune_decision *decision,
                          struct hypertune_incident events[])
{
    int count = 0;
    for (int i = 0; i < causes->nodes; i++) {
        struct hypertune_node now = hypertune_decide_node(decide, i);
        if (now.report == HYPERTUNE_REPORT_USABLE) {
            int m = reports[i].micro_batches;
            struct rates latest = rates_of(&reports[i], plan_line_seconds(&causes->lines[i], m));
            node_sample(&causes->node[i], &latest);
        }
        node_step(causes, i, step, &now, decision->split[i]);
    }
    cost_add(causes, step, decision->predicted_s);
    for (int i = 0; i < causes->nodes; i++) {
        if (node_has_news(&causes->node[i], causes->options.cost_steps * causes->quiet_s)) {
            events[count++] = causes->node[i].incident;
        }
    }
    memcpy(causes->split, decision->split, (size_t)causes->nodes * sizeof(*causes->split));
    return count;
}

const struct hypertune_incident *hypertune_causes_open(const struct hypertune_causes *causes,
                                                       int node)
{
    return causes->node[node].is_told ? &causes->node[node].incident : NULL;
}

// ---- creation ----------------------------------------------------------------------------------

enum stn_status hypertune_causes_create(const struct plan_cluster *cluster,
                                        const struct hypertune_cause_options *options,
                                        struct hypertune_causes **out)
{
    size_t nodes = (size_t)cluster->count;
    struct hypertune_causes *causes = calloc(1, sizeof(*causes));
    if (causes == NULL) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the causes of %d nodes", cluster->count);
    }
    struct plan_line *lines = base_arena_alloc(&causes->arena, nodes * sizeof(*lines));
    causes->node = base_arena_alloc(&causes->arena, nodes * sizeof(*causes->node));
    causes->split = base_arena_alloc(&causes->arena, nodes * sizeof(*causes->split));
    if (lines == NULL || causes->node == NULL || causes->split == NULL) {
        hypertune_causes_destroy(causes);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the causes of %d nodes", cluster->count);
    }
    for (size_t i = 0; i < nodes; i++) {
        lines[i] = cluster->nodes[i].curve.line;
        causes->node[i].normal = 1.0;
    }
    causes->lines = lines;
    causes->nodes = cluster->count;
    causes->options = *options;
    *out = causes;
    return STN_OK;
}

void hypertune_causes_destroy(struct hypertune_causes *causes)
{
    if (causes != NULL) {
        base_arena_fini(&causes->arena);
        free(causes);
    }
}
