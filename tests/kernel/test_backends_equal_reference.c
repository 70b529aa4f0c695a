// SPDX-License-Identifier: Apache-2.0
// The backends onednn and native against the reference, op by op, over a spread of shapes: outputs,
// gradients and sums agree to 1e-4 of the largest element, padding lanes are zero (the harness
// looks), runs repeat bit for bit, and sharing buffers where the op permits it changes nothing.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernel/op_harness.h"

static const float MARGIN = 1e-3f; // what rounding may move the argument of an activation
static const double TOLERANCE = 1e-4;

struct bench {
    struct kernel *reference, *fast; // fast is NULL where it is not built in
    enum kernel_layout native;       // what `fast` gives to a convolution's output
};

static bool built_in(const char *name)
{
    for (const char *const *n = kernel_backend_names(); *n; n++) {
        if (strcmp(*n, name) == 0)
            return true;
    }
    return false;
}

static int setup(void **state, const char *backend)
{
    static struct bench bench;
    bench = (struct bench){0};
    const struct kernel_conv probe = {
        .x = op_map(1, 3, 8, 8), .out_channels = 16, .groups = 1, .window = op_window(3, 3, 1, 1)};
    struct kernel_op *op = NULL;
    *state = &bench;
    if (kernel_create("reference", 2, &bench.reference))
        return -1;
    if (!built_in(backend))
        return 0;
    if (kernel_create(backend, 2, &bench.fast) || kernel_conv_create(bench.fast, &probe, &op))
        return -1;
    bench.native = kernel_op_traits(op)->y.layout;
    kernel_op_destroy(op);
    return 0;
}

static int setup_onednn(void **state)
{
    return setup(state, "onednn");
}

static int setup_native(void **state)
{
    return setup(state, "native");
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    kernel_destroy(bench->reference);
    kernel_destroy(bench->fast);
    return 0;
}

// ---- comparing ---------------------------------------------------------------------------------

struct where {
    const struct op_case *c;
    enum kernel_layout layout;
    int rows;
};

static void close_enough(void *context, const char *name, int index, struct op_array got,
                         struct op_array expected)
{
    const struct where *where = context;
    double largest = 0;
    assert_int_equal(got.count, expected.count);
    for (size_t i = 0; i < expected.count; i++)
        largest = fmax(largest, fabs((double)expected.at[i]));
    for (size_t i = 0; i < expected.count; i++) {
        const double off = fabs((double)got.at[i] - (double)expected.at[i]);
        if (!(off <= TOLERANCE * largest))
            fail_msg("%s, layout %d, rows %d: %s %d [%zu] is %g, reference has %g (largest %g)",
                     op_describe(where->c), (int)where->layout, where->rows, name, index, i,
                     (double)got.at[i], (double)expected.at[i], largest);
    }
}

static void identical(void *context, const char *name, int index, struct op_array a,
                      struct op_array b)
{
    const struct where *where = context;
    assert_int_equal(a.count, b.count);
    if (a.count && memcmp(a.at, b.at, a.count * sizeof *a.at) != 0)
        fail_msg("%s, layout %d, rows %d: %s %d is not the same when run again",
                 op_describe(where->c), (int)where->layout, where->rows, name, index);
}

static void check_run(const struct bench *bench, const struct op_data *data, struct where where,
                      enum kernel_phase phase)
{
    struct op_run how = {.phase = phase};
    struct op_result expected, got, again, shared;
    op_run(bench->reference, where.c, data, how, &expected);
    how.layout = where.layout;
    op_run(bench->fast, where.c, data, how, &got);
    op_run(bench->fast, where.c, data, how, &again);
    how.in_place = true;
    op_run(bench->fast, where.c, data, how, &shared);
    op_result_compare(&got, &expected, close_enough, &where);
    op_result_compare(&got, &again, identical, &where);
    op_result_compare(&got, &shared, identical, &where);
    op_result_fini(&expected);
    op_result_fini(&got);
    op_result_fini(&again);
    op_result_fini(&shared);
}

