// SPDX-License-Identifier: Apache-2.0
// Building graphs: shape inference, parameter bookkeeping, nothing else.
#include "nn/graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"

void nn_graph_init(struct nn_graph *g, int micro_batch, bool no_dropout)
{
    *g = (struct nn_graph){.micro_batch = micro_batch,
                           .batchnorm_epsilon = 1e-5F,
                           .no_dropout = no_dropout,
                           .logits = -1};
    base_arena_init(&g->arena);
}

void nn_graph_fini(struct nn_graph *g)
{
    free(g->ops);
    free(g->values);
    free(g->tensors);
    free(g->inits);
    base_arena_fini(&g->arena);
}

enum stn_status nn_graph_status(const struct nn_graph *g)
{
    return g->status;
}

static bool failed(const struct nn_graph *g)
{
    return g->status != STN_OK;
}

static void fail_memory(struct nn_graph *g)
{
    g->status = stn_fail(STN_ERR_NO_MEMORY, "out of memory while building the network");
}

// Makes room for one more element of an array that doubles.
static bool grow(struct nn_graph *g, void **array, int count, int *capacity, size_t element)
{
    if (count < *capacity) {
        return true;
    }
    int larger = *capacity ? 2 * *capacity : 64;
    void *moved = reallocarray(*array, (size_t)larger, element);
    if (!moved) {
        fail_memory(g);
        return false;
    }
    *array = moved;
    *capacity = larger;
    return true;
}

const char *nn_name(struct nn_graph *g, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const char *copy = failed(g) ? NULL : base_arena_strdup(&g->arena, text);
    if (!copy && !failed(g)) {
        fail_memory(g);
    }
    return copy ? copy : "";
}

struct kernel_shape nn_shape(const struct nn_graph *g, nn_value v)
{
    if (failed(g)) {
        return (struct kernel_shape){1, 1, 1, 1};
    }
    return g->values[v].shape;
}

static nn_value value_add(struct nn_graph *g, struct kernel_shape shape, int producer, bool plain)
{
    void *values = g->values;
    if (failed(g) || !grow(g, &values, g->value_count, &g->value_capacity, sizeof(*g->values))) {
        return -1;
    }
    g->values = values;
    g->values[g->value_count] = (struct nn_value_info){shape, producer, plain};
    return g->value_count++;
}

static int tensor_add(struct nn_graph *g, struct nn_tensor tensor, struct nn_init init)
{
    int capacity = g->tensor_capacity;
    void *tensors = g->tensors, *inits = g->inits;
    if (failed(g) || !grow(g, &tensors, g->tensor_count, &capacity, sizeof(*g->tensors))) {
        return -1;
    }
    g->tensors = tensors;
    if (!grow(g, &inits, g->tensor_count, &g->tensor_capacity, sizeof(*g->inits))) {
        return -1;
    }
    g->inits = inits;
    tensor.count = 1;
    for (int d = 0; d < tensor.rank; d++) {
        tensor.count *= (size_t)tensor.dims[d];
    }
    g->tensors[g->tensor_count] = tensor;
    g->inits[g->tensor_count] = init;
    return g->tensor_count++;
}

static void param_add(struct nn_graph *g, struct nn_op *op, const char *suffix,
                      struct nn_tensor tensor, struct nn_init init)
{
    tensor.kind = NN_PARAMETER;
    tensor.name = nn_name(g, "%s.%s", op->name, suffix);
    op->param[op->params++] = tensor_add(g, tensor, init);
}

static void vector_add(struct nn_graph *g, struct nn_op *op, const char *suffix, int count,
                       float value)
{
    param_add(g, op, suffix, (struct nn_tensor){.rank = 1, .dims = {count}},
              (struct nn_init){NN_INIT_CONSTANT, value});
}

static void buffer_add(struct nn_graph *g, struct nn_op *op, const char *suffix, int count,
                       float value)
{
    struct nn_tensor tensor = {.kind = NN_BUFFER, .rank = 1, .dims = {count}};
    tensor.name = nn_name(g, "%s.%s", op->name, suffix);
    op->buffer[op->buffers++] = tensor_add(g, tensor, (struct nn_init){NN_INIT_CONSTANT, value});
}

static struct kernel_tensor untyped(struct kernel_shape shape)
{
    return (struct kernel_tensor){shape, KERNEL_NCHW};
}

