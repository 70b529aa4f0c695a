// SPDX-License-Identifier: Apache-2.0
// A network as a graph, built by a small C function: each call adds one op and returns the value it
// yields. The graph knows shapes and parameters; memory, layouts and kernels come later (net.h).
//
// A call on a failed graph does nothing, so a model is written without error checks: the first
// problem (a window that does not fit, memory) is kept and comes out of nn_graph_status. Values are
// small integers, valid in their graph. Names are those of torchvision's state_dict; they are
// copied.
#ifndef NN_GRAPH_H
#define NN_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "kernel/kernel.h"
#include "nn/net.h"

typedef int nn_value;

enum nn_op_kind {
    NN_CONV,
    NN_BATCHNORM,
    NN_ACTIVATE,
    NN_POOL,
    NN_GLOBAL_POOL,
    NN_FC,
    NN_ADD,
    NN_CONCAT,
    NN_SHUFFLE,
    NN_SLICE,
    NN_DROPOUT,
    NN_REORDER,
};

struct nn_op {
    enum nn_op_kind kind;
    const char *name; // of its parameters, or of the op
    int inputs;
    nn_value x[KERNEL_INPUTS_MAX];
    nn_value y;
    int params, buffers;          // how many
    int param[KERNEL_PARAMS_MAX]; // indices into graph->tensors
    int buffer[KERNEL_BUFFERS_MAX];
    union { // tensors' layouts and dx modes are filled in when planned
        struct kernel_conv conv;
        struct kernel_batchnorm batchnorm;
        struct kernel_activate activate;
        struct kernel_pool pool;
        struct kernel_global_pool global_pool;
        struct kernel_fc fc;
        struct kernel_add add;
        struct kernel_concat concat;
        struct kernel_shuffle shuffle;
        struct kernel_slice slice;
        struct kernel_dropout dropout;
        struct kernel_reorder reorder;
    } as;
};

struct nn_value_info {
    struct kernel_shape shape;
    int producer; // op, −1 for the image
    bool plain;   // known to be NCHW: what fc wants
};

// How a tensor starts out.
struct nn_init {
    enum { NN_INIT_CONSTANT, NN_INIT_NORMAL } kind;
    float value; // the constant, or the standard deviation
};

struct nn_graph {
    enum stn_status status;
    struct base_arena arena;
    int micro_batch;
    struct nn_op *ops;
    int op_count, op_capacity;
    struct nn_value_info *values;
    int value_count, value_capacity;
    struct nn_tensor *tensors; // parameters and buffers in graph order
    struct nn_init *inits;
    int tensor_count, tensor_capacity;
    nn_value logits; // set by nn_output
    float batchnorm_epsilon;
    bool no_dropout;
};

void nn_graph_init(struct nn_graph *graph, int micro_batch, bool no_dropout);
void nn_graph_fini(struct nn_graph *graph);
enum stn_status nn_graph_status(const struct nn_graph *graph);

// ---- building -----------------------------------------------------------------------------------

// Names made on the fly: nn_name(g, "features.%d.conv", i). Live as long as the graph.
const char *nn_name(struct nn_graph *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

nn_value nn_input(struct nn_graph *g, int channels, int size);
void nn_output(struct nn_graph *g, nn_value logits);
struct kernel_shape nn_shape(const struct nn_graph *g, nn_value v);

// Zero means the usual: stride 1, groups 1, `kernel` square, padding 0.
struct nn_conv {
    int out, kernel, stride, pad, groups;
    int kernel_h, kernel_w, pad_h, pad_w; // where not square
    bool bias;
    enum kernel_activation activation;
    float init_std; // 0: He's rule
};

nn_value nn_conv(struct nn_graph *g, const char *name, nn_value x, struct nn_conv conv);
// Of all batch norms that follow; 1e-5 unless told.
void nn_set_batchnorm_epsilon(struct nn_graph *g, float epsilon);
nn_value nn_batchnorm(struct nn_graph *g, const char *name, nn_value x,
                      enum kernel_activation activation);
// act(batchnorm(x) + residual) in one op.
nn_value nn_batchnorm_add(struct nn_graph *g, const char *name, nn_value x, nn_value residual,
                          enum kernel_activation activation);
nn_value nn_activate(struct nn_graph *g, nn_value x, enum kernel_activation activation);

// Zero stride means stride = size. `ceil` lets a window hang over the lower right edge. `shift`
// moves all windows down and to the right; beyond the edge is padding.
struct nn_pool {
    int size, stride, pad, shift;
    bool ceil, count_padding;
};

nn_value nn_max_pool(struct nn_graph *g, nn_value x, struct nn_pool pool);
nn_value nn_average_pool(struct nn_graph *g, nn_value x, struct nn_pool pool);
// To size × size, whatever x is; nothing where x is that already.
nn_value nn_adaptive_pool(struct nn_graph *g, nn_value x, int size);
nn_value nn_global_pool(struct nn_graph *g, nn_value x);
// Over all features of a sample; flattens first.
nn_value nn_fc(struct nn_graph *g, const char *name, nn_value x, int out,
               enum kernel_activation activation);
nn_value nn_add(struct nn_graph *g, nn_value a, nn_value b, enum kernel_activation activation);
nn_value nn_concat(struct nn_graph *g, int inputs, const nn_value *x);
nn_value nn_shuffle(struct nn_graph *g, nn_value x, int groups);
// Channels first … first + count − 1.
nn_value nn_slice(struct nn_graph *g, nn_value x, int first, int count);
nn_value nn_dropout(struct nn_graph *g, nn_value x, float rate);

#endif