// In the given layout, with all rows and with fewer; then in evaluation.
static void check_layout(const struct bench *bench, const struct op_case *c,
                         enum kernel_layout layout)
{
    const int n = op_input_shape(c, 0).n;
    const int rows[2] = {n, 2};
    for (int i = 0; i < (n > 2 ? 2 : 1); i++) {
        struct op_data data;
        const struct where where = {c, layout, rows[i]};
        op_data_init(&data, bench->reference, c, rows[i], 21, MARGIN);
        check_run(bench, &data, where, KERNEL_TRAIN);
        if (rows[i] == n)
            check_run(bench, &data, where, KERNEL_EVAL);
        op_data_fini(&data);
    }
}

static void check(void **state, const struct op_case *c)
{
    const struct bench *bench = *state;
    check_layout(bench, c, KERNEL_NCHW);
    check_layout(bench, c, bench->native);
}

#define NEED_BUILT_IN(state)                                                                       \
    do {                                                                                           \
        if (!((const struct bench *)*(state))->fast)                                               \
            skip();                                                                                \
    } while (0)

// ---- convolution -------------------------------------------------------------------------------

static void check_convs(void **state, const struct kernel_conv *cases, size_t count)
{
    const struct bench *bench = *state;
    for (size_t i = 0; i < count; i++) {
        const struct op_case c = {OP_CONV, .conv = cases[i]};
        const bool image = cases[i].dx == KERNEL_DX_NONE; // which is never blocked
        if (image || cases[i].x.shape.c <= 3)
            check_layout(bench, &c, KERNEL_NCHW);
        if (!image)
            check_layout(bench, &c, bench->native);
    }
}

#define CHECK_CONVS(state, cases) check_convs(state, cases, sizeof(cases) / sizeof *(cases))