// Takes over the op, gives it its output value.
static nn_value op_add(struct nn_graph *g, struct nn_op op, struct kernel_shape y, bool plain)
{
    void *ops = g->ops;
    if (failed(g) || !grow(g, &ops, g->op_count, &g->op_capacity, sizeof(*g->ops))) {
        return -1;
    }
    g->ops = ops;
    op.y = value_add(g, y, g->op_count, plain);
    g->ops[g->op_count++] = op;
    return op.y;
}

static struct nn_op op_on(enum nn_op_kind kind, const char *name, nn_value x)
{
    return (struct nn_op){.kind = kind, .name = name, .inputs = 1, .x = {x}};
}

// The output of a window over x, or a failed graph when it does not fit.
static struct kernel_shape window_apply(struct nn_graph *g, const char *what, struct kernel_shape x,
                                        struct kernel_window w, int channels)
{
    int in[2] = {x.h, x.w}, out[2];
    for (int d = 0; d < 2; d++) {
        int room = in[d] + w.pad_before[d] + w.pad_after[d] - w.size[d];
        if (room < 0) {
            g->status = stn_fail(STN_ERR_INVALID,
                                 "%s: its %d×%d window does not fit a map of %d×%d; "
                                 "use a larger " BASE_SETTING "image-size",
                                 what, w.size[0], w.size[1], x.h, x.w);
            return x;
        }
        out[d] = room / w.stride[d] + 1;
    }
    return (struct kernel_shape){x.n, channels, out[0], out[1]};
}

nn_value nn_input(struct nn_graph *g, int channels, int size)
{
    return value_add(g, (struct kernel_shape){g->micro_batch, channels, size, size}, -1, true);
}

void nn_output(struct nn_graph *g, nn_value logits)
{
    g->logits = logits;
}

static struct kernel_window conv_window(const struct nn_conv *c)
{
    int stride = c->stride ? c->stride : 1;
    struct kernel_window w = {
        .size = {c->kernel_h ? c->kernel_h : c->kernel, c->kernel_w ? c->kernel_w : c->kernel},
        .stride = {stride, stride},
        .pad_before = {c->pad_h ? c->pad_h : c->pad, c->pad_w ? c->pad_w : c->pad},
    };
    memcpy(w.pad_after, w.pad_before, sizeof(w.pad_after));
    return w;
}

// He's rule. A convolution with a bias stands without batch norm: there fan-in keeps the
// activations' variance; elsewhere fan-out keeps the gradients'.
static float he_std(const struct kernel_conv *c)
{
    int channels = c->bias ? c->x.shape.c : c->out_channels;
    double fan = (double)channels / c->groups * c->window.size[0] * c->window.size[1];
    return (float)sqrt(2.0 / fan);
}

nn_value nn_conv(struct nn_graph *g, const char *name, nn_value x, struct nn_conv conv)
{
    if (failed(g)) {
        return -1;
    }
    struct kernel_shape in = nn_shape(g, x);
    struct nn_op op = op_on(NN_CONV, name, x);
    struct kernel_window w = conv_window(&conv);
    int groups = conv.groups ? conv.groups : 1;
    op.as.conv = (struct kernel_conv){.x = untyped(in),
                                      .out_channels = conv.out,
                                      .groups = groups,
                                      .window = w,
                                      .bias = conv.bias,
                                      .activation = conv.activation};
    struct kernel_shape y = window_apply(g, name, in, w, conv.out);
    float std = conv.init_std > 0 ? conv.init_std : he_std(&op.as.conv);
    param_add(g, &op, "weight",
              (struct nn_tensor){.rank = 4,
                                 .dims = {conv.out, in.c / groups, w.size[0], w.size[1]},
                                 .decay = true},
              (struct nn_init){NN_INIT_NORMAL, std});
    if (conv.bias) {
        vector_add(g, &op, "bias", conv.out, 0);
    }
    return op_add(g, op, y, false);
}

static nn_value batchnorm_add(struct nn_graph *g, struct nn_op op, struct kernel_shape shape)
{
    vector_add(g, &op, "weight", shape.c, 1);
    vector_add(g, &op, "bias", shape.c, 0);
    buffer_add(g, &op, "running_mean", shape.c, 0);
    buffer_add(g, &op, "running_var", shape.c, 1);
    return op_add(g, op, shape, false);
}

