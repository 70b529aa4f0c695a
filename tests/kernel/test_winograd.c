// SPDX-License-Identifier: Apache-2.0
// 3×3 convolutions of stride 1, which the native kernels compute by Winograd's transforms, against
// the reference: all small sizes, paddings, channel counts and gradient modes; shapes that need
// several blocks, groups and chunks; gradients over two micro-batches; and any number of threads.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernel/op_harness.h"

static const float MARGIN = 1e-3f;    // what rounding may move the argument of an activation
static const double TOLERANCE = 2e-5; // of the largest element; direct kernels keep to 1e-6

enum { TEAMS = 3 };

struct bench {
    struct kernel *reference;
    struct kernel *fast[TEAMS]; // the best backend built in, with 1, 2 and 3 threads
    enum kernel_layout native;
};

static int setup(void **state)
{
    static struct bench bench;
    const struct kernel_conv probe = {
        .x = op_map(1, 3, 8, 8), .out_channels = 16, .groups = 1, .window = op_window(3, 3, 1, 1)};
    struct kernel_op *op = NULL;
    *state = &bench;
    if (kernel_create("reference", 2, &bench.reference))
        return -1;
    for (int i = 0; i < TEAMS; i++) {
        if (kernel_create(NULL, i + 1, &bench.fast[i]))
            return -1;
    }
    if (kernel_conv_create(bench.fast[0], &probe, &op))
        return -1;
    bench.native = kernel_op_traits(op)->y.layout;
    kernel_op_destroy(op);
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    kernel_destroy(bench->reference);
    for (int i = 0; i < TEAMS; i++)
        kernel_destroy(bench->fast[i]);
    return 0;
}

// ---- comparing ---------------------------------------------------------------------------------

static void close_enough(void *context, const char *name, int index, struct op_array got,
                         struct op_array expected)
{
    double largest = 0;
    assert_int_equal(got.count, expected.count);
    for (size_t i = 0; i < expected.count; i++)
        largest = fmax(largest, fabs((double)expected.at[i]));
    for (size_t i = 0; i < expected.count; i++) {
        const double off = fabs((double)got.at[i] - (double)expected.at[i]);
        if (!(off <= TOLERANCE * largest))
            fail_msg("%s: %s %d [%zu] is %g, reference has %g (largest %g)", op_describe(context),
                     name, index, i, (double)got.at[i], (double)expected.at[i], largest);
    }
}

static void identical(void *context, const char *name, int index, struct op_array a,
                      struct op_array b)
{
    assert_int_equal(a.count, b.count);
    if (a.count && memcmp(a.at, b.at, a.count * sizeof *a.at) != 0)
        fail_msg("%s: %s %d differs between numbers of threads", op_describe(context), name, index);
}

// With all rows and with fewer, on one thread and on two.
static void check(const struct bench *bench, struct kernel_conv conv)
{
    struct op_case c = {OP_CONV, .conv = conv};
    for (int rows = conv.x.shape.n; rows > 0; rows -= 2) {
        struct op_data data;
        struct op_result expected, one, two;
        op_data_init(&data, bench->reference, &c, rows, 34, MARGIN);
        op_run(bench->reference, &c, &data, (struct op_run){0}, &expected);
        op_run(bench->fast[0], &c, &data, (struct op_run){.layout = bench->native}, &one);
        op_run(bench->fast[1], &c, &data, (struct op_run){.layout = bench->native}, &two);
        op_result_compare(&one, &expected, close_enough, &c);
        op_result_compare(&one, &two, identical, &c);
        op_result_fini(&expected);
        op_result_fini(&one);
        op_result_fini(&two);
        op_data_fini(&data);
    }
}

// ---- tests -------------------------------------------------------------------------------------

static void all_small_sizes(void **state)
{
    static const int channels[] = {1, 3, 8, 10, 16, 17, 24, 29, 40};
    static const enum kernel_dx modes[] = {KERNEL_DX_WRITE, KERNEL_DX_ADD, KERNEL_DX_NONE};
    const int count = (int)(sizeof channels / sizeof *channels);
    int i = 0;
    for (int h = 1; h <= 17; h++) {
        for (int pad = 0; pad <= 2; pad++, i++) {
            const int w = (h * 5 + pad * 7) % 17 + 1; // every width comes up too
            if (h + 2 * pad < 3 || w + 2 * pad < 3)
                continue;
            check(*state, (struct kernel_conv){.x = op_map(3, channels[i % count], h, w),
                                               .out_channels = channels[(i / 2) % count],
                                               .groups = 1,
                                               .window = op_window(3, 3, 1, pad),
                                               .bias = i % 2 == 0,
                                               .activation = (enum kernel_activation)(i / 2 % 3),
                                               .dx = modes[i / 3 % 3]});
        }
    }
}

