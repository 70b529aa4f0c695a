// SPDX-License-Identifier: Apache-2.0
// From graph to net: which gradients are needed, the ops with their layouts, one block of memory,
// all pointers set.
#include "nn/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "nn/model.h"
#include "nn/net_state.h"
#include "nn/profile.h"

enum { UNKNOWN_CACHE_BYTES = 2 << 20, SHARED_CACHE_MOST = 32 << 20 };

// ---- which gradients are needed -----------------------------------------------------------------

static bool op_needs(const struct nn_op *op, const struct nn_gradient_need *need)
{
    if (op->params > 0) {
        return true;
    }
    for (int i = 0; i < op->inputs; i++) {
        if (need->value[op->x[i]]) {
            return true;
        }
    }
    return false;
}

static void gradient_need_find(const struct nn_net *net, struct nn_gradient_need *need)
{
    const struct nn_graph *g = &net->graph;
    for (int n = 0; n < g->op_count; n++) {
        const struct nn_op *op = &g->ops[n];
        for (int i = 0; i < op->inputs; i++) {
            need->last_consumer[op->x[i]] = n;
        }
        need->value[op->y] = !net->config.inference && op_needs(op, need);
    }
}

// The last consumer in forward order comes first going backwards: it writes, the others add.
enum kernel_dx nn_net_dx_mode(const struct nn_op *op, int n, int input,
                              const struct nn_gradient_need *need)
{
    nn_value v = op->x[input];
    if (!need->value[v]) {
        return KERNEL_DX_NONE;
    }
    for (int i = 0; i < input; i++) {
        if (op->x[i] == v) {
            return KERNEL_DX_ADD;
        }
    }
    return need->last_consumer[v] == n ? KERNEL_DX_WRITE : KERNEL_DX_ADD;
}

// ---- ops ----------------------------------------------------------------------------------------

static enum stn_status op_create(struct kernel *k, struct nn_op *op, const struct kernel_tensor *x,
                                 const enum kernel_dx *dx, int sums, struct kernel_op **out)
{
    switch (op->kind) {
    case NN_CONV:
        op->as.conv.x = x[0];
        op->as.conv.dx = dx[0];
        op->as.conv.sums = sums;
        return kernel_conv_create(k, &op->as.conv, out);
    case NN_BATCHNORM:
        op->as.batchnorm.x = x[0];
        memcpy(op->as.batchnorm.dx, dx, sizeof(op->as.batchnorm.dx));
        return kernel_batchnorm_create(k, &op->as.batchnorm, out);
    case NN_ACTIVATE:
        op->as.activate.x = x[0];
        op->as.activate.dx = dx[0];
        return kernel_activate_create(k, &op->as.activate, out);
    case NN_POOL:
        op->as.pool.x = x[0];
        op->as.pool.dx = dx[0];
        return kernel_pool_create(k, &op->as.pool, out);
    case NN_GLOBAL_POOL:
        op->as.global_pool.x = x[0];
        op->as.global_pool.dx = dx[0];
        return kernel_global_pool_create(k, &op->as.global_pool, out);
    case NN_FC:
        op->as.fc.x = x[0];
        op->as.fc.dx = dx[0];
        return kernel_fc_create(k, &op->as.fc, out);
    case NN_ADD:
        op->as.add.x = x[0];
        memcpy(op->as.add.dx, dx, sizeof(op->as.add.dx));
        return kernel_add_create(k, &op->as.add, out);
    case NN_CONCAT:
        memcpy(op->as.concat.x, x, (size_t)op->inputs * sizeof(*x));
        memcpy(op->as.concat.dx, dx, (size_t)op->inputs * sizeof(*dx));
        return kernel_concat_create(k, &op->as.concat, out);
    case NN_SHUFFLE:
        op->as.shuffle.x = x[0];
        op->as.shuffle.dx = dx[0];
        return kernel_shuffle_create(k, &op->as.shuffle, out);
    case NN_SLICE:
        op->as.slice.x = x[0];
        op->as.slice.dx = dx[0];
        return kernel_slice_create(k, &op->as.slice, out);
    case NN_DROPOUT:
        op->as.dropout.x = x[0];
        op->as.dropout.dx = dx[0];
        return kernel_dropout_create(k, &op->as.dropout, out);
    case NN_REORDER:
        op->as.reorder.x = x[0];
        op->as.reorder.dx = dx[0];
        return kernel_reorder_create(k, &op->as.reorder, out);
    }
    return stn_fail(STN_ERR_INTERNAL, "op kind %d has no kernel", (int)op->kind);
}

