// SPDX-License-Identifier: Apache-2.0
// What a step sums up, from micro-batch to micro-batch: gradients, in parts that lanes and ops hold
// back until they are collected, and batch statistics.
#include <string.h>

#include "nn/net_state.h"

// ---- one node ----------------------------------------------------------------------------------

// The parts of a node's gradient sums that one micro-batch has.
static struct kernel_sums node_parts(const struct nn_net *net, int n, int slot)
{
    return (struct kernel_sums){slot * net->lanes, net->calls[n].together ? 1 : net->lanes};
}

void nn_node_collect(struct nn_net *net, int n, int lane, int slot)
{
    const struct nn_node *node = &net->graph.nodes[n];
    const struct kernel_sums parts = node_parts(net, n, slot);
    kernel_op_collect(net->calls[n].op, lane, parts, net->calls[n].param_grads);
    for (int p = parts.first; p < parts.first + parts.count; p++) {
        for (int i = 0; i < node->params && p > 0; i++) {
            const struct nn_tensor *tensor = &net->graph.tensors[node->param[i]];
            float *restrict sums = net->gradient_sums.data + tensor->offset;
            float *restrict part = nn_part_sums(net, p) + tensor->offset;
            for (size_t k = 0; k < tensor->count; k++) {
                sums[k] += part[k];
                part[k] = 0;
            }
        }
    }
}

// ---- every node --------------------------------------------------------------------------------

// What a lane does with its share of the nodes; `slot` where it is about one micro-batch.
typedef void node_call(struct nn_net *net, int n, int lane, int slot);

struct share_out {
    struct nn_net *net;
    node_call *call;
    int slot;
};

static void lane_nodes(void *context, int lane)
{
    const struct share_out *work = context;
    for (int n = lane; n < work->net->graph.node_count; n += work->net->lanes) {
        work->call(work->net, n, lane, work->slot);
    }
}

// Nodes dealt out to the lanes; no result depends on who does which.
static void for_each_node(struct nn_net *net, node_call *call, int slot)
{
    struct share_out work = {net, call, slot};
    if (net->lanes > 1) {
        kernel_lanes_run(net->lane_kernel, lane_nodes, &work);
    } else {
        lane_nodes(&work, 0);
    }
}

static void node_prepare(struct nn_net *net, int n, int lane, int slot)
{
    (void)slot;
    kernel_op_prepare(net->calls[n].op, lane, net->calls[n].params[net->current]);
}

void nn_net_weights_changed(struct nn_net *net)
{
    for_each_node(net, node_prepare, 0);
}

// What lanes summed up and nobody collected.
static void node_forget(struct nn_net *net, int n, int lane, int slot)
{
    const struct nn_node *node = &net->graph.nodes[n];
    const struct kernel_sums parts = node_parts(net, n, slot);
    kernel_op_collect(net->calls[n].op, lane, parts, NULL);
    for (int p = parts.first; p < parts.first + parts.count; p++) {
        for (int i = 0; i < node->params && p > 0; i++) {
            const struct nn_tensor *tensor = &net->graph.tensors[node->param[i]];
            memset(nn_part_sums(net, p) + tensor->offset, 0, tensor->count * sizeof(float));
        }
    }
}

static void node_clear(struct nn_net *net, int n, int lane, int slot)
{
    (void)lane;
    (void)slot;
    const struct nn_node *node = &net->graph.nodes[n];
    for (int i = 0; i < node->params; i++) {
        const struct nn_tensor *tensor = &net->graph.tensors[node->param[i]];
        memset(net->gradient_sums.data + tensor->offset, 0, tensor->count * sizeof(float));
    }
}

void nn_net_begin_step(struct nn_net *net)
{
    for (int slot = 0; slot < net->slots; slot++) {
        for_each_node(net, node_forget, slot);
    }
    for_each_node(net, node_clear, 0);
    for (int slot = 0; slot < net->abreast; slot++) {
        memset(nn_slot_statistics(net, slot), 0, net->buffer_sums.count * sizeof(float));
    }
    net->slots = 0;
}

static void collect_statistics(struct nn_net *net, int slot)
{
    float *own = nn_slot_statistics(net, slot);
    for (size_t i = 0; i < net->buffer_sums.count && slot > 0; i++) {
        net->buffer_sums.data[i] += own[i];
        own[i] = 0;
    }
}

void nn_net_collect_abreast(struct nn_net *net, int i)
{
    for_each_node(net, nn_node_collect, i);
    collect_statistics(net, i);
    net->slots = i == net->slots - 1 ? 0 : net->slots;
}

void nn_net_collect_gradients(struct nn_net *net)
{
    int slots = net->gradient_sums.data ? net->slots : 0;
    for (int slot = 0; slot < slots; slot++) {
        nn_net_collect_abreast(net, slot);
    }
}

void nn_net_merge_statistics(struct nn_net *net, double count, double momentum)
{
    const float keep = (float)(1.0 - momentum), take = (float)(momentum / count);
    const float *running = nn_net_buffers(net);
    float *next = nn_net_next_buffers(net);
    for (size_t i = 0; i < nn_net_buffer_count(net); i++) {
        next[i] = keep * running[i] + take * net->buffer_sums.data[i];
    }
}
