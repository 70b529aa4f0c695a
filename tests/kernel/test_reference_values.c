// SPDX-License-Identifier: Apache-2.0
// What finite differences cannot show: values worked out by hand, ties, NaN, running statistics,
// evaluation, dropout's rate, layouts.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/op_harness.h"

static int setup(void **state)
{
    return kernel_create("reference", 2, (struct kernel **)state) != STN_OK;
}

static int teardown(void **state)
{
    kernel_destroy(*state);
    return 0;
}

static void expect(const float *got, const float *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(got[i] - expected[i]) <= 1e-6f * (1 + fabsf(expected[i]))))
            fail_msg("[%zu] is %g, not %g", i, (double)got[i], (double)expected[i]);
    }
}

static struct kernel_op *create(void **state, struct op_case c)
{
    struct kernel_op *op = NULL;
    assert_int_equal(op_create(*state, &c, &op), STN_OK);
    return op;
}

static void run_forward(struct kernel_op *op, const struct kernel_io *io)
{
    kernel_op_prepare(op, 0, io->params);
    if (io->phase == KERNEL_TRAIN) {
        kernel_op_forward_gather(op, io);
    }
    kernel_op_forward_settle(op, io);
    assert_int_equal(kernel_op_forward(op, io), STN_OK);
}

static void conv_by_hand(void **state)
{
    // One 3×3 image, one 2×2 kernel at stride 2 with a row of padding above and a column before.
    const float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[4] = {1, 10, 100, 1000}, b[1] = {0.5f};
    const float expected[4] = {1000.5f, 3200.5f, 7040.5f, 9865.5f};
    const struct kernel_conv d = {.x = op_map(1, 1, 3, 3),
                                  .out_channels = 1,
                                  .groups = 1,
                                  .bias = true,
                                  .window = {{2, 2}, {2, 2}, {1, 1}, {0, 0}}};
    double scratch[32];
    float y[4];
    struct kernel_op *op = create(state, (struct op_case){OP_CONV, .conv = d});
    assert_true(kernel_op_traits(op)->scratch_bytes <= sizeof scratch);
    assert_int_equal(kernel_op_traits(op)->macs, 4 * 4);
    assert_string_equal(kernel_op_traits(op)->name, "conv");
    const struct kernel_io io = {.rows = 1,
                                 .x = (const float *[]){x},
                                 .y = y,
                                 .params = (const float *[]){w, b},
                                 .scratch = scratch};
    run_forward(op, &io);
    expect(y, expected, 4);
    kernel_op_destroy(op);
}

static void batchnorm_by_hand(void **state)
{
    // Two samples of one pixel, and a third that is not real.
    const float x[3] = {1, 5, 100}, gamma[1] = {2}, beta[1] = {1};
    float y[3], mean_sum[1] = {10}, variance_sum[1] = {20};
    double saved[8];
    const struct kernel_batchnorm d = {.x = op_map(3, 1, 1, 1), .epsilon = 1e-12f};
    struct kernel_op *op = create(state, (struct op_case){OP_BATCHNORM, .batchnorm = d});
    assert_true(kernel_op_traits(op)->saved_bytes <= sizeof saved);
    struct kernel_io io = {.samples = 3,
                           .rows = 2,
                           .x = (const float *[]){x},
                           .y = y,
                           .params = (const float *[]){gamma, beta},
                           .buffer_sums = (float *[]){mean_sum, variance_sum},
                           .saved = saved};
    run_forward(op, &io);
    expect(y, (const float[]){-1, 3}, 2); // mean 3, biased variance 4
    expect(mean_sum, (const float[]){10 + 2 * 3}, 1);
    expect(variance_sum, (const float[]){20 + 2 * 8}, 1); // unbiased: 8/(2 − 1)
    io.rows = 1;
    run_forward(op, &io);
    expect(y, beta, 1);
    expect(variance_sum, (const float[]){36}, 1); // one element: variance 0, not NaN
    kernel_op_destroy(op);
}

static void batchnorm_evaluates_with_running_statistics(void **state)
{
    const float x[2] = {1, 5}, gamma[1] = {2}, beta[1] = {1}, mean[1] = {3}, variance[1] = {16};
    float y[2];
    const struct kernel_batchnorm d = {
        .x = op_map(2, 1, 1, 1), .epsilon = 1e-12f, .activation = KERNEL_RELU};
    struct kernel_op *op = create(state, (struct op_case){OP_BATCHNORM, .batchnorm = d});
    const struct kernel_io io = {.phase = KERNEL_EVAL,
                                 .samples = 2,
                                 .rows = 2,
                                 .x = (const float *[]){x},
                                 .y = y,
                                 .params = (const float *[]){gamma, beta},
                                 .buffers = (const float *[]){mean, variance}};
    run_forward(op, &io);
    expect(y, (const float[]){0, 2}, 2);
    assert_string_equal(kernel_op_traits(op)->name, "batchnorm+relu");
    kernel_op_destroy(op);
}

