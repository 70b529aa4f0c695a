// SPDX-License-Identifier: Apache-2.0
// Running a net: nodes in order forward, in reverse backward. Everything was planned; nothing is
// allocated here.
#include <string.h>

#include "nn/net_state.h"

struct run {
    enum kernel_phase phase;
    const float *images;
    const uint64_t *row_keys;
    int rows;
};

static void call_begin(struct nn_net *net, int n, const struct run *run,
                       enum nn_direction direction)
{
    struct nn_call *call = &net->calls[n];
    const struct nn_node *node = &net->graph.nodes[n];
    call->io.phase = run->phase;
    call->io.rows = run->rows;
    call->io.row_keys = run->row_keys;
    call->io.scratch = call->scratch[direction];
    for (int i = 0; i < node->inputs; i++) {
        if (node->x[i] == net->image) {
            call->x[i] = run->images;
        }
    }
}

static enum stn_status forward(struct nn_net *net, const struct run *run)
{
    for (int n = 0; n < net->graph.node_count; n++) {
        call_begin(net, n, run, NN_FORWARD);
        enum stn_status status = kernel_op_forward(net->calls[n].op, &net->calls[n].io);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

static enum stn_status backward(struct nn_net *net, const struct run *run)
{
    for (int n = net->graph.node_count - 1; n >= 0; n--) {
        if (!net->calls[n].io.dy) {
            continue; // nothing upstream learns
        }
        call_begin(net, n, run, NN_BACKWARD);
        enum stn_status status = kernel_op_backward(net->calls[n].op, &net->calls[n].io);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

static void loss(struct nn_net *net, const int32_t *labels, int rows, float smoothing,
                 float *dlogits, struct kernel_loss_totals *totals)
{
    kernel_loss_softmax(net->logits, labels, net->config.micro_batch, rows,
                        net->config.shape.classes, smoothing, dlogits, totals);
}

void nn_net_weights_changed(struct nn_net *net)
{
    for (int n = 0; n < net->graph.node_count; n++) {
        kernel_op_prepare(net->calls[n].op, net->calls[n].params);
    }
}

void nn_net_begin_step(struct nn_net *net)
{
    memset(net->gradient_sums.data, 0, net->gradient_sums.count * sizeof(float));
    memset(net->buffer_sums.data, 0, net->buffer_sums.count * sizeof(float));
}

enum stn_status nn_net_train(struct nn_net *net, const float *images, const int32_t *labels,
                             const uint64_t *row_keys, int rows, struct kernel_loss_totals *totals)
{
    struct run run = {KERNEL_TRAIN, images, row_keys, rows};
    enum stn_status status = forward(net, &run);
    if (status != STN_OK) {
        return status;
    }
    loss(net, labels, rows, net->config.label_smoothing, net->dlogits, totals);
    return backward(net, &run);
}

void nn_net_merge_statistics(struct nn_net *net, double count, double momentum)
{
    const float keep = (float)(1.0 - momentum), take = (float)(momentum / count);
    for (size_t i = 0; i < net->buffers.count; i++) {
        net->buffers.data[i] = keep * net->buffers.data[i] + take * net->buffer_sums.data[i];
    }
}

enum stn_status nn_net_eval(struct nn_net *net, const float *images, const int32_t *labels,
                            int rows, struct kernel_loss_totals *totals)
{
    struct run run = {KERNEL_EVAL, images, NULL, rows};
    enum stn_status status = forward(net, &run);
    if (status == STN_OK) {
        loss(net, labels, rows, 0, NULL, totals);
    }
    return status;
}

enum stn_status nn_net_logits(struct nn_net *net, const float *images, int rows,
                              const float **logits)
{
    struct run run = {KERNEL_EVAL, images, NULL, rows};
    *logits = net->logits;
    return forward(net, &run);
}