static enum stn_status ops_create(struct nn_net *net, const struct nn_gradient_need *need)
{
    struct nn_graph *g = &net->graph;
    net->tensors[net->image] = (struct kernel_tensor){nn_shape(g, net->image), KERNEL_NCHW};
    for (int n = 0; n < g->op_count; n++) {
        struct nn_op *op = &g->ops[n];
        struct nn_call *call = &net->calls[n];
        struct kernel_tensor x[KERNEL_INPUTS_MAX] = {0};
        enum kernel_dx dx[KERNEL_INPUTS_MAX] = {KERNEL_DX_NONE};
        for (int i = 0; i < op->inputs; i++) {
            x[i] = net->tensors[op->x[i]];
            x[i].shape.n = call->strip;
            dx[i] = nn_net_dx_mode(op, n, i, need);
            if (x[i].layout != x[0].layout) {
                return stn_fail(STN_ERR_INTERNAL, "%s: inputs of different layouts", op->name);
            }
        }
        struct kernel *kernel = call->together ? net->kernel : net->lane_kernel;
        int sums = call->together ? 1 : net->abreast * net->lanes;
        enum stn_status status = op_create(kernel, op, x, dx, sums, &call->op);
        if (status != STN_OK) {
            return status;
        }
        net->tensors[op->y] = kernel_op_traits(call->op)->y;
    }
    return STN_OK;
}

// ---- segments and program -----------------------------------------------------------------------

// What the inputs and outputs of one op may occupy for the strips under way: the cores' own
// caches and a part of the one they share with all else that the segment touches, and with other
// programs; the same part for every lane, as long as that leaves half. Virtual machines overstate
// it, hence the limit; where nothing is known, what a small machine has.
static size_t cache_bytes(const struct nn_net *net)
{
    if (net->config.cache_bytes > 0) {
        return net->config.cache_bytes;
    }
    long own = sysconf(_SC_LEVEL2_CACHE_SIZE), shared = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t bytes = (size_t)(own > 0 ? own : 0) * (size_t)kernel_threads(net->kernel);
    if (shared > 0) {
        size_t most = (size_t)(shared < SHARED_CACHE_MOST ? shared : SHARED_CACHE_MOST);
        bytes += net->lanes < 4 ? (size_t)net->lanes * most / 8 : most / 2;
    }
    return bytes > 0 ? bytes : UNKNOWN_CACHE_BYTES;
}

static enum stn_status segments_create(struct nn_net *net)
{
    int ops = net->graph.op_count;
    net->segments = calloc(2 * (size_t)ops + 1, sizeof(*net->segments));
    if (!net->segments) {
        return stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
    }
    net->segment_count =
        nn_segments_cut(&net->graph, (struct nn_cut){net->lanes, cache_bytes(net)}, net->segments);
    for (int s = 0; s < net->segment_count; s++) {
        const struct nn_segment *segment = &net->segments[s];
        for (int n = segment->first; n < segment->end; n++) {
            net->calls[n].strip = segment->strip;
            net->calls[n].together = segment->together;
        }
        if (segment->right >= 0) {
            net->calls[segment->right].strip = net->config.micro_batch;
            net->calls[segment->right].together = net->lanes == 1;
        }
    }
    return STN_OK;
}

// Lanes pay unless too many of them would have less to do than the others.
static void lanes_choose(struct nn_net *net)
{
    struct kernel *kernel = kernel_lanes(net->kernel);
    int lanes = kernel ? kernel_lane_count(kernel) : 1, samples = net->config.micro_batch;
    bool pays = lanes > 1 && 4 * samples >= 3 * lanes * nn_lane_share(samples, lanes);
    net->lane_kernel = pays ? kernel : NULL;
    net->lanes = pays ? lanes : 1;
}

// Multiply-accumulates of a micro-batch between two meetings of the lanes, forward, in each lane.
static double work_between_meetings(const struct nn_net *net)
{
    const struct nn_graph *g = &net->graph;
    double macs = 0;
    int meetings = 0;
    for (int n = 0; n < g->op_count; n++) {
        const struct nn_op *op = &g->ops[n];
        meetings += nn_op_gathers(op);
        if (op->kind == NN_CONV) {
            const struct kernel_conv *conv = &op->as.conv;
            struct kernel_shape x = nn_shape(g, op->x[0]), y = nn_shape(g, op->y);
            int depth = x.c / conv->groups;
            macs +=
                (double)y.n * y.c * y.h * y.w * depth * conv->window.size[0] * conv->window.size[1];
        }
    }
    return meetings > 0 ? macs / meetings / net->lanes : INFINITY;
}

// Whether each lane should take a micro-batch of its own. Threads that meet every few milliseconds
// lose a tenth or more to waiting; the price is the memory of one more micro-batch for every lane.
// What is run together is shared by all.
static void abreast_choose(struct nn_net *net)
{
    const double enough = 1e8; // some 6 ms at 50 GFLOP/s, forward or backward: docs/decisions/0021
    bool pays = net->lanes > 1 && net->lanes <= NN_ABREAST_MAX && !net->config.inference &&
                !net->config.one_at_a_time && work_between_meetings(net) < enough;
    for (int s = 0; s < net->segment_count; s++) {
        pays = pays && !net->segments[s].together;
    }
    net->abreast = pays ? net->lanes : 1;
}

