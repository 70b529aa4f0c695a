// SPDX-License-Identifier: Apache-2.0
// Runs one op of a backend on random data, for tests. All values that come in and go out are plain
// NCHW; the harness converts to the layout under test and back, poisons with NaN whatever the op
// has no right to read, and fails the test when an op leaves anything in the padding lanes.
#ifndef TESTS_KERNEL_OP_HARNESS_H
#define TESTS_KERNEL_OP_HARNESS_H

#include "kernel/kernel.h"

enum op_kind {
    OP_CONV,
    OP_BATCHNORM,
    OP_ACTIVATE,
    OP_POOL,
    OP_GLOBAL_POOL,
    OP_FC,
    OP_ADD,
    OP_CONCAT,
    OP_SHUFFLE,
    OP_SLICE,
    OP_DROPOUT,
    OP_REORDER,
};

// A descriptor of any kind. Input layouts are NCHW until op_run sets them.
struct op_case {
    enum op_kind kind;
    union {
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
    };
};

struct op_array {
    float *at;
    size_t count;
};

// What goes in. "before" is what the arrays that an op adds to hold already.
struct op_data {
    int rows;
    struct op_array x[KERNEL_INPUTS_MAX], dx_before[KERNEL_INPUTS_MAX];
    struct op_array dy;
    struct op_array params[KERNEL_PARAMS_MAX], grads_before[KERNEL_PARAMS_MAX];
    struct op_array buffers[KERNEL_BUFFERS_MAX], sums_before[KERNEL_BUFFERS_MAX];
    uint64_t *row_keys; // [n]
};

// What comes out. Arrays that the op does not have are empty.
struct op_result {
    struct op_array y;
    struct op_array dx[KERNEL_INPUTS_MAX];
    struct op_array param_grads[KERNEL_PARAMS_MAX];
    struct op_array buffer_sums[KERNEL_BUFFERS_MAX];
};

struct op_run {
    enum kernel_layout layout; // of the inputs
    enum kernel_phase phase;   // evaluation runs forward only
    bool in_place;             // use every permission of the op's traits to share buffers
    bool forward_only;
};

static inline struct kernel_tensor op_map(int n, int c, int h, int w)
{
    return (struct kernel_tensor){{n, c, h, w}, KERNEL_NCHW};
}

// The same stride and padding on all sides.
static inline struct kernel_window op_window(int height, int width, int stride, int pad)
{
    return (struct kernel_window){{height, width}, {stride, stride}, {pad, pad}, {pad, pad}};
}

int op_inputs(const struct op_case *c);
struct kernel_shape op_input_shape(const struct op_case *c, int input);
enum kernel_dx op_dx(const struct op_case *c, int input);
// "conv+relu 2×3×9×9 → 8, groups 1, window 3×3 …".
const char *op_describe(const struct op_case *c);

STN_MUST_CHECK enum stn_status op_create(struct kernel *kernel, const struct op_case *c,
                                         struct kernel_op **out);

// Random data from the seed. dy is zero beyond `rows`, and wherever the argument of an activation
// lies within `margin` of a kink, as `reference` computes it: there a gradient may be either.
void op_data_init(struct op_data *data, struct kernel *reference, const struct op_case *c, int rows,
                  uint64_t seed, float margin);
void op_data_fini(struct op_data *data);

void op_run(struct kernel *kernel, const struct op_case *c, const struct op_data *data,
            struct op_run how, struct op_result *out);
void op_result_fini(struct op_result *result);

// Every array of both, by name: calls visit(context, "dx", 1, a, b).
typedef void op_visit(void *context, const char *name, int index, struct op_array a,
                      struct op_array b);
void op_result_compare(const struct op_result *a, const struct op_result *b, op_visit *visit,
                       void *context);

#endif
