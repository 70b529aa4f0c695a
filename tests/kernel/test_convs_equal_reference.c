// SPDX-License-Identifier: Apache-2.0
// Convolutions of the backends onednn and native against the reference, over a spread of shapes.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/against_reference.h"

static void check_convs(void **state, const struct kernel_conv *cases, size_t count)
{
    const struct against *bench = *state;
    for (size_t i = 0; i < count; i++) {
        const struct op_case c = {OP_CONV, .conv = cases[i]};
        const bool image = cases[i].dx == KERNEL_DX_NONE; // which is never blocked
        if (image || cases[i].x.shape.c <= 3)
            against_layout(bench, &c, KERNEL_NCHW);
        if (!image)
            against_layout(bench, &c, bench->native);
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
        against_layout(*state, &(struct op_case){OP_CONV, .conv = d},
                       ((const struct against *)*state)->native);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_images),    cmocka_unit_test(conv_dense),
        cmocka_unit_test(conv_pointwise), cmocka_unit_test(conv_depthwise),
        cmocka_unit_test(conv_grouped),
    };
    // With oneDNN these are native, too.
    const struct CMUnitTest windows[] = {cmocka_unit_test(conv_depthwise_windows)};
    return cmocka_run_group_tests_name("onednn", tests, against_onednn, against_end) +
           cmocka_run_group_tests_name("native", tests, against_native, against_end) +
           cmocka_run_group_tests_name("windows", windows,
                                       against_built_in("onednn") ? against_onednn : against_native,
                                       against_end);
}