// The output of a gathering op need not be kept when everybody who reads it, forward or backward,
// stands in the segment that begins with the op: there it is computed again from the op's
// input, which is kept anyway.
static bool is_made_again(const struct nn_net *net, const struct nn_segment *segment)
{
    const struct nn_graph *g = &net->graph;
    const struct nn_op *op = &g->ops[segment->left];
    bool read = false;
    if (op->inputs > 1 || op->y == g->logits ||
        (kernel_op_traits(net->calls[segment->left].op)->backward_reads & KERNEL_READS_Y)) {
        return false;
    }
    for (int n = 0; n < g->op_count; n++) {
        for (int i = 0; i < g->ops[n].inputs; i++) {
            if (g->ops[n].x[i] != op->y) {
                continue;
            }
            if (n < segment->first || n >= segment->end) {
                return false;
            }
            read = read || (kernel_op_traits(net->calls[n].op)->backward_reads & KERNEL_READS_X);
        }
    }
    return read;
}

static enum stn_status program_create(struct nn_net *net, const struct nn_gradient_need *need)
{
    size_t ops = (size_t)net->graph.op_count;
    bool *again = calloc(ops, sizeof(bool)), *learns = calloc(ops, sizeof(bool));
    enum stn_status status = STN_ERR_NO_MEMORY;
    if (!again || !learns) {
        status = stn_fail(status, "out of memory while planning the network");
        goto out_free;
    }
    for (int s = 0; s < net->segment_count; s++) {
        if (net->segments[s].left >= 0) {
            again[net->segments[s].left] = is_made_again(net, &net->segments[s]);
        }
    }
    for (size_t n = 0; n < ops; n++) {
        learns[n] = need->value[net->graph.ops[n].y];
    }
    status = nn_program_create(&net->graph, net->segments, net->segment_count, again,
                               net->config.inference ? NULL : learns, &net->program);
out_free:
    free(again);
    free(learns);
    return status;
}

// ---- create, destroy ----------------------------------------------------------------------------

static enum stn_status config_check(const struct nn_net_config *c, struct stn_model_shape *shape)
{
    *shape = c->shape;
    shape->image_size = shape->image_size ? shape->image_size : c->model->default_image_size;
    if (shape->image_size < STN_IMAGE_SIZE_MIN || shape->image_size > STN_IMAGE_SIZE_MAX) {
        return stn_fail(STN_ERR_INVALID, "image size %d: networks take %d to %d pixels",
                        shape->image_size, STN_IMAGE_SIZE_MIN, STN_IMAGE_SIZE_MAX);
    }
    if (shape->channels != 1 && shape->channels != 3) {
        return stn_fail(STN_ERR_INVALID, "%d channels: networks take 1 or 3", shape->channels);
    }
    if (shape->classes < 1) {
        return stn_fail(STN_ERR_INVALID, "%d classes: must be at least 1", shape->classes);
    }
    if (c->micro_batch < 1) {
        return stn_fail(STN_ERR_INVALID, "micro-batch %d: must be at least 1", c->micro_batch);
    }
    return STN_OK;
}

static enum stn_status graph_create(struct nn_net *net)
{
    struct nn_graph *g = &net->graph;
    const struct nn_net_config *c = &net->config;
    nn_graph_init(g, c->micro_batch, c->no_dropout);
    net->image = nn_input(g, c->shape.channels, c->shape.image_size);
    net->image_floats =
        kernel_tensor_row_floats((struct kernel_tensor){nn_shape(g, net->image), KERNEL_NCHW});
    nn_output(g, nn_model_of(c->model)->build(g, net->image, c->shape.classes));
    return nn_graph_status(g);
}

static enum stn_status net_plan(struct nn_net *net)
{
    size_t values = (size_t)net->graph.value_count;
    struct nn_gradient_need need = {.value = calloc(values, sizeof(bool)),
                                    .last_consumer = calloc(values, sizeof(int))};
    net->calls = calloc((size_t)net->graph.op_count, sizeof(*net->calls));
    net->tensors = calloc(values, sizeof(*net->tensors));
    net->watch.passed = calloc((size_t)net->lanes, sizeof(*net->watch.passed));
    enum stn_status status = STN_OK;
    if (!need.value || !need.last_consumer || !net->calls || !net->tensors || !net->watch.passed) {
        status = stn_fail(STN_ERR_NO_MEMORY, "out of memory while planning the network");
        goto out_need;
    }
    gradient_need_find(net, &need);
    if ((status = segments_create(net)) != STN_OK) {
        goto out_need;
    }
    abreast_choose(net);
    if ((status = ops_create(net, &need)) == STN_OK &&
        (status = program_create(net, &need)) == STN_OK) {
        status = nn_net_memory_create(net, &need);
    }
out_need:
    free(need.value);
    free(need.last_consumer);
    return status;
}

