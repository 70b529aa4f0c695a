// SPDX-License-Identifier: Apache-2.0
#include "nn/profile.h"

#include <stdlib.h>
#include <string.h>

#include "stannis/profile.h"

enum { TIMELINE_CALLS = 200000 };

enum stn_status nn_profile_create(const struct nn_net *net, int call_capacity,
                                  struct nn_profile **out)
{
    struct nn_profile *p = calloc(1, sizeof(*p));
    if (p) {
        p->node_ns = calloc((size_t)net->graph.node_count, sizeof(*p->node_ns));
        p->calls = calloc((size_t)call_capacity, sizeof(*p->calls));
        p->call_capacity = call_capacity;
    }
    if (!p || !p->node_ns || !p->calls) {
        nn_profile_destroy(p);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the profile");
    }
    *out = p;
    return STN_OK;
}

void nn_profile_destroy(struct nn_profile *p)
{
    if (p) {
        free(p->node_ns);
        free(p->calls);
        free(p);
    }
}

void nn_profile_add(struct nn_profile *p, const struct nn_moment *moment, int strip,
                    int64_t begin_ns, int64_t end_ns)
{
    p->node_ns[moment->node][moment->act] += end_ns - begin_ns;
    if (p->call_count < p->call_capacity) {
        p->calls[p->call_count++] =
            (struct nn_profile_call){begin_ns, end_ns, moment->node, moment->act, strip};
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
static double forward_bytes(const struct nn_net *net, const struct nn_node *node)
{
    double bytes = value_bytes(net, node->y);
    for (int i = 0; i < node->inputs; i++) {
        bytes += value_bytes(net, node->x[i]);
    }
    for (int i = 0; i < node->params; i++) {
        bytes += (double)net->graph.tensors[node->param[i]].count * sizeof(float);
    }
    return bytes;
}

// And backward: dy once, a dx for each input that needs one, what it reads of x and y.
static double backward_bytes(const struct nn_net *net, int n)
{
    const struct nn_node *node = &net->graph.nodes[n];
    unsigned reads = kernel_op_traits(net->calls[n].op)->backward_reads;
    double bytes = value_bytes(net, node->y) * (reads & KERNEL_READS_Y ? 2 : 1);
    for (int i = 0; i < node->inputs; i++) {
        bytes += net->calls[n].dx[i].base ? value_bytes(net, node->x[i]) : 0;
        bytes += reads & KERNEL_READS_X ? value_bytes(net, node->x[i]) : 0;
    }
    for (int i = 0; i < node->params; i++) {
        bytes += 2.0 * (double)net->graph.tensors[node->param[i]].count * sizeof(float);
    }
    return bytes;
}

static struct stn_profile_row row_of(const struct nn_net *net, int n)
{
    const struct nn_profile *p = net->profile;
    const struct nn_node *node = &net->graph.nodes[n];
    const struct kernel_op_traits *traits = kernel_op_traits(net->calls[n].op);
    double samples = net->config.micro_batch, batches = p->micro_batches;
    double flops = 2.0 * (double)traits->macs / net->calls[n].strip * samples;
    bool data_gradient = net->calls[n].dx[0].base != NULL;
    const int64_t *ns = p->node_ns[n];
    return (struct stn_profile_row){
        .layer = node->name,
        .op = traits->name,
        .strip = net->calls[n].strip,
        .in_channels = nn_shape(&net->graph, node->x[0]).c,
        .out_channels = nn_shape(&net->graph, node->y).c,
        .out_size = nn_shape(&net->graph, node->y).h,
        .forward = {(double)(ns[NN_ACT_FORWARD] + ns[NN_ACT_FORWARD_GATHER]) * 1e-9 / batches,
                    flops, forward_bytes(net, node)},
        .backward = {(double)(ns[NN_ACT_BACKWARD] + ns[NN_ACT_BACKWARD_GATHER] + ns[NN_ACT_AGAIN]) *
                         1e-9 / batches,
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

static struct stn_profile_event event_of(const struct nn_net *net, const struct nn_profile_call *c)
{
    return (struct stn_profile_event){
        .layer = net->graph.nodes[c->node].name,
        .op = kernel_op_traits(net->calls[c->node].op)->name,
        .phase = act_names[c->act],
        .strip = c->strip,
        .begin_us = (double)(c->begin_ns - net->profile->calls[0].begin_ns) * 1e-3,
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

enum stn_status nn_net_profile_take(const struct nn_net *net, struct stn_profile *out)
{
    const struct nn_profile *p = net->profile;
    bool ok = true;
    *out = (struct stn_profile){.row_count = net->graph.node_count, .event_count = p->call_count};
    out->arena = calloc(1, sizeof(*out->arena));
    out->rows = calloc((size_t)out->row_count, sizeof(*out->rows));
    out->events = calloc((size_t)out->event_count + 1, sizeof(*out->events));
    if (!out->arena || !out->rows || !out->events) {
        goto out_profile;
    }
    for (int n = 0; n < out->row_count; n++) {
        out->rows[n] = row_of(net, n);
        out->rows[n].layer = keep(out->arena, out->rows[n].layer, &ok);
        out->rows[n].op = keep(out->arena, out->rows[n].op, &ok);
    }
    for (int e = 0; e < out->event_count; e++) {
        out->events[e] = event_of(net, &p->calls[e]);
        out->events[e].layer = out->rows[p->calls[e].node].layer;
        out->events[e].op = out->rows[p->calls[e].node].op;
    }
    if (ok) {
        return STN_OK;
    }
out_profile:
    stn_profile_fini(out);
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for the profile");
}

void stn_profile_fini(struct stn_profile *profile)
{
    if (profile->arena) {
        base_arena_fini(profile->arena);
    }
    free(profile->arena);
    free(profile->rows);
    free(profile->events);
    *profile = (struct stn_profile){0};
}