static void conv_images(void **state)
{
    NEED_BUILT_IN(state);
    const struct kernel_window stem = {{3, 3}, {2, 2}, {0, 0}, {1, 1}};
    const struct kernel_conv cases[] = {
        {op_map(3, 3, 33, 31), 32, 1, op_window(3, 3, 2, 1), false, KERNEL_LINEAR, KERNEL_DX_NONE,
         0},
        {op_map(3, 1, 28, 28), 6, 1, op_window(5, 5, 1, 2), true, KERNEL_RELU, KERNEL_DX_NONE, 0},
        {op_map(2, 3, 47, 45), 64, 1, op_window(11, 11, 4, 2), true, KERNEL_RELU, KERNEL_DX_NONE,
         0},
        {op_map(2, 3, 37, 37), 30, 1, op_window(7, 7, 2, 0), true, KERNEL_RELU, KERNEL_DX_NONE, 0},
        {op_map(2, 3, 20, 21), 17, 1, stem, false, KERNEL_RELU6, KERNEL_DX_WRITE, 0},
        {op_map(2, 3, 9, 9), 12, 1, op_window(3, 3, 1, 1), true, KERNEL_LINEAR, KERNEL_DX_ADD, 0},
        {op_map(1, 1, 7, 5), 1, 1, op_window(3, 3, 1, 0), false, KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
    };
    CHECK_CONVS(state, cases);
}

static void conv_dense(void **state)
{
    NEED_BUILT_IN(state);
    const struct kernel_window same_below = {{3, 3}, {2, 2}, {0, 0}, {1, 1}};
    const struct kernel_window lopsided = {{3, 5}, {1, 2}, {2, 0}, {0, 3}};
    const struct kernel_conv cases[] = {
        {op_map(3, 16, 9, 9), 32, 1, op_window(3, 3, 1, 1), false, KERNEL_LINEAR, KERNEL_DX_WRITE,
         0},
        {op_map(3, 17, 11, 7), 5, 1, op_window(3, 3, 2, 1), true, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(3, 10, 13, 13), 12, 1, op_window(5, 5, 1, 2), true, KERNEL_RELU6, KERNEL_DX_WRITE,
         0},
        {op_map(2, 24, 14, 15), 44, 1, same_below, true, KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
        {op_map(2, 30, 9, 12), 58, 1, lopsided, false, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(2, 12, 17, 17), 17, 1, op_window(1, 7, 1, 0), true, KERNEL_RELU, KERNEL_DX_WRITE,
         0},
        {op_map(2, 17, 17, 17), 12, 1, op_window(7, 1, 1, 0), false, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(3, 64, 5, 5), 10, 1, op_window(3, 3, 1, 1), true, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(1, 6, 14, 14), 16, 1, op_window(5, 5, 1, 0), true, KERNEL_LINEAR, KERNEL_DX_WRITE,
         0},
    };
    CHECK_CONVS(state, cases);
}

static void conv_pointwise(void **state)
{
    NEED_BUILT_IN(state);
    static const int channels[][2] = {{1, 3},   {3, 5},   {5, 10},  {10, 1},  {12, 24}, {24, 17},
                                      {17, 30}, {30, 44}, {44, 58}, {58, 64}, {64, 16}, {32, 96}};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        const struct kernel_conv cases[] = {
            {op_map(3, channels[i][0], 7, 9), channels[i][1], 1, op_window(1, 1, 1, 0), false,
             KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
            {op_map(3, channels[i][0], 7, 9), channels[i][1], 1, op_window(1, 1, 1, 0), true,
             KERNEL_RELU, KERNEL_DX_ADD, 0},
            {op_map(2, channels[i][0], 7, 8), channels[i][1], 1, op_window(1, 1, 2, 0), true,
             KERNEL_RELU6, KERNEL_DX_WRITE, 0},
        };
        CHECK_CONVS(state, cases);
    }
    // Channels in several parts, pixels in several pieces, samples that share a panel.
    const struct kernel_conv large[] = {
        {op_map(2, 203, 15, 13), 90, 1, op_window(1, 1, 1, 0), true, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(2, 60, 19, 18), 410, 1, op_window(1, 1, 1, 0), false, KERNEL_RELU6, KERNEL_DX_ADD,
         0},
        {op_map(5, 390, 7, 7), 33, 1, op_window(1, 1, 1, 0), true, KERNEL_LINEAR, KERNEL_DX_WRITE,
         0},
        {op_map(3, 26, 17, 15), 200, 1, op_window(1, 1, 2, 0), true, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(1, 8, 1, 1), 8, 1, op_window(1, 1, 1, 0), false, KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
    };
    CHECK_CONVS(state, large);
}

static void conv_depthwise(void **state)
{
    NEED_BUILT_IN(state);
    static const int channels[] = {1, 3, 5, 10, 12, 16, 17, 24, 30, 44, 58, 64};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        const int c = channels[i];
        const struct kernel_window below = {{3, 3}, {2, 2}, {0, 0}, {1, 1}};
        const struct kernel_conv cases[] = {
            {op_map(3, c, 14, 13), c, c, op_window(3, 3, 1, 1), false, KERNEL_LINEAR,
             KERNEL_DX_WRITE, 0},
            {op_map(3, c, 13, 15), c, c, op_window(3, 3, 2, 1), false, KERNEL_LINEAR, KERNEL_DX_ADD,
             0},
            {op_map(2, c, 11, 10), c, c, op_window(5, 5, 1, 2), true, KERNEL_RELU, KERNEL_DX_WRITE,
             0},
            {op_map(2, c, 12, 9), c, c, op_window(7, 7, 2, 3), false, KERNEL_RELU6, KERNEL_DX_ADD,
             0},
            {op_map(2, c, 9, 10), c, c, below, true, KERNEL_RELU6, KERNEL_DX_WRITE, 0},
        };
        CHECK_CONVS(state, cases);
    }
}

// Every kernel size that is our own, with windows that reach over the borders in all ways; some
// planes are so wide that their middle is computed apart from their borders.
static void conv_depthwise_windows(void **state)
{
    NEED_BUILT_IN(state);
    static const int sizes[][2] = {{9, 8}, {7, 15}, {16, 7}, {7, 59}, {8, 117}};
    for (int i = 0; i < 3 * 2 * 5 * 5; i++) {
        const int k = 3 + i % 3 * 2, stride = 1 + i / 3 % 2, c = i % 2 ? 11 : 20;
        const int before[] = {0, k / 2, k - 1, 0, 1}, after[] = {0, k / 2, 0, k - 1, k - 2};
        const int vertical = i / 6 % 5, horizontal = (vertical + i) % 5, *size = sizes[i / 30];
        const struct kernel_window window = {{k, k},
                                             {stride, stride},
                                             {before[vertical], before[horizontal]},
                                             {after[vertical], after[horizontal]}};
        const struct kernel_conv d = {op_map(3, c, size[0], size[1]),
                                      c,
                                      c,
                                      window,
                                      i % 7 == 0,
                                      (enum kernel_activation)(i % 5 % 3),
                                      i % 8 ? i / 2 % 2 ? KERNEL_DX_ADD : KERNEL_DX_WRITE
                                            : KERNEL_DX_NONE,
                                      0};
        check_layout(*state, &(struct op_case){OP_CONV, .conv = d},
                     ((const struct bench *)*state)->native);
    }
}

static void conv_grouped(void **state)
{
    NEED_BUILT_IN(state);
    const struct kernel_conv cases[] = {
        {op_map(3, 24, 9, 7), 48, 3, op_window(1, 1, 1, 0), false, KERNEL_LINEAR, KERNEL_DX_WRITE,
         0},
        {op_map(3, 120, 7, 7), 48, 3, op_window(1, 1, 1, 0), true, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(2, 60, 9, 16), 132, 3, op_window(1, 1, 1, 0), true, KERNEL_RELU6, KERNEL_DX_WRITE,
         0},
        {op_map(3, 57, 6, 5), 75, 3, op_window(1, 1, 1, 0), false, KERNEL_LINEAR, KERNEL_DX_ADD, 0},
        {op_map(2, 430, 5, 5), 34, 2, op_window(1, 1, 1, 0), true, KERNEL_RELU, KERNEL_DX_WRITE, 0},
        {op_map(2, 34, 3, 5), 430, 2, op_window(1, 1, 1, 0), false, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(3, 9, 4, 4), 36, 3, op_window(1, 1, 1, 0), true, KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
        {op_map(2, 48, 8, 7), 48, 3, op_window(1, 1, 2, 0), true, KERNEL_RELU, KERNEL_DX_WRITE, 0},
        {op_map(2, 30, 8, 9), 12, 3, op_window(3, 3, 2, 1), true, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(2, 32, 8, 9), 64, 2, op_window(3, 3, 1, 1), true, KERNEL_RELU, KERNEL_DX_WRITE, 0},
        {op_map(2, 10, 7, 7), 20, 10, op_window(3, 3, 1, 1), true, KERNEL_RELU6, KERNEL_DX_WRITE,
         0},
        {op_map(2, 44, 7, 6), 8, 4, op_window(1, 3, 1, 1), false, KERNEL_LINEAR, KERNEL_DX_WRITE,
         0},
    };
    CHECK_CONVS(state, cases);
}

// ---- the others --------------------------------------------------------------------------------

static const int CHANNELS[] = {1, 3, 5, 10, 12, 16, 17, 24, 30, 44, 58, 64};
enum { CHANNELS_COUNT = sizeof CHANNELS / sizeof *CHANNELS };

static void batchnorm(void **state)
{
    NEED_BUILT_IN(state);
    static const struct {
        bool residual;
        enum kernel_activation activation;
        enum kernel_dx dx[2];
    } kinds[] = {
        {false, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_NONE}},
        {false, KERNEL_RELU, {KERNEL_DX_WRITE, KERNEL_DX_NONE}},
        {false, KERNEL_RELU6, {KERNEL_DX_ADD, KERNEL_DX_NONE}},
        {false, KERNEL_RELU6, {KERNEL_DX_NONE, KERNEL_DX_NONE}},
        {true, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_WRITE}},
        {true, KERNEL_RELU, {KERNEL_DX_WRITE, KERNEL_DX_ADD}},
        {true, KERNEL_RELU6, {KERNEL_DX_ADD, KERNEL_DX_WRITE}},
        {true, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_NONE}},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int i = 0; i < CHANNELS_COUNT; i++) {
            const struct kernel_batchnorm d = {op_map(4, CHANNELS[i], 5 + i % 3, 7),
                                               1e-5f,
                                               kinds[k].residual,
                                               kinds[k].activation,
                                               {kinds[k].dx[0], kinds[k].dx[1]}};
            check(state, &(struct op_case){OP_BATCHNORM, .batchnorm = d});
        }
    }
}