static void batchnorm_of_rows_that_are_not_real(void **state)
{
    const struct kernel_batchnorm d = {.x = op_map(3, 2, 2, 2),
                                       .epsilon = 1e-5f,
                                       .residual = true,
                                       .dx = {KERNEL_DX_WRITE, KERNEL_DX_WRITE}};
    const struct op_case c = {OP_BATCHNORM, .batchnorm = d};
    struct op_data data;
    struct op_result result;
    op_data_init(&data, *state, &c, 2, 3, 0);
    for (size_t i = 16; i < 24; i++)
        data.dy.at[i] = 1; // dy must not count there either
    op_run(*state, &c, &data, (struct op_run){0}, &result);
    for (size_t i = 16; i < 24; i++)
        assert_true(result.dx[0].at[i] == 0 && result.dx[1].at[i] == 0);
    op_result_fini(&result);
    op_data_fini(&data);
}

static void max_pool_ties_and_nan(void **state)
{
    const float x[6] = {7, 7, 1, 2, NAN, 9};
    float y[2], dy[2] = {1, 2}, dx[6];
    int32_t saved[2];
    const struct kernel_pool d = {.x = op_map(1, 1, 1, 6),
                                  .kind = KERNEL_POOL_MAX,
                                  .window = {{1, 3}, {1, 3}, {0, 0}, {0, 0}},
                                  .dx = KERNEL_DX_WRITE};
    struct kernel_op *op = create(state, (struct op_case){OP_POOL, .pool = d});
    assert_int_equal(kernel_op_traits(op)->saved_bytes, sizeof saved);
    const struct kernel_io io = {.rows = 1,
                                 .x = (const float *[]){x},
                                 .y = y,
                                 .dy = dy,
                                 .dx = (float *[]){dx},
                                 .saved = saved};
    run_forward(op, &io);
    assert_true(y[0] == 7 && isnan(y[1]));
    assert_int_equal(kernel_op_backward(op, &io), STN_OK);
    expect(dx, (const float[]){1, 0, 0, 0, 2, 0}, 6);
    kernel_op_destroy(op);
}

static void average_pool_counts_padding_if_asked(void **state)
{
    const float x[4] = {1, 2, 3, 4};
    for (int count = 0; count < 2; count++) {
        float y[4];
        const struct kernel_pool d = {.x = op_map(1, 1, 2, 2),
                                      .kind = KERNEL_POOL_AVERAGE,
                                      .window = op_window(2, 2, 2, 1),
                                      .count_padding = count};
        struct kernel_op *op = create(state, (struct op_case){OP_POOL, .pool = d});
        const struct kernel_io io = {.rows = 1, .x = (const float *[]){x}, .y = y};
        run_forward(op, &io);
        const float scale = count ? 0.25f : 1;
        expect(y, (const float[]){scale, 2 * scale, 3 * scale, 4 * scale}, 4);
        kernel_op_destroy(op);
    }
}

