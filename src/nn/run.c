// SPDX-License-Identifier: Apache-2.0
// Running a net: nodes in order forward, in reverse backward. Everything was planned; nothing is
// allocated here.
#include <string.h>

#include "base/clock.h"
#include "nn/net_state.h"
#include "nn/profile.h"

struct run {
    enum kernel_phase phase;
    const float *images;
    const uint64_t *row_keys;
    int rows; // real samples in the micro-batch
};

static float *row_at(struct nn_rows rows, int sample)
{
    return (float *)(void *)(rows.base + (size_t)sample * rows.row_bytes);
}

// Points the call at one strip.
static const struct kernel_io *call_begin(struct nn_net *net, const struct nn_moment *moment,
                                          const struct run *run, int strip, int samples)
{
    int n = moment->node;
    enum nn_direction direction =
        moment->act < NN_ACT_LOSS && moment->act != NN_ACT_AGAIN ? NN_FORWARD : NN_BACKWARD;
    struct nn_call *call = &net->calls[n];
    const struct nn_node *node = &net->graph.nodes[n];
    int first = strip * samples, left = run->rows - first;
    for (int i = 0; i < node->inputs; i++) {
        call->x_now[i] = node->x[i] == net->image ? run->images + (size_t)first * net->image_floats
                                                  : row_at(call->x[direction][i], first);
        call->dx_now[i] = call->dx[i].base ? row_at(call->dx[i], first) : NULL;
    }
    struct kernel_io *io = &call->io;
    io->phase = run->phase;
    io->samples = samples;
    io->rows = left < 0 ? 0 : left < samples ? left : samples;
    io->strip = strip;
    io->strips = net->config.micro_batch / samples;
    io->row_keys = run->row_keys ? run->row_keys + first : NULL;
    io->y = row_at(call->y[direction], first);
    io->dy = call->dy.base ? row_at(call->dy, first) : NULL;
    io->saved = call->saved + (size_t)strip * call->saved_strip_bytes;
    io->scratch = call->scratch[moment->act];
    return io;
}

// Whether the moment does the next one's work too.
static bool is_joined(const struct nn_moment *moment, const struct run *run)
{
    return moment->joined && run->phase == KERNEL_TRAIN;
}

static enum stn_status moment_call(struct nn_net *net, const struct nn_moment *moment,
                                   const struct run *run, int strip, int samples)
{
    struct kernel_op *op = net->calls[moment->node].op;
    const struct kernel_io *io = call_begin(net, moment, run, strip, samples);
    if (is_joined(moment, run)) {
        struct kernel_op *norm = net->calls[moment[1].node].op;
        const struct kernel_io *norm_io = call_begin(net, moment + 1, run, strip, samples);
        return moment->act == NN_ACT_FORWARD ? kernel_op_forward_gathered(op, io, norm, norm_io)
                                             : kernel_op_backward_gathered(op, io, norm, norm_io);
    }
    switch (moment->act) {
    case NN_ACT_FORWARD:
    case NN_ACT_AGAIN: return kernel_op_forward(op, io);
    case NN_ACT_BACKWARD: return kernel_op_backward(op, io);
    case NN_ACT_BACKWARD_GATHER: kernel_op_backward_gather(op, io); break;
    case NN_ACT_FORWARD_GATHER:
        if (run->phase == KERNEL_TRAIN) {
            kernel_op_forward_gather(op, io);
        }
        break;
    case NN_ACT_LOSS:
    case NN_ACTS: break;
    }
    return STN_OK;
}

static enum stn_status moment_run(struct nn_net *net, const struct nn_moment *moment,
                                  const struct run *run, int strip, int samples)
{
    if (moment->act == NN_ACT_LOSS) {
        return STN_OK; // between the halves, by whoever runs them
    }
    if (!net->profile || run->phase != KERNEL_TRAIN) {
        return moment_call(net, moment, run, strip, samples);
    }
    int64_t begin = base_clock_ns();
    enum stn_status status = moment_call(net, moment, run, strip, samples);
    nn_profile_add(net->profile, moment, strip, begin, base_clock_ns());
    return status;
}

// Parameters lie in the order of their nodes, and the last strip goes backwards through them: what lies
// from node n's first parameter on is done once node n is. The nodes of the graph's beginning may
// have none.
static void tell_final(const struct nn_net *net, const struct nn_moment *moment)
{
    const struct nn_call *call = moment->node >= 0 ? &net->calls[moment->node] : NULL;
    const float *first = call ? call->param_grads[0] : NULL;
    if (moment->act == NN_ACT_BACKWARD && first) {
        kernel_op_collect(call->op, call->param_grads);
        net->watch.final(net->watch.context, (size_t)(first - net->gradient_sums.data));
    }
}

// Strip after strip through the moments of a block. Strips without a real sample go too: a block with
// longer strips may read what they leave, and zero times whatever lay there before might not be zero.
static enum stn_status block_run(struct nn_net *net, const struct nn_block *block,
                                 const struct run *run)
{
    int strips = net->config.micro_batch / block->strip;
    for (int strip = 0; strip < strips; strip++) {
        for (int m = block->first; m < block->end; m++) {
            const struct nn_moment *moment = &net->program.moments[m];
            enum stn_status status = moment_run(net, moment, run, strip, block->strip);
            if (status != STN_OK) {
                return status;
            }
            if (net->watch.final && strip == strips - 1) {
                tell_final(net, moment);
            }
            m += is_joined(moment, run);
        }
    }
    return STN_OK;
}

static enum stn_status blocks_run(struct nn_net *net, int first, int end, const struct run *run)
{
    for (int b = first; b < end; b++) {
        enum stn_status status = block_run(net, &net->program.blocks[b], run);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

static enum stn_status forward(struct nn_net *net, const struct run *run)
{
    return blocks_run(net, 0, net->program.backward_block, run);
}

static enum stn_status backward(struct nn_net *net, const struct run *run)
{
    return blocks_run(net, net->program.backward_block, net->program.block_count, run);
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
    for (int n = 0; n < net->graph.node_count; n++) {
        kernel_op_collect(net->calls[n].op, NULL);
    }
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
    if (net->profile) {
        net->profile->micro_batches++;
    }
    status = backward(net, &run);
    if (status == STN_OK && net->watch.final) {
        net->watch.final(net->watch.context, 0);
    }
    return status;
}

void nn_net_watch_gradients(struct nn_net *net, nn_gradients_final *final, void *context)
{
    net->watch.final = final;
    net->watch.context = context;
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