static void batchnorm_of_one_pixel(void **state)
{
    NEED_BUILT_IN(state);
    const struct kernel_batchnorm cases[] = {
        // The gradient is zero: it is added to something, so that there is a scale to compare by.
        {op_map(1, 24, 1, 1), 0.1f, false, KERNEL_RELU, {KERNEL_DX_ADD, KERNEL_DX_NONE}},
        {op_map(4, 17, 1, 1), 0.1f, false, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_NONE}},
    };
    for (int i = 0; i < 2; i++)
        check(state, &(struct op_case){OP_BATCHNORM, .batchnorm = cases[i]});
}

static void activate(void **state)
{
    NEED_BUILT_IN(state);
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_activate d = {op_map(3, CHANNELS[i], 7, 5),
                                              i % 2 ? KERNEL_RELU : KERNEL_RELU6,
                                              (enum kernel_dx)dx};
            check(state, &(struct op_case){OP_ACTIVATE, .activate = d});
        }
    }
}

static void pool(void **state)
{
    NEED_BUILT_IN(state);
    const struct kernel_window windows[] = {
        op_window(2, 2, 2, 0),
        op_window(3, 3, 2, 0),
        op_window(3, 3, 2, 1),
        op_window(3, 3, 1, 1),
        {{3, 3}, {2, 2}, {0, 0}, {1, 1}},
        {{3, 2}, {2, 1}, {1, 0}, {0, 1}},
    };
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        for (int i = 0; i < CHANNELS_COUNT; i++) {
            struct kernel_pool d = {.x = op_map(3, CHANNELS[i], 13, 10),
                                    .kind = KERNEL_POOL_MAX,
                                    .window = windows[w],
                                    .dx = i % 2 ? KERNEL_DX_ADD : KERNEL_DX_WRITE};
            check(state, &(struct op_case){OP_POOL, .pool = d});
            d.kind = KERNEL_POOL_AVERAGE;
            d.count_padding = i / 2 % 2;
            check(state, &(struct op_case){OP_POOL, .pool = d});
        }
    }
}

