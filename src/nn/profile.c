// SPDX-License-Identifier: Apache-2.0
#include "nn/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/need.h"
#include "stannis/profile.h"

struct stn_profile {
    struct stn_profile_row *rows; // in graph order
    struct stn_profile_event *events;
    int row_count, event_count;
    struct base_arena arena; // keeps the names
};

enum { TIMELINE_CALLS = 200000 };

enum stn_status nn_profile_create(const struct nn_net *net, int call_capacity,
                                  struct nn_profile **out)
{
    struct nn_profile *p = calloc(1, sizeof(*p));
    bool ok = p && (p->lanes = calloc((size_t)net->lanes, sizeof(*p->lanes)));
    for (int l = 0; ok && l < net->lanes; l++) {
        struct nn_profile_lane *lane = &p->lanes[l];
        p->lane_count = l + 1;
        lane->call_capacity = call_capacity / net->lanes;
        lane->op_ns = calloc((size_t)net->graph.op_count, sizeof(*lane->op_ns));
        lane->calls = calloc((size_t)lane->call_capacity, sizeof(*lane->calls));
        ok = lane->op_ns && lane->calls;
    }
    if (!ok) {
        nn_profile_destroy(p);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the profile");
    }
    *out = p;
    return STN_OK;
}

void nn_profile_destroy(struct nn_profile *p)
{
    for (int l = 0; p && l < p->lane_count; l++) {
        free(p->lanes[l].op_ns);
        free(p->lanes[l].calls);
    }
    if (p) {
        free(p->lanes);
        free(p);
    }
}

void nn_profile_add(struct nn_profile *p, const struct nn_moment *moment, int lane, int strip,
                    int64_t begin_ns, int64_t end_ns)
{
    struct nn_profile_lane *own = &p->lanes[lane];
    own->op_ns[moment->op][moment->act] += end_ns - begin_ns;
    if (own->call_count < own->call_capacity) {
        own->calls[own->call_count++] =
            (struct nn_profile_call){begin_ns, end_ns, moment->op, moment->act, strip};
    }
}

enum stn_status nn_net_profile_start(struct nn_net *net)
{
    nn_profile_destroy(net->profile);
    net->profile = NULL;
    return nn_profile_create(net, TIMELINE_CALLS, &net->profile);
}

// ---- what it says -------------------------------------------------------------------------------

static double value_bytes(const struct nn_net *net, nn_value v)
{
    return (double)kernel_tensor_row_floats(net->tensors[v]) * sizeof(float) *
           net->config.micro_batch;
}

// What an op reads and writes at least, forward; parameters included.
static double forward_bytes(const struct nn_net *net, const struct nn_op *op)
{
    double bytes = value_bytes(net, op->y);
    for (int i = 0; i < op->inputs; i++) {
        bytes += value_bytes(net, op->x[i]);
    }
    for (int i = 0; i < op->params; i++) {
        bytes += (double)net->graph.tensors[op->param[i]].count * sizeof(float);
    }
    return bytes;
}

// And backward: dy once, a dx for each input that needs one, what it reads of x and y.
static double backward_bytes(const struct nn_net *net, int n)
{
    const struct nn_op *op = &net->graph.ops[n];
    unsigned reads = kernel_op_traits(net->calls[n].op)->backward_reads;
    double bytes = value_bytes(net, op->y) * (reads & KERNEL_READS_Y ? 2 : 1);
    for (int i = 0; i < op->inputs; i++) {
        bytes += net->calls[n].dx[i].base ? value_bytes(net, op->x[i]) : 0;
        bytes += reads & KERNEL_READS_X ? value_bytes(net, op->x[i]) : 0;
    }
    for (int i = 0; i < op->params; i++) {
        bytes += 2.0 * (double)net->graph.tensors[op->param[i]].count * sizeof(float);
    }
    return bytes;
}

// What op n's calls of these kinds took of a micro-batch's time: lanes take theirs at the same
// time.
static double seconds_of(const struct nn_net *net, int n, unsigned acts)
{
    const struct nn_profile *p = net->profile;
    int64_t ns = 0;
    for (int l = 0; l < p->lane_count; l++) {
        for (int act = 0; act < NN_ACTS; act++) {
            ns += acts & 1u << act ? p->lanes[l].op_ns[n][act] : 0;
        }
    }
    int at_once = net->calls[n].together ? 1 : p->lane_count;
    return (double)ns * 1e-9 / (double)(p->micro_batches * at_once);
}

