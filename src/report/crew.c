// SPDX-License-Identifier: Apache-2.0
#include "report/crew.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const double keep = 0.6; // of the mean so far: a change shows at once, noise does not
static const int64_t recovery_steps = 5; // work that comes back so soon comes because of it

// ---- what is told ------------------------------------------------------------------------------

bool report_crew_start(struct report_crew *crew, const struct stn_train_start *start)
{
    report_crew_fini(crew);
    if (start->nodes <= 1) {
        return true;
    }
    crew->nodes = calloc((size_t)start->nodes, sizeof(*crew->nodes));
    if (!crew->nodes) {
        return false;
    }
    crew->count = start->nodes;
    crew->batch = start->batch;
    crew->micro_batch = start->micro_batch;
    for (int i = 0; i < crew->count; i++) {
        crew->nodes[i].name = start->node[i].name;
        crew->nodes[i].micro_batches = start->node[i].micro_batches;
    }
    return true;
}

static void take_step(struct report_crew_node *node, const struct stn_train_node_step *told)
{
    double old = node->compute + node->wait > 0 ? keep : 0;
    node->compute = old * node->compute + (1 - old) * told->compute_seconds;
    node->wait = old * node->wait + (1 - old) * told->wait_seconds;
    node->work = old * node->work + (1 - old) * told->micro_batches;
    node->slowdown = told->slowdown;
}

void report_crew_step(struct report_crew *crew, const struct stn_train_step *step)
{
    crew->step = step->step;
    // What is left at the end of an epoch is a fraction of a step.
    if (!step->node || step->nodes != crew->count || step->images < crew->batch) {
        return;
    }
    for (int i = 0; i < crew->count; i++) {
        take_step(&crew->nodes[i], &step->node[i]);
    }
}

static void take_split(struct report_crew *crew, const struct stn_train_change *change)
{
    for (int i = 0; i < crew->count; i++) {
        struct report_crew_node *node = &crew->nodes[i];
        if (change->after[i] != node->micro_batches) {
            node->moved = change->after[i] - node->micro_batches;
            node->moved_step = change->step;
            node->micro_batches = change->after[i];
        }
        if (node->slow && node->micro_batches < node->least) {
            node->least = node->micro_batches;
        }
    }
    crew->batch = change->batch > 0 ? change->batch : crew->batch;
}

static void take_slowed(struct report_crew_node *node, const struct stn_train_change *change)
{
    bool moved_now = node->moved_step == change->step;
    node->slow = true;
    node->recovered_step = 0;
    node->since_step = change->since_step;
    node->before = moved_now ? node->micro_batches - node->moved : node->micro_batches;
    node->least = node->micro_batches;
    snprintf(node->cause, sizeof(node->cause), "%s", change->cause ? change->cause : "unknown");
}

void report_crew_change(struct report_crew *crew, const struct stn_train_change *change)
{
    if (crew->count == 0) {
        return;
    }
    struct report_crew_node *node =
        change->node >= 0 && change->node < crew->count ? &crew->nodes[change->node] : NULL;
    switch (change->kind) {
    case STN_CHANGE_SPLIT: take_split(crew, change); break;
    case STN_CHANGE_SLOWED:
        if (node) {
            take_slowed(node, change);
        }
        break;
    case STN_CHANGE_RECOVERED:
        if (node) {
            node->slow = false;
            node->recovered_step = change->step;
        }
        break;
    case STN_CHANGE_LASTING: break;
    }
}

void report_crew_fini(struct report_crew *crew)
{
    free(crew->nodes);
    *crew = (struct report_crew){0};
}

// ---- what there is to say ----------------------------------------------------------------------

double report_crew_speed(const struct report_crew *crew, int node)
{
    const struct report_crew_node *n = &crew->nodes[node];
    return n->compute > 0 ? n->work * crew->micro_batch / n->compute : 0;
}

double report_crew_busy(const struct report_crew *crew, int node)
{
    const struct report_crew_node *n = &crew->nodes[node];
    return n->compute + n->wait > 0 ? n->compute / (n->compute + n->wait) : 0;
}

// Why it moved: a node gets less because it is slow, and more because it is not any longer; else it
// makes room for others.
static const char *reason(const struct report_crew_node *n)
{
    bool just_recovered = n->recovered_step > 0 && n->moved_step >= n->recovered_step &&
                          n->moved_step - n->recovered_step < recovery_steps;
    return n->slow && n->moved < 0          ? n->cause
           : just_recovered && n->moved > 0 ? "as fast as before"
                                            : NULL;
}

void report_crew_news(const struct report_crew *crew, int node, char *out, size_t size)
{
    const struct report_crew_node *n = &crew->nodes[node];
    const char *why = reason(n);
    bool moved_since = n->moved != 0 && n->moved_step >= n->since_step;
    if (n->slow && !moved_since) {
        snprintf(out, size, "slow since step %" PRId64 ": %s", n->since_step, n->cause);
    } else if (n->slow && !why) {
        snprintf(out, size, "%+d at step %" PRId64 ", slow since %" PRId64 ": %s", n->moved,
                 n->moved_step, n->since_step, n->cause);
    } else if (moved_since) {
        snprintf(out, size, "%+d at step %" PRId64 "%s%s", n->moved, n->moved_step, why ? ": " : "",
                 why ? why : "");
    } else {
        snprintf(out, size, "%s", n->recovered_step > 0 ? "as fast as before" : "");
    }
}
