// SPDX-License-Identifier: Apache-2.0
// What a step sums up, from micro-batch to micro-batch: gradients, in parts that lanes and ops hold
// back until they are collected, and batch statistics.
#include <string.h>

#include "nn/net_state.h"

// ---- one op -------------------------------------------------------------------------------------

// The parts of an op's gradient sums that one micro-batch has.
static struct kernel_sums op_parts(const struct nn_net *net, int n, int slot)
{
    return (struct kernel_sums){slot * net->lanes, net->calls[n].together ? 1 : net->lanes};
}

void nn_op_collect(struct nn_net *net, int n, int lane, int slot)
{
    const struct nn_op *op = &net->graph.ops[n];
    const struct kernel_sums parts = op_parts(net, n, slot);
    kernel_op_collect(net->calls[n].op, lane, parts, net->calls[n].param_grads);
    for (int p = parts.first; p < parts.first + parts.count; p++) {
        for (int i = 0; i < op->params && p > 0; i++) {
            const struct nn_tensor *tensor = &net->graph.tensors[op->param[i]];
            float *restrict sums = net->gradient_sums.data + tensor->offset;
            float *restrict part = nn_part_sums(net, p) + tensor->offset;
            for (size_t k = 0; k < tensor->count; k++) {
                sums[k] += part[k];
                part[k] = 0;
            }
        }
    }
}

// ---- every op -----------------------------------------------------------------------------------

// What a lane does with its share of the ops; `slot` where it is about one micro-batch.
typedef void op_call(struct nn_net *net, int n, int lane, int slot);

struct share_out {
    struct nn_net *net;
    op_call *call;
    int slot;
};

static void lane_ops(void *context, int lane)
{
    const struct share_out *work = context;
    for (int n = lane; n < work->net->graph.op_count; n += work->net->lanes) {
        work->call(work->net, n, lane, work->slot);
    }
}

// Ops dealt out to the lanes; no result depends on who does which.
static void for_each_op(struct nn_net *net, op_call *call, int slot)
{
    struct share_out work = {net, call, slot};
    if (net->lanes > 1) {
        kernel_lanes_run(net->lane_kernel, lane_ops, &work);
    } else {
        lane_ops(&work, 0);
    }
}

static void op_prepare(struct nn_net *net, int n, int lane, int slot)
{
    (void)slot;
    kernel_op_prepare(net->calls[n].op, lane, net->calls[n].params[net->current]);
}

void nn_net_weights_changed(struct nn_net *net)
{
    for_each_op(net, op_prepare, 0);
}

// What lanes summed up and nobody collected.
static void op_forget(struct nn_net *net, int n, int lane, int slot)
{
    const struct nn_op *op = &net->graph.ops[n];
    const struct kernel_sums parts = op_parts(net, n, slot);
    kernel_op_collect(net->calls[n].op, lane, parts, NULL);
    for (int p = parts.first; p < parts.first + parts.count; p++) {
        for (int i = 0; i < op->params && p > 0; i++) {
            const struct nn_tensor *tensor = &net->graph.tensors[op->param[i]];
            memset(nn_part_sums(net, p) + tensor->offset, 0, tensor->count * sizeof(float));
        }
    }
}

static void op_clear(struct nn_net *net, int n, int lane, int slot)
{
    (void)lane;
    (void)slot;
    const struct nn_op *op = &net->graph.ops[n];
    for (int i = 0; i < op->params; i++) {
        const struct nn_tensor *tensor = &net->graph.tensors[op->param[i]];
        memset(net->gradient_sums.data + tensor->offset, 0, tensor->count * sizeof(float));
    }
}

void nn_net_begin_step(struct nn_net *net)
{
    for (int slot = 0; slot < net->slots; slot++) {
        for_each_op(net, op_forget, slot);
    }
    for_each_op(net, op_clear, 0);
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
    for_each_op(net, nn_op_collect, i);
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