static struct stn_profile_row row_of(const struct nn_net *net, int n)
{
    const struct nn_op *op = &net->graph.ops[n];
    const struct kernel_op_traits *traits = kernel_op_traits(net->calls[n].op);
    double samples = net->config.micro_batch;
    double flops = 2.0 * (double)traits->macs / net->calls[n].strip * samples;
    bool data_gradient = net->calls[n].dx[0].base != NULL;
    return (struct stn_profile_row){
        .layer = op->name,
        .op = traits->name,
        .strip = net->calls[n].strip,
        .in_channels = nn_shape(&net->graph, op->x[0]).c,
        .out_channels = nn_shape(&net->graph, op->y).c,
        .out_size = nn_shape(&net->graph, op->y).h,
        .forward = {seconds_of(net, n, 1u << NN_ACT_FORWARD | 1u << NN_ACT_FORWARD_GATHER), flops,
                    forward_bytes(net, op)},
        .backward = {seconds_of(net, n,
                                1u << NN_ACT_BACKWARD | 1u << NN_ACT_BACKWARD_GATHER |
                                    1u << NN_ACT_AGAIN),
                     flops * (data_gradient ? 2 : 1), backward_bytes(net, n)},
    };
}

static const char *const act_names[NN_ACTS] = {
    [NN_ACT_FORWARD_GATHER] = "forward gather",
    [NN_ACT_FORWARD] = "forward",
    [NN_ACT_AGAIN] = "forward again",
    [NN_ACT_LOSS] = "loss",
    [NN_ACT_BACKWARD] = "backward",
    [NN_ACT_BACKWARD_GATHER] = "backward gather",
};

static struct stn_profile_event event_of(const struct nn_net *net, int lane,
                                         const struct nn_profile_call *c)
{
    return (struct stn_profile_event){
        .layer = net->graph.ops[c->op].name,
        .op = kernel_op_traits(net->calls[c->op].op)->name,
        .phase = act_names[c->act],
        .lane = lane,
        .strip = c->strip,
        .begin_us = (double)(c->begin_ns - net->profile->lanes[0].calls[0].begin_ns) * 1e-3,
        .duration_us = (double)(c->end_ns - c->begin_ns) * 1e-3,
    };
}

// Names are copied, for the profile outlives the net.
static const char *keep(struct base_arena *arena, const char *text, bool *ok)
{
    const char *copy = base_arena_strdup(arena, text);
    *ok = *ok && copy;
    return copy;
}

static int call_count(const struct nn_profile *p)
{
    int count = 0;
    for (int l = 0; l < p->lane_count; l++) {
        count += p->lanes[l].call_count;
    }
    return count;
}

// Lane after lane; names are those of the rows.
static void events_take(const struct nn_net *net, struct stn_profile *out)
{
    struct stn_profile_event *event = out->events;
    for (int l = 0; l < net->profile->lane_count; l++) {
        const struct nn_profile_lane *lane = &net->profile->lanes[l];
        for (int c = 0; c < lane->call_count; c++, event++) {
            *event = event_of(net, l, &lane->calls[c]);
            event->layer = out->rows[lane->calls[c].op].layer;
            event->op = out->rows[lane->calls[c].op].op;
        }
    }
}

static void empty(struct stn_profile *profile)
{
    base_arena_fini(&profile->arena);
    free(profile->rows);
    free(profile->events);
    *profile = (struct stn_profile){0};
}

enum stn_status nn_net_profile_take(const struct nn_net *net, struct stn_profile *out)
{
    bool ok = true;
    empty(out);
    int rows = net->graph.op_count, events = call_count(net->profile);
    out->rows = calloc((size_t)rows, sizeof(*out->rows));
    out->events = calloc((size_t)events + 1, sizeof(*out->events));
    if (!out->rows || !out->events) {
        goto out_profile;
    }
    out->row_count = rows;
    out->event_count = events;
    for (int n = 0; n < rows; n++) {
        out->rows[n] = row_of(net, n);
        out->rows[n].layer = keep(&out->arena, out->rows[n].layer, &ok);
        out->rows[n].op = keep(&out->arena, out->rows[n].op, &ok);
    }
    events_take(net, out);
    if (ok) {
        return STN_OK;
    }
out_profile:
    empty(out);
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for the profile");
}

// ---- what a caller sees ------------------------------------------------------------------------

enum stn_status stn_profile_create(struct stn_profile **out)
{
    enum stn_status status = base_need(out, "stn_profile_create", "place for the profile");
    if (status) {
        return status;
    }
    *out = calloc(1, sizeof(**out));
    return *out ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for the profile");
}

void stn_profile_destroy(struct stn_profile *profile)
{
    if (profile) {
        empty(profile);
        free(profile);
    }
}

int stn_profile_row_count(const struct stn_profile *profile)
{
    return profile ? profile->row_count : 0;
}

const struct stn_profile_row *stn_profile_row(const struct stn_profile *profile, int index)
{
    return index >= 0 && index < stn_profile_row_count(profile) ? &profile->rows[index] : NULL;
}

int stn_profile_event_count(const struct stn_profile *profile)
{
    return profile ? profile->event_count : 0;
}

const struct stn_profile_event *stn_profile_event(const struct stn_profile *profile, int index)
{
    return index >= 0 && index < stn_profile_event_count(profile) ? &profile->events[index] : NULL;
}