static void adaptive_pool(void **state)
{
    NEED_BUILT_IN(state);
    static const int outs[][2] = {{7, 7}, {1, 3}, {16, 10}}; // fewer than the pixels, and more
    for (size_t o = 0; o < sizeof outs / sizeof *outs; o++) {
        for (int i = 0; i < CHANNELS_COUNT; i++) {
            const struct kernel_pool d = {.x = op_map(3, CHANNELS[i], 13, 10),
                                          .kind = KERNEL_POOL_ADAPTIVE,
                                          .dx = i % 2 ? KERNEL_DX_ADD : KERNEL_DX_WRITE,
                                          .out = {outs[o][0], outs[o][1]}};
            check(state, &(struct op_case){OP_POOL, .pool = d});
        }
    }
}

// Plateaus, as after an activation: the first of equals gets the gradient.
static void max_pool_ties(void **state)
{
    NEED_BUILT_IN(state);
    const struct bench *bench = *state;
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        const struct kernel_pool d = {.x = op_map(2, CHANNELS[i], 9, 11),
                                      .kind = KERNEL_POOL_MAX,
                                      .window = op_window(3, 3, 2, 1),
                                      .dx = KERNEL_DX_WRITE};
        const struct op_case c = {OP_POOL, .pool = d};
        struct op_data data;
        op_data_init(&data, bench->reference, &c, 2, 5, 0);
        for (size_t e = 0; e < data.x[0].count; e++)
            data.x[0].at[e] = (float)(e * 7919 % 13 % 4);
        check_run(bench, &data, (struct where){&c, KERNEL_NCHW, 2}, KERNEL_TRAIN);
        check_run(bench, &data, (struct where){&c, bench->native, 2}, KERNEL_TRAIN);
        op_data_fini(&data);
    }
}