// As PyTorch cuts a line: 5 pixels into 3 overlap, 2 pixels into 3 repeat.
static void adaptive_pool_overlaps_and_repeats(void **state)
{
    const struct {
        int w;
        float x[5], y[3];
    } lines[] = {
        {5, {1, 3, 5, 9, 11}, {2, 17.0f / 3, 10}},
        {2, {1, 3}, {1, 2, 3}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        float y[3];
        const struct kernel_pool d = {
            .x = op_map(1, 1, 1, lines[i].w), .kind = KERNEL_POOL_ADAPTIVE, .out = {1, 3}};
        struct kernel_op *op = create(state, (struct op_case){OP_POOL, .pool = d});
        const struct kernel_io io = {.rows = 1, .x = (const float *[]){lines[i].x}, .y = y};
        run_forward(op, &io);
        expect(y, lines[i].y, 3);
        kernel_op_destroy(op);
    }
}

static void activations_keep_nan(void **state)
{
    const float x[4] = {NAN, -1, 7, 3};
    for (int a = KERNEL_RELU; a <= KERNEL_RELU6; a++) {
        float y[4];
        const struct kernel_activate d = {.x = op_map(1, 4, 1, 1),
                                          .activation = (enum kernel_activation)a};
        struct kernel_op *op = create(state, (struct op_case){OP_ACTIVATE, .activate = d});
        const struct kernel_io io = {.rows = 1, .x = (const float *[]){x}, .y = y};
        run_forward(op, &io);
        assert_true(isnan(y[0]));
        expect(y + 1, (const float[]){0, a == KERNEL_RELU ? 7 : 6, 3}, 3);
        kernel_op_destroy(op);
    }
}

static void shuffle_by_hand(void **state)
{
    const float x[6] = {0, 1, 2, 3, 4, 5};
    float y[6];
    const struct kernel_shuffle d = {.x = op_map(1, 6, 1, 1), .groups = 2};
    struct kernel_op *op = create(state, (struct op_case){OP_SHUFFLE, .shuffle = d});
    const struct kernel_io io = {.rows = 1, .x = (const float *[]){x}, .y = y};
    run_forward(op, &io);
    expect(y, (const float[]){0, 3, 1, 4, 2, 5}, 6);
    kernel_op_destroy(op);
}

// The share of zeros is the rate, samples and salts differ, and evaluation is the identity.
static void dropout_draws(void **state)
{
    enum { COUNT = 20000 };
    const struct kernel_dropout d = {.x = op_map(2, COUNT, 1, 1), .rate = 0.25f, .salt = 1};
    struct op_case c = {OP_DROPOUT, .dropout = d};
    struct op_data data;
    struct op_result one, other, eval;
    op_data_init(&data, *state, &c, 2, 9, 0);
    op_run(*state, &c, &data, (struct op_run){.forward_only = true}, &one);
    op_run(*state, &c, &data, (struct op_run){.phase = KERNEL_EVAL}, &eval);
    c.dropout.salt = 2;
    op_run(*state, &c, &data, (struct op_run){.forward_only = true}, &other);
    int zeros = 0, rows_differ = 0, salts_differ = 0;
    for (size_t i = 0; i < COUNT; i++) {
        zeros += one.y.at[i] == 0;
        rows_differ += (one.y.at[i] == 0) != (one.y.at[i + COUNT] == 0);
        salts_differ += (one.y.at[i] == 0) != (other.y.at[i] == 0);
        if (one.y.at[i] != 0)
            assert_true(one.y.at[i] == data.x[0].at[i] * (1 / 0.75f));
    }
    assert_true(abs(zeros - COUNT / 4) < 300); // 5 standard deviations
    assert_true(abs(rows_differ - COUNT * 3 / 8) < 350);
    assert_true(abs(salts_differ - COUNT * 3 / 8) < 350);
    assert_memory_equal(eval.y.at, data.x[0].at, eval.y.count * sizeof(float));
    op_result_fini(&one);
    op_result_fini(&other);
    op_result_fini(&eval);
    op_data_fini(&data);
}

// Through every pair of layouts and back; the harness converts on its own and checks padding lanes.
static void reorder_knows_all_layouts(void **state)
{
    for (int from = KERNEL_NCHW; from <= KERNEL_NCHW16C; from++) {
        for (int to = KERNEL_NCHW; to <= KERNEL_NCHW16C; to++) {
            const struct kernel_reorder d = {op_map(2, 19, 3, 2), (enum kernel_layout)to,
                                             KERNEL_DX_WRITE};
            const struct op_case c = {OP_REORDER, .reorder = d};
            struct op_data data;
            struct op_result result;
            op_data_init(&data, *state, &c, 2, 3, 0);
            op_run(*state, &c, &data, (struct op_run){.layout = (enum kernel_layout)from}, &result);
            assert_memory_equal(result.y.at, data.x[0].at, result.y.count * sizeof(float));
            assert_memory_equal(result.dx[0].at, data.dy.at, data.dy.count * sizeof(float));
            op_result_fini(&result);
            op_data_fini(&data);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_by_hand),
        cmocka_unit_test(batchnorm_by_hand),
        cmocka_unit_test(batchnorm_evaluates_with_running_statistics),
        cmocka_unit_test(batchnorm_of_rows_that_are_not_real),
        cmocka_unit_test(max_pool_ties_and_nan),
        cmocka_unit_test(average_pool_counts_padding_if_asked),
        cmocka_unit_test(adaptive_pool_overlaps_and_repeats),
        cmocka_unit_test(activations_keep_nan),
        cmocka_unit_test(shuffle_by_hand),
        cmocka_unit_test(dropout_draws),
        cmocka_unit_test(reorder_knows_all_layouts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
