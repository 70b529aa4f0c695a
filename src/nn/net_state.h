// SPDX-License-Identifier: Apache-2.0
// What a net holds, for the files that make it (net.c, net_memory.c) and run it (run.c).
#ifndef NN_NET_STATE_H
#define NN_NET_STATE_H

#include <stdatomic.h>

#include "nn/graph.h"
#include "nn/net.h"
#include "nn/program.h"

// A step reads one copy of parameters and running statistics and writes the other.
enum { NN_COPIES = 2 };

enum nn_direction { NN_FORWARD, NN_BACKWARD, NN_DIRECTIONS };

// Where samples lie: base + sample · row_bytes. What lives and dies within a segment has room for
// one strip a lane only (row_bytes 0): the same memory serves all its strips and stays in the
// cache. All else is there once for each micro-batch that may run abreast (slot_bytes).
struct nn_rows {
    char *base;
    size_t row_bytes, lane_bytes, slot_bytes;
};

// An op made runnable: its kernel, and where everything is that its calls need.
struct nn_call {
    struct kernel_op *op;
    int strip;     // samples that the op is planned for
    bool together; // run by the whole team
    struct nn_rows x[NN_DIRECTIONS][KERNEL_INPUTS_MAX], dx[KERNEL_INPUTS_MAX];
    struct nn_rows y[NN_DIRECTIONS], dy;
    struct nn_rows saved;
    size_t saved_strip_bytes; // 0 where one serves all strips
    struct nn_rows scratch[NN_ACTS];
    const float *params[NN_COPIES][KERNEL_PARAMS_MAX];
    float *param_grads[KERNEL_PARAMS_MAX];
    const float *buffers[NN_COPIES][KERNEL_BUFFERS_MAX];
    size_t statistics_at[KERNEL_BUFFERS_MAX]; // where they lie among those of a slot
};

// A flat array in pages of its own.
struct nn_flat {
    float *data;
    size_t count;
};

struct nn_net {
    struct nn_net_config config;
    struct kernel *kernel;
    struct nn_graph graph;
    nn_value image;
    size_t image_floats; // of one sample
    struct nn_segment *segments;
    int segment_count;
    struct nn_program program;
    struct kernel *lane_kernel; // of the ops that lanes run; NULL: everything is run together
    int lanes;                  // 1 then
    int abreast;                // micro-batches that have room side by side: 1, or one in each lane
    int slots;                  // of which so many have sums that were not collected yet
    struct nn_call *calls;      // [ops]
    struct kernel_tensor *tensors; // [values] shapes of one sample, with the layouts chosen
    int parameter_tensors;         // graph.tensors is sorted: parameters, then buffers
    int current;                   // copy that ops read
    struct nn_flat parameters[NN_COPIES], buffers[NN_COPIES]; // for inference only the first
    struct nn_flat gradient_sums, buffer_sums;
    // Gradient sums beside the first (nn_part_sums) and statistics of micro-batches abreast beside
    // the first (nn_slot_statistics), until they are collected.
    struct nn_flat part_sums, slot_statistics;
    int64_t parameter_elements; // without alignment gaps
    void *activations;          // one block for everything a step needs
    size_t activation_bytes;
    struct nn_rows logits, dlogits; // inside activations
    struct nn_profile *profile;     // NULL: not profiled
    struct {
        nn_gradients_final *final; // NULL: nobody watches
        void *context;
        atomic_int *passed; // [lanes] moments that a lane has behind it for good
    } watch;
};

// A micro-batch's gradients are summed up in as many parts as there are lanes, whether these shared
// it or one of them did it all: its bits are the same. Part `part` of all, that is slot · lanes +
// lane.
static inline float *nn_part_sums(const struct nn_net *net, int part)
{
    return part == 0 ? net->gradient_sums.data
                     : net->part_sums.data + (size_t)(part - 1) * net->gradient_sums.count;
}

static inline float *nn_slot_statistics(const struct nn_net *net, int slot)
{
    return slot == 0 ? net->buffer_sums.data
                     : net->slot_statistics.data + (size_t)(slot - 1) * net->buffer_sums.count;
}

// Adds what ops and lanes hold back of an op's gradient sums, of one micro-batch, to the array.
// Any lane may do it.
void nn_op_collect(struct nn_net *net, int n, int lane, int slot);

// Which values' gradients are needed, and by whom they are first written.
struct nn_gradient_need {
    bool *value;        // [values] somebody upstream has parameters
    int *last_consumer; // [values] op that writes the gradient first, going backwards
};

// How op n treats the gradient of its input: nobody needs it, the first to write, or adding to
// others' part.
enum kernel_dx nn_net_dx_mode(const struct nn_op *op, int n, int input,
                              const struct nn_gradient_need *need);
// The flat arrays and, sorted, the tensors in them.
STN_MUST_CHECK enum stn_status nn_parameters_create(struct nn_net *net);
void nn_parameters_destroy(struct nn_net *net);
// Parameters, gradients and one block for all that a step needs; then every call's pointers.
STN_MUST_CHECK enum stn_status nn_net_memory_create(struct nn_net *net,
                                                    const struct nn_gradient_need *need);
void nn_net_memory_destroy(struct nn_net *net);

#endif