static void global_pool(void **state)
{
    NEED_BUILT_IN(state);
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_global_pool d = {op_map(3, CHANNELS[i], 7, 5), (enum kernel_dx)dx};
            check(state, &(struct op_case){OP_GLOBAL_POOL, .global_pool = d});
        }
    }
}

static void fc(void **state)
{
    NEED_BUILT_IN(state);
    const struct kernel_fc cases[] = {
        {op_map(4, 120, 1, 1), 84, true, KERNEL_RELU, KERNEL_DX_WRITE},
        {op_map(4, 17, 1, 1), 10, true, KERNEL_LINEAR, KERNEL_DX_ADD},
        {op_map(3, 16, 5, 5), 33, false, KERNEL_RELU6, KERNEL_DX_WRITE},
        {op_map(3, 5, 3, 3), 1, true, KERNEL_LINEAR, KERNEL_DX_NONE},
        {op_map(1, 64, 1, 1), 12, true, KERNEL_LINEAR, KERNEL_DX_WRITE},
        {op_map(16, 320, 1, 1), 100, true, KERNEL_LINEAR, KERNEL_DX_WRITE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_layout(*state, &(struct op_case){OP_FC, .fc = cases[i]}, KERNEL_NCHW);
}

static void add(void **state)
{
    NEED_BUILT_IN(state);
    static const enum kernel_dx dx[][2] = {{KERNEL_DX_WRITE, KERNEL_DX_WRITE},
                                           {KERNEL_DX_ADD, KERNEL_DX_WRITE},
                                           {KERNEL_DX_WRITE, KERNEL_DX_ADD},
                                           {KERNEL_DX_ADD, KERNEL_DX_ADD},
                                           {KERNEL_DX_NONE, KERNEL_DX_WRITE}};
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int k = 0; k < 5; k++) {
            const struct kernel_add d = {op_map(3, CHANNELS[i], 5, 7),
                                         (enum kernel_activation)((i + k) % 3),
                                         {dx[k][0], dx[k][1]}};
            check(state, &(struct op_case){OP_ADD, .add = d});
        }
    }
}

// x + x: both gradients are one buffer, apart from dy or dy itself.
static void add_to_itself(void **state)
{
    NEED_BUILT_IN(state);
    enum { FLOATS = 64 };
    const struct bench *bench = *state;
    const struct kernel_add d = {
        {{1, 16, 2, 2}, bench->native}, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_ADD}};
    struct kernel_op *op;
    assert_int_equal(kernel_add_create(bench->fast, &d, &op), STN_OK);
    for (int in_place = 0; in_place < 2; in_place++) {
        float x[FLOATS] = {0}, y[FLOATS] = {0}, dy[FLOATS], apart[FLOATS];
        for (int i = 0; i < FLOATS; i++) {
            dy[i] = (float)i;
            apart[i] = -1.0f;
        }
        float *dx = in_place ? dy : apart;
        const struct kernel_io io = {.phase = KERNEL_TRAIN,
                                     .samples = 1,
                                     .rows = 1,
                                     .x = (const float *const[]){x, x},
                                     .y = y,
                                     .dy = dy,
                                     .dx = (float *const[]){dx, dx}};
        assert_int_equal(kernel_op_backward(op, &io), STN_OK);
        for (int i = 0; i < FLOATS; i++)
            assert_float_equal(dx[i], 2.0f * (float)i, 0.0f);
    }
    kernel_op_destroy(op);
}

