// SPDX-License-Identifier: Apache-2.0
#include "hypertune/paper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct node {
    struct plan_curve curve;
    struct hypertune_clock clock;
    int first, least, most;
    int declines, rises; // flags in a row
    double index;        // the latest
    double speed;
    double *usage;      // [window] ring
    long usages;        // ever
    double usage_first; // undisturbed: the mean of the first `recent`
    double usage_then;  // when the batch was set
};

struct hypertune_paper {
    struct base_arena arena;
    struct hypertune_paper_options options;
    int nodes;
    struct node *node;
    int *split;
};

struct hypertune_paper_options hypertune_paper_defaults(void)
{
    return (struct hypertune_paper_options){
        .rebatch = HYPERTUNE_INTERPOLATE,
        .speed_weight = 0.8,
        .margin = 0.2,
        .flags = 5,
        .window = 10,
        .recent = 5,
        .range_low = 0.5,
        .range_high = 1.5,
    };
}

// ---- the equations -----------------------------------------------------------------------------

double hypertune_decline_index(double weight, double normal_speed, double speed, double progress)
{
    return weight * (normal_speed - speed) / normal_speed + (1.0 - weight) * (1.0 - progress);
}

// Point i of the table, or of the line at i + 1.
static struct plan_point point_at(const struct plan_curve *curve, int i)
{
    if (curve->count > 0) {
        return curve->points[i];
    }
    return (struct plan_point){.micro_batches = i + 1, .speed = plan_curve_speed(curve, i + 1)};
}

double hypertune_batch_interpolated(const struct plan_curve *curve, double speed, int most)
{
    int count = curve->count > 0 ? curve->count : most;
    struct plan_point below = {0}; // no batch, no speed
    for (int i = 0; i < count; i++) {
        struct plan_point above = point_at(curve, i);
        if (above.speed >= speed && above.speed > below.speed) {
            return (below.micro_batches * (above.speed - speed) +
                    above.micro_batches * (speed - below.speed)) /
                   (above.speed - below.speed);
        }
        below = above;
    }
    return below.micro_batches;
}

// m/(a + c·m) = s; the line never reaches 1/c.
double hypertune_batch_inverse(const struct plan_line *line, double speed, int most)
{
    double left = 1.0 - line->each_s * speed;
    double batch = left > 0.0 ? line->fixed_s * speed / left : most;
    return batch < most ? batch : most;
}

// ---- what the reports say ----------------------------------------------------------------------

static double usage_mean(const struct node *node, const struct hypertune_paper_options *o)
{
    double sum = 0.0;
    long count = node->usages < o->recent ? node->usages : o->recent;
    for (long ago = 0; ago < count; ago++) {
        sum += node->usage[(node->usages - 1 - ago) % o->window];
    }
    return count > 0 ? sum / (double)count : 0.0;
}

static void usage_observe(struct node *node, const struct hypertune_paper_options *o, double usage)
{
    node->usage[node->usages % o->window] = usage;
    node->usages++;
    if (node->usages == o->recent) {
        node->usage_first = node->usage_then = usage_mean(node, o);
    }
    bool rose =
        node->usages > o->recent && usage_mean(node, o) > node->usage_then * (1.0 + o->margin);
    node->rises = rose ? node->rises + 1 : 0;
}

static void node_observe(struct node *node, const struct hypertune_paper_options *o,
                         const struct hypertune_report *report, double progress)
{
    node->speed = report->micro_batches / report->compute_s;
    double normal = plan_curve_speed(&node->curve, report->micro_batches);
    node->index = hypertune_decline_index(o->speed_weight, normal, node->speed, progress);
    node->declines = node->index > o->margin ? node->declines + 1 : 0;
    usage_observe(node, o, report->cpu_s / report->compute_s);
}

// ---- new batches -------------------------------------------------------------------------------

static double batch_by_usage(const struct node *node, const struct hypertune_paper_options *o)
{
    if (node->usages < o->recent || !(node->usage_first > 0.0)) {
        return node->first; // nothing known
    }
    return node->first * usage_mean(node, o) / node->usage_first;
}

static double batch_by_speed(const struct node *node, const struct hypertune_paper_options *o)
{
    switch (o->rebatch) {
    case HYPERTUNE_INTERPOLATE:
        return hypertune_batch_interpolated(&node->curve, node->speed, node->most);
    case HYPERTUNE_INVERSE:
        return hypertune_batch_inverse(&node->curve.line, node->speed, node->most);
    case HYPERTUNE_CPU: return batch_by_usage(node, o);
    }
    return node->first;
}

static int batch_in_range(const struct node *node, double batch)
{
    int rounded = (int)lround(fmin(batch, node->most));
    return rounded < node->least ? node->least : rounded;
}