enum stn_status nn_net_create(struct kernel *kernel, const struct nn_net_config *config,
                              struct nn_net **out)
{
    struct stn_model_shape shape;
    enum stn_status status = config_check(config, &shape);
    if (status != STN_OK) {
        return status;
    }
    struct nn_net *net = calloc(1, sizeof(*net));
    if (!net) {
        return stn_fail(STN_ERR_NO_MEMORY, "out of memory while building the network");
    }
    net->config = *config;
    net->config.shape = shape;
    net->kernel = kernel;
    lanes_choose(net);
    if ((status = graph_create(net)) != STN_OK || (status = net_plan(net)) != STN_OK) {
        nn_net_destroy(net);
        return status;
    }
    *out = net;
    return STN_OK;
}

void nn_net_destroy(struct nn_net *net)
{
    if (!net) {
        return;
    }
    for (int n = 0; net->calls && n < net->graph.op_count; n++) {
        kernel_op_destroy(net->calls[n].op);
    }
    nn_net_memory_destroy(net);
    nn_program_destroy(&net->program);
    nn_profile_destroy(net->profile);
    free(net->segments);
    free(net->calls);
    free(net->tensors);
    free(net->watch.passed);
    nn_graph_fini(&net->graph);
    free(net);
}

// ---- what it tells ------------------------------------------------------------------------------

const struct nn_net_config *nn_net_config(const struct nn_net *net)
{
    return &net->config;
}

struct stn_model_cost nn_net_cost(const struct nn_net *net)
{
    int64_t macs = 0;
    for (int n = 0; n < net->graph.op_count; n++) {
        macs += kernel_op_traits(net->calls[n].op)->macs / net->calls[n].strip;
    }
    return (struct stn_model_cost){.parameters = net->parameter_elements,
                                   .macs = macs,
                                   .activation_bytes = net->activation_bytes,
                                   .micro_batch = net->config.micro_batch};
}

size_t nn_net_bytes(const struct nn_net *net)
{
    size_t arrays = net->config.inference ? 1 : NN_COPIES + 1, owned = 0; // copies and sums
    for (int n = 0; n < net->graph.op_count; n++) {
        const struct kernel_op_traits *traits = kernel_op_traits(net->calls[n].op);
        owned += traits->packed_bytes + (net->config.inference ? 0 : traits->held_bytes);
    }
    return net->activation_bytes + owned +
           (arrays * (nn_net_parameter_count(net) + nn_net_buffer_count(net)) +
            net->part_sums.count + net->slot_statistics.count) *
               sizeof(float);
}

int nn_net_tensor_count(const struct nn_net *net)
{
    return net->graph.tensor_count;
}

const struct nn_tensor *nn_net_tensor(const struct nn_net *net, int index)
{
    return &net->graph.tensors[index];
}

float *nn_net_parameters(struct nn_net *net)
{
    return net->parameters[net->current].data;
}

float *nn_net_next_parameters(struct nn_net *net)
{
    return net->parameters[1 - net->current].data;
}

float *nn_net_next_buffers(struct nn_net *net)
{
    return net->buffers[1 - net->current].data;
}

void nn_net_flip(struct nn_net *net)
{
    net->current = 1 - net->current;
    nn_net_weights_changed(net);
}

float *nn_net_gradient_sums(struct nn_net *net)
{
    nn_net_collect_gradients(net);
    return net->gradient_sums.data;
}

float *nn_net_buffers(struct nn_net *net)
{
    return net->buffers[net->current].data;
}

float *nn_net_buffer_sums(struct nn_net *net)
{
    return net->buffer_sums.data;
}

size_t nn_net_parameter_count(const struct nn_net *net)
{
    return net->parameters[0].count;
}

size_t nn_net_buffer_count(const struct nn_net *net)
{
    return net->buffers[0].count;
}

void nn_net_init(struct nn_net *net, uint64_t seed)
{
    const struct nn_graph *g = &net->graph;
    for (int t = 0; t < g->tensor_count; t++) {
        const struct nn_tensor *tensor = &g->tensors[t];
        float *data =
            (tensor->kind == NN_PARAMETER ? nn_net_parameters(net) : nn_net_buffers(net)) +
            tensor->offset;
        struct base_random random = base_random_from(base_key(seed, (uint64_t)t));
        for (size_t i = 0; i < tensor->count; i++) {
            data[i] = g->inits[t].kind == NN_INIT_CONSTANT
                          ? g->inits[t].value
                          : g->inits[t].value * (float)base_random_normal(&random);
        }
    }
    nn_net_weights_changed(net);
}