static void concat(void **state)
{
    NEED_BUILT_IN(state);
    // Blocks that fit together, and blocks that must be cut.
    static const int channels[][4] = {
        {16, 32, 16, 16}, {64, 64, 0, 0}, {12, 17, 3, 0}, {58, 58, 0, 0},
        {1, 5, 10, 30},   {24, 16, 8, 0}, {44, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        for (int shift = 0; shift < 3; shift++) {
            struct kernel_concat d = {.inputs = 0};
            for (int k = 0; k < 4 && channels[i][k]; k++, d.inputs++) {
                d.x[k] = op_map(3, channels[i][k], 5, 7);
                d.dx[k] = (enum kernel_dx)((k + shift) % 3);
            }
            check(state, &(struct op_case){OP_CONCAT, .concat = d});
        }
    }
}

static void shuffle(void **state)
{
    NEED_BUILT_IN(state);
    static const int cases[][2] = {{1, 1},  {12, 2}, {12, 3}, {24, 8}, {30, 3},  {44, 4},
                                   {58, 2}, {64, 2}, {64, 4}, {17, 1}, {116, 2}, {10, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_shuffle d = {op_map(3, cases[i][0], 5, 4), cases[i][1],
                                             (enum kernel_dx)dx};
            check(state, &(struct op_case){OP_SHUFFLE, .shuffle = d});
        }
    }
}

static void slice(void **state)
{
    NEED_BUILT_IN(state);
    // Channels, first, count: whole blocks, blocks cut, blocks left out.
    static const int cases[][3] = {{1, 0, 1},   {12, 3, 5},   {32, 16, 16},
                                   {58, 0, 29}, {58, 29, 29}, {116, 58, 58},
                                   {64, 8, 24}, {17, 16, 1},  {44, 0, 44}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_slice d = {op_map(3, cases[i][0], 5, 4), cases[i][1], cases[i][2],
                                           (enum kernel_dx)dx};
            check(state, &(struct op_case){OP_SLICE, .slice = d});
        }
    }
}

static void dropout(void **state)
{
    NEED_BUILT_IN(state);
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_dropout d = {op_map(3, CHANNELS[i], 1 + i % 4, 5),
                                             i % 3 ? 0.5f : 0.2f, (uint64_t)i, (enum kernel_dx)dx};
            check(state, &(struct op_case){OP_DROPOUT, .dropout = d});
        }
    }
}

static void reorder(void **state)
{
    NEED_BUILT_IN(state);
    const struct bench *bench = *state;
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            struct op_case c = {OP_REORDER, .reorder = {op_map(3, CHANNELS[i], 5, 7), bench->native,
                                                        (enum kernel_dx)dx}};
            check_layout(bench, &c, KERNEL_NCHW);
            c.reorder.y_layout = KERNEL_NCHW;
            check_layout(bench, &c, bench->native);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_images),
        cmocka_unit_test(conv_dense),
        cmocka_unit_test(conv_pointwise),
        cmocka_unit_test(conv_depthwise),
        cmocka_unit_test(conv_depthwise_windows),
        cmocka_unit_test(conv_grouped),
        cmocka_unit_test(batchnorm),
        cmocka_unit_test(activate),
        cmocka_unit_test(batchnorm_of_one_pixel),
        cmocka_unit_test(pool),
        cmocka_unit_test(adaptive_pool),
        cmocka_unit_test(max_pool_ties),
        cmocka_unit_test(global_pool),
        cmocka_unit_test(fc),
        cmocka_unit_test(add),
        cmocka_unit_test(add_to_itself),
        cmocka_unit_test(concat),
        cmocka_unit_test(shuffle),
        cmocka_unit_test(slice),
        cmocka_unit_test(dropout),
        cmocka_unit_test(reorder),
    };
    int failed = cmocka_run_group_tests_name("onednn", tests, setup_onednn, teardown);
    // The other ops are native with oneDNN, too.
    const struct CMUnitTest native[] = {
        cmocka_unit_test(conv_images),    cmocka_unit_test(conv_dense),
        cmocka_unit_test(conv_pointwise), cmocka_unit_test(conv_depthwise),
        cmocka_unit_test(conv_grouped),   cmocka_unit_test(fc),
    };
    return failed + (built_in("onednn")
                         ? cmocka_run_group_tests_name("native", native, setup_native, teardown)
                         : cmocka_run_group_tests_name("native", tests, setup_native, teardown));
}