// Padding that differs from side to side.
static void lopsided_padding(void **state)
{
    const struct kernel_window windows[] = {
        {{3, 3}, {1, 1}, {0, 2}, {1, 0}},
        {{3, 3}, {1, 1}, {2, 1}, {0, 2}},
    };
    for (int i = 0; i < 2; i++) {
        check(*state, (struct kernel_conv){.x = op_map(2, 12, 9, 14),
                                           .out_channels = 20,
                                           .groups = 1,
                                           .window = windows[i],
                                           .dx = KERNEL_DX_ADD});
    }
}

// More than one block of tiles, group of outputs, chunk of the gradient, run of input channels.
static void shapes_in_pieces(void **state)
{
    const struct kernel_conv cases[] = {
        {op_map(3, 8, 46, 42), 40, 1, op_window(3, 3, 1, 1), true, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(1, 72, 37, 66), 24, 1, op_window(3, 3, 1, 0), false, KERNEL_RELU6, KERNEL_DX_WRITE,
         0},
        {op_map(2, 280, 7, 7), 33, 1, op_window(3, 3, 1, 1), true, KERNEL_LINEAR, KERNEL_DX_WRITE,
         0},
        {op_map(2, 16, 8, 9), 270, 1, op_window(3, 3, 1, 1), true, KERNEL_LINEAR, KERNEL_DX_ADD, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(*state, cases[i]);
}

// What the first micro-batch left in the sums is what the second one adds to.
static void two_micro_batches(void **state)
{
    const struct bench *bench = *state;
    struct op_case c = {OP_CONV, .conv = {op_map(4, 20, 14, 15), 36, 1, op_window(3, 3, 1, 1), true,
                                          KERNEL_RELU, KERNEL_DX_WRITE}};
    struct kernel *const kernels[2] = {bench->fast[1], bench->reference};
    const enum kernel_layout layouts[2] = {bench->native, KERNEL_NCHW};
    struct op_result results[2];
    for (int k = 0; k < 2; k++) {
        struct op_result first;
        struct op_data data[2];
        for (int i = 0; i < 2; i++)
            op_data_init(&data[i], bench->reference, &c, 4 - i, 55 + (uint64_t)i, MARGIN);
        op_run(kernels[k], &c, &data[0], (struct op_run){.layout = layouts[k]}, &first);
        for (int p = 0; p < KERNEL_PARAMS_MAX; p++) {
            const struct op_array sums = first.param_grads[p];
            memcpy(data[1].grads_before[p].at, sums.at, sums.count * sizeof *sums.at);
        }
        op_run(kernels[k], &c, &data[1], (struct op_run){.layout = layouts[k]}, &results[k]);
        op_result_fini(&first);
        for (int i = 0; i < 2; i++)
            op_data_fini(&data[i]);
    }
    op_result_compare(&results[0], &results[1], close_enough, &c);
    op_result_fini(&results[0]);
    op_result_fini(&results[1]);
}

static void any_number_of_threads(void **state)
{
    const struct bench *bench = *state;
    struct op_case c = {OP_CONV, .conv = {op_map(5, 40, 27, 21), 56, 1, op_window(3, 3, 1, 1), true,
                                          KERNEL_RELU, KERNEL_DX_WRITE}};
    struct op_data data;
    struct op_result results[TEAMS];
    op_data_init(&data, bench->reference, &c, 5, 89, MARGIN);
    for (int i = 0; i < TEAMS; i++) {
        op_run(bench->fast[i], &c, &data, (struct op_run){.layout = bench->native}, &results[i]);
        op_result_compare(&results[0], &results[i], identical, &c);
    }
    for (int i = 0; i < TEAMS; i++)
        op_result_fini(&results[i]);
    op_data_fini(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_small_sizes),       cmocka_unit_test(lopsided_padding),
        cmocka_unit_test(shapes_in_pieces),      cmocka_unit_test(two_micro_batches),
        cmocka_unit_test(any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
