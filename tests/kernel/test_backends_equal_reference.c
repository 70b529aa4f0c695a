// SPDX-License-Identifier: Apache-2.0
// The backends onednn and native against the reference, op by op, over a spread of shapes;
// convolutions are in a program of their own.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/against_reference.h"

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
            against_check(state, &(struct op_case){OP_BATCHNORM, .batchnorm = d});
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
        against_check(state, &(struct op_case){OP_BATCHNORM, .batchnorm = cases[i]});
}

static void activate(void **state)
{
    NEED_BUILT_IN(state);
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_activate d = {op_map(3, CHANNELS[i], 7, 5),
                                              i % 2 ? KERNEL_RELU : KERNEL_RELU6,
                                              (enum kernel_dx)dx};
            against_check(state, &(struct op_case){OP_ACTIVATE, .activate = d});
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
            against_check(state, &(struct op_case){OP_POOL, .pool = d});
            d.kind = KERNEL_POOL_AVERAGE;
            d.count_padding = i / 2 % 2;
            against_check(state, &(struct op_case){OP_POOL, .pool = d});
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
            against_check(state, &(struct op_case){OP_POOL, .pool = d});
        }
    }
}

// Plateaus, as after an activation: the first of equals gets the gradient.
static void max_pool_ties(void **state)
{
    NEED_BUILT_IN(state);
    const struct against *bench = *state;
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
        against_run(bench, &data, (struct against_where){&c, KERNEL_NCHW, 2}, KERNEL_TRAIN);
        against_run(bench, &data, (struct against_where){&c, bench->native, 2}, KERNEL_TRAIN);
        op_data_fini(&data);
    }
}

static void global_pool(void **state)
{
    NEED_BUILT_IN(state);
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_global_pool d = {op_map(3, CHANNELS[i], 7, 5), (enum kernel_dx)dx};
            against_check(state, &(struct op_case){OP_GLOBAL_POOL, .global_pool = d});
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
        against_layout(*state, &(struct op_case){OP_FC, .fc = cases[i]}, KERNEL_NCHW);
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
            against_check(state, &(struct op_case){OP_ADD, .add = d});
        }
    }
}

// x + x: both gradients are one buffer, apart from dy or dy itself.
static void add_to_itself(void **state)
{
    NEED_BUILT_IN(state);
    enum { FLOATS = 64 };
    const struct against *bench = *state;
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
            against_check(state, &(struct op_case){OP_CONCAT, .concat = d});
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
            against_check(state, &(struct op_case){OP_SHUFFLE, .shuffle = d});
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
            against_check(state, &(struct op_case){OP_SLICE, .slice = d});
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
            against_check(state, &(struct op_case){OP_DROPOUT, .dropout = d});
        }
    }
}

static void reorder(void **state)
{
    NEED_BUILT_IN(state);
    const struct against *bench = *state;
    for (int i = 0; i < CHANNELS_COUNT; i++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            struct op_case c = {OP_REORDER, .reorder = {op_map(3, CHANNELS[i], 5, 7), bench->native,
                                                        (enum kernel_dx)dx}};
            against_layout(bench, &c, KERNEL_NCHW);
            c.reorder.y_layout = KERNEL_NCHW;
            against_layout(bench, &c, bench->native);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    int failed = cmocka_run_group_tests_name("onednn", tests, against_onednn, against_end);
    // The other ops are native with oneDNN, too.
    const struct CMUnitTest native[] = {cmocka_unit_test(fc)};
    return failed +
           (against_built_in("onednn")
                ? cmocka_run_group_tests_name("native", native, against_native, against_end)
                : cmocka_run_group_tests_name("native", tests, against_native, against_end));
}