void nn_set_batchnorm_epsilon(struct nn_graph *g, float epsilon)
{
    g->batchnorm_epsilon = epsilon;
}

nn_value nn_batchnorm(struct nn_graph *g, const char *name, nn_value x,
                      enum kernel_activation activation)
{
    if (failed(g)) {
        return -1;
    }
    struct nn_op op = op_on(NN_BATCHNORM, name, x);
    op.as.batchnorm = (struct kernel_batchnorm){
        .x = untyped(nn_shape(g, x)), .epsilon = g->batchnorm_epsilon, .activation = activation};
    return batchnorm_add(g, op, nn_shape(g, x));
}

nn_value nn_batchnorm_add(struct nn_graph *g, const char *name, nn_value x, nn_value residual,
                          enum kernel_activation activation)
{
    if (failed(g)) {
        return -1;
    }
    struct nn_op op = op_on(NN_BATCHNORM, name, x);
    op.inputs = 2;
    op.x[1] = residual;
    op.as.batchnorm = (struct kernel_batchnorm){.x = untyped(nn_shape(g, x)),
                                                .epsilon = g->batchnorm_epsilon,
                                                .residual = true,
                                                .activation = activation};
    return batchnorm_add(g, op, nn_shape(g, x));
}

nn_value nn_activate(struct nn_graph *g, nn_value x, enum kernel_activation activation)
{
    if (failed(g)) {
        return -1;
    }
    struct nn_op op = op_on(NN_ACTIVATE, "activation", x);
    op.as.activate =
        (struct kernel_activate){.x = untyped(nn_shape(g, x)), .activation = activation};
    return op_add(g, op, nn_shape(g, x), g->values[x].plain);
}

// As PyTorch: with `ceil` the last window may hang over, but must begin inside the map or its left
// padding.
static int overhang(int in, struct nn_pool p, int stride)
{
    int room = in + 2 * p.pad - p.size;
    int out = (room + stride - 1) / stride + 1;
    if ((out - 1) * stride >= in + p.pad) {
        out--;
    }
    int needed = (out - 1) * stride - room;
    return needed > 0 ? needed : 0;
}

static nn_value pool_add(struct nn_graph *g, nn_value x, struct nn_pool p,
                         enum kernel_pool_kind kind)
{
    if (failed(g)) {
        return -1;
    }
    struct kernel_shape in = nn_shape(g, x);
    int stride = p.stride ? p.stride : p.size;
    struct kernel_window w = {.size = {p.size, p.size},
                              .stride = {stride, stride},
                              .pad_before = {p.pad - p.shift, p.pad - p.shift},
                              .pad_after = {p.pad + p.shift, p.pad + p.shift}};
    if (p.ceil) {
        w.pad_after[0] += overhang(in.h, p, stride);
        w.pad_after[1] += overhang(in.w, p, stride);
    }
    struct nn_op op = op_on(NN_POOL, "pool", x);
    op.as.pool = (struct kernel_pool){
        .x = untyped(in), .kind = kind, .window = w, .count_padding = p.count_padding};
    struct kernel_shape y = window_apply(g, "pooling", in, w, in.c);
    return op_add(g, op, y, g->values[x].plain);
}

nn_value nn_max_pool(struct nn_graph *g, nn_value x, struct nn_pool pool)
{
    return pool_add(g, x, pool, KERNEL_POOL_MAX);
}

nn_value nn_average_pool(struct nn_graph *g, nn_value x, struct nn_pool pool)
{
    return pool_add(g, x, pool, KERNEL_POOL_AVERAGE);
}

nn_value nn_adaptive_pool(struct nn_graph *g, nn_value x, int size)
{
    struct kernel_shape in = nn_shape(g, x);
    if (failed(g) || (in.h == size && in.w == size)) {
        return x;
    }
    struct nn_op op = op_on(NN_POOL, "pool", x);
    op.as.pool =
        (struct kernel_pool){.x = untyped(in), .kind = KERNEL_POOL_ADAPTIVE, .out = {size, size}};
    return op_add(g, op, (struct kernel_shape){in.n, in.c, size, size}, g->values[x].plain);
}