static int batch_next(const struct node *node, const struct hypertune_paper_options *o, int now)
{
    if (node->declines >= o->flags) {
        int batch = batch_in_range(node, batch_by_speed(node, o));
        return batch < now ? batch : now;
    }
    if (node->rises >= o->flags) {
        int batch = batch_in_range(node, batch_by_usage(node, o));
        return batch > now ? batch : now;
    }
    return now;
}

// New batches for all nodes that have reason to; returns the first of them, or −1.
static int rebatch(struct hypertune_paper *paper)
{
    int changed = -1;
    for (int i = 0; i < paper->nodes; i++) {
        struct node *node = &paper->node[i];
        int batch = batch_next(node, &paper->options, paper->split[i]);
        if (node->declines >= paper->options.flags || node->rises >= paper->options.flags) {
            node->declines = node->rises = 0;
            node->usage_then = usage_mean(node, &paper->options);
        }
        if (batch != paper->split[i]) {
            paper->split[i] = batch;
            changed = changed < 0 ? i : changed;
        }
    }
    return changed;
}

static double learning_rate(const struct hypertune_paper *paper)
{
    double first = 0.0, now = 0.0;
    for (int i = 0; i < paper->nodes; i++) {
        first += paper->node[i].first;
        now += paper->split[i];
    }
    return paper->options.scale_learning_rate ? now / first : 1.0;
}

struct hypertune_paper_decision hypertune_paper_step(struct hypertune_paper *paper, int64_t step,
                                                     int64_t done, int64_t steps,
                                                     const struct hypertune_report reports[])
{
    double progress = (double)done / (double)steps;
    for (int i = 0; i < paper->nodes; i++) {
        struct node *node = &paper->node[i];
        if (hypertune_report_check(&reports[i], step, &node->clock) == HYPERTUNE_REPORT_USABLE) {
            node_observe(node, &paper->options, &reports[i], progress);
        }
    }
    struct hypertune_paper_decision out = {.split = paper->split, .node = rebatch(paper)};
    out.end_epoch = out.node >= 0;
    out.index = out.node >= 0 ? paper->node[out.node].index : 0.0;
    out.learning_rate = learning_rate(paper);
    return out;
}

// ---- creation ----------------------------------------------------------------------------------

static int at_least(int value, int least)
{
    return value < least ? least : value;
}

static int at_most(int value, int most)
{
    return value > most ? most : value;
}

static bool node_init(struct hypertune_paper *paper, const struct hypertune_paper_config *config,
                      int i)
{
    const struct hypertune_paper_options *o = &config->options;
    int first = config->first[i];
    paper->split[i] = first;
    paper->node[i] = (struct node){
        .curve = config->cluster->nodes[i].curve,
        .first = first,
        .least = at_least((int)ceil(first * o->range_low), config->cluster->nodes[i].floor),
        .most = at_most((int)floor(first * o->range_high), config->cluster->nodes[i].cap),
        .usage = base_arena_alloc(&paper->arena, (size_t)o->window * sizeof(double)),
    };
    return paper->node[i].usage != NULL;
}

enum stn_status hypertune_paper_create(const struct hypertune_paper_config *config,
                                       struct hypertune_paper **out)
{
    const struct hypertune_paper_options *o = &config->options;
    if (o->recent < 1 || o->window < o->recent || o->flags < 1) {
        return stn_fail(STN_ERR_INVALID,
                        "hypertune: %d flags and %d of a window of %d steps: each must be at least "
                        "1, and the window the largest",
                        o->flags, o->recent, o->window);
    }
    struct hypertune_paper *paper = calloc(1, sizeof(*paper));
    if (paper == NULL) {
        goto out_of_memory;
    }
    size_t nodes = (size_t)config->cluster->count;
    paper->options = *o;
    paper->nodes = config->cluster->count;
    paper->node = base_arena_alloc(&paper->arena, nodes * sizeof(*paper->node));
    paper->split = base_arena_alloc(&paper->arena, nodes * sizeof(*paper->split));
    bool complete = paper->node != NULL && paper->split != NULL;
    for (int i = 0; complete && i < config->cluster->count; i++) {
        complete = node_init(paper, config, i);
    }
    if (complete) {
        *out = paper;
        return STN_OK;
    }
out_of_memory:
    hypertune_paper_destroy(paper);
    return stn_fail(STN_ERR_NO_MEMORY, "no memory to watch %d nodes", config->cluster->count);
}

void hypertune_paper_destroy(struct hypertune_paper *paper)
{
    if (paper != NULL) {
        base_arena_fini(&paper->arena);
        free(paper);
    }
}
