// SPDX-License-Identifier: Apache-2.0
#include "nn/views.h"

#include <stdlib.h>

static void find_lone(const struct nn_net *net, bool *lone)
{
    const struct nn_program *p = &net->program;
    for (nn_value v = 0; v < net->graph.value_count; v++) {
        lone[v] = v != net->image && v != net->graph.logits;
    }
    for (int b = 0; b < p->block_count; b++) {
        for (int m = p->blocks[b].first; m < p->blocks[b].end; m++) {
            if (p->blocks[b].strip == 1 || p->moments[m].op < 0) {
                continue;
            }
            const struct nn_op *op = &net->graph.ops[p->moments[m].op];
            lone[op->y] = false;
            for (int i = 0; i < op->inputs; i++) {
                lone[op->x[i]] = false;
            }
        }
    }
}

// Values that are made again have other memory then.
static bool is_made_again(const struct nn_net *net, nn_value v)
{
    for (int m = 0; m < net->program.moment_count; m++) {
        const struct nn_moment *moment = &net->program.moments[m];
        if (moment->act == NN_ACT_AGAIN && net->graph.ops[moment->op].y == v) {
            return true;
        }
    }
    return false;
}

ptrdiff_t nn_view_offset(const struct nn_net *net, const struct nn_views *views, int n, int i)
{
    const struct nn_op *op = &net->graph.ops[n];
    if (!kernel_op_traits(net->calls[n].op)->inputs_in_place || !views->lone[op->x[i]]) {
        return -1;
    }
    int first = 0;
    for (int before = 0; before < i; before++) {
        struct kernel_tensor t = net->tensors[op->x[before]];
        if (t.shape.c != kernel_tensor_padded_channels(t)) {
            return -1;
        }
        first += t.shape.c;
    }
    struct kernel_tensor t = net->tensors[op->x[i]];
    if (t.shape.c != kernel_tensor_padded_channels(t) && i < op->inputs - 1) {
        return -1; // its padding would be the next one's channels
    }
    return (ptrdiff_t)((size_t)first * (size_t)t.shape.h * (size_t)t.shape.w * sizeof(float));
}

static void find_activations(const struct nn_net *net, struct nn_views *views)
{
    const struct nn_graph *g = &net->graph;
    for (nn_value v = 0; v < g->value_count; v++) {
        views->activation[v].parent = -1;
    }
    for (int n = 0; n < g->op_count; n++) {
        for (int i = 0; i < g->ops[n].inputs; i++) {
            nn_value v = g->ops[n].x[i];
            ptrdiff_t offset = nn_view_offset(net, views, n, i);
            if (offset >= 0 && views->activation[v].parent < 0 && !is_made_again(net, v)) {
                views->activation[v] = (struct nn_view){g->ops[n].y, (size_t)offset};
            }
        }
    }
}

enum stn_status nn_views_create(const struct nn_net *net, struct nn_views *out)
{
    size_t values = (size_t)net->graph.value_count;
    *out = (struct nn_views){.activation = calloc(values, sizeof(*out->activation)),
                             .lone = calloc(values, sizeof(*out->lone))};
    if (!out->activation || !out->lone) {
        return stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
    }
    find_lone(net, out->lone);
    find_activations(net, out);
    return STN_OK;
}

void nn_views_destroy(struct nn_views *views)
{
    free(views->activation);
    free(views->lone);
}

nn_value nn_view_root(const struct nn_views *views, nn_value v, size_t *offset)
{
    while (views->activation[v].parent >= 0) {
        *offset += views->activation[v].offset;
        v = views->activation[v].parent;
    }
    return v;
}