nn_value nn_global_pool(struct nn_graph *g, nn_value x)
{
    if (failed(g)) {
        return -1;
    }
    struct kernel_shape in = nn_shape(g, x);
    struct nn_op op = op_on(NN_GLOBAL_POOL, "global pool", x);
    op.as.global_pool = (struct kernel_global_pool){.x = untyped(in)};
    return op_add(g, op, (struct kernel_shape){in.n, in.c, 1, 1}, true);
}

// fc reads features in NCHW order; a value that may be blocked is reordered first.
static nn_value plain(struct nn_graph *g, nn_value x)
{
    if (failed(g) || g->values[x].plain) {
        return x;
    }
    struct nn_op op = op_on(NN_REORDER, "flatten", x);
    op.as.reorder = (struct kernel_reorder){.x = untyped(nn_shape(g, x)), .y_layout = KERNEL_NCHW};
    return op_add(g, op, nn_shape(g, x), true);
}

nn_value nn_fc(struct nn_graph *g, const char *name, nn_value x, int out,
               enum kernel_activation activation)
{
    x = plain(g, x);
    if (failed(g)) {
        return -1;
    }
    struct kernel_shape in = nn_shape(g, x);
    int features = in.c * in.h * in.w;
    struct nn_op op = op_on(NN_FC, name, x);
    op.as.fc = (struct kernel_fc){
        .x = untyped(in), .out_features = out, .bias = true, .activation = activation};
    param_add(g, &op, "weight",
              (struct nn_tensor){.rank = 2, .dims = {out, features}, .decay = true},
              (struct nn_init){NN_INIT_NORMAL,
                               activation == KERNEL_LINEAR ? 0.01F : (float)sqrt(2.0 / features)});
    vector_add(g, &op, "bias", out, 0);
    return op_add(g, op, (struct kernel_shape){in.n, out, 1, 1}, true);
}

nn_value nn_add(struct nn_graph *g, nn_value a, nn_value b, enum kernel_activation activation)
{
    if (failed(g)) {
        return -1;
    }
    struct nn_op op = op_on(NN_ADD, "add", a);
    op.inputs = 2;
    op.x[1] = b;
    op.as.add = (struct kernel_add){.x = untyped(nn_shape(g, a)), .activation = activation};
    return op_add(g, op, nn_shape(g, a), g->values[a].plain && g->values[b].plain);
}

nn_value nn_concat(struct nn_graph *g, int inputs, const nn_value *x)
{
    if (failed(g)) {
        return -1;
    }
    struct nn_op op = op_on(NN_CONCAT, "concat", x[0]);
    struct kernel_shape y = nn_shape(g, x[0]);
    op.inputs = op.as.concat.inputs = inputs;
    y.c = 0;
    for (int i = 0; i < inputs; i++) {
        op.x[i] = x[i];
        op.as.concat.x[i] = untyped(nn_shape(g, x[i]));
        y.c += nn_shape(g, x[i]).c;
    }
    return op_add(g, op, y, false);
}

nn_value nn_shuffle(struct nn_graph *g, nn_value x, int groups)
{
    if (failed(g)) {
        return -1;
    }
    struct nn_op op = op_on(NN_SHUFFLE, "shuffle", x);
    op.as.shuffle = (struct kernel_shuffle){.x = untyped(nn_shape(g, x)), .groups = groups};
    return op_add(g, op, nn_shape(g, x), g->values[x].plain);
}

nn_value nn_slice(struct nn_graph *g, nn_value x, int first, int count)
{
    if (failed(g)) {
        return -1;
    }
    struct nn_op op = op_on(NN_SLICE, "slice", x);
    struct kernel_shape y = nn_shape(g, x);
    op.as.slice = (struct kernel_slice){.x = untyped(y), .first = first, .count = count};
    y.c = count;
    return op_add(g, op, y, g->values[x].plain);
}

nn_value nn_dropout(struct nn_graph *g, nn_value x, float rate)
{
    if (failed(g) || g->no_dropout || rate <= 0) {
        return x;
    }
    struct nn_op op = op_on(NN_DROPOUT, "dropout", x);
    op.as.dropout = (struct kernel_dropout){
        .x = untyped(nn_shape(g, x)), .rate = rate, .salt = (uint64_t)g->op_count};
    return op_add(g, op, nn_shape(g, x), g->values[x].plain);
}
