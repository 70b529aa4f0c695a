// SPDX-License-Identifier: Apache-2.0
// What the kernel refuses, and that each refusal is one line that says why.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "stannis/log.h"

// The lines since the last reset.
static struct {
    int count;
    char last[512];
} heard;

static void listen(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    assert_int_equal(level, STN_LOG_ERROR);
    heard.count++;
    snprintf(heard.last, sizeof heard.last, "%s", line);
}

static int setup(void **state)
{
    stn_log_set_sink(listen, NULL);
    return kernel_create("reference", 1, (struct kernel **)state) != STN_OK;
}

static int teardown(void **state)
{
    kernel_destroy(*state);
    stn_log_set_sink(NULL, NULL);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    heard.count = 0;
    return 0;
}

// One line since the last check, with these words.
static void check_line(const char *words)
{
    assert_int_equal(heard.count, 1);
    if (!strstr(heard.last, words))
        fail_msg("expected '%s' in: %s", words, heard.last);
    heard.count = 0;
}

static struct kernel_tensor map(int c, int h, int w)
{
    return (struct kernel_tensor){{2, c, h, w}, KERNEL_NCHW};
}

static void kernels(void **state)
{
    struct kernel *kernel = NULL;
    (void)state;
    assert_int_equal(kernel_create("abacus", 1, &kernel), STN_ERR_NOT_FOUND);
    check_line("reference");
    assert_int_equal(kernel_create("reference", 0, &kernel), STN_ERR_INVALID);
    check_line("0 threads");
    assert_null(kernel);
    kernel_destroy(NULL);
    kernel_op_destroy(NULL);
}

static void every_name_opens(void **state)
{
    const char *const *names = kernel_backend_names();
    (void)state;
    for (; *names; names++) {
        struct kernel *kernel = NULL;
        assert_int_equal(kernel_create(*names, 2, &kernel), STN_OK);
        assert_string_equal(kernel_name(kernel), *names);
        assert_int_equal(kernel_threads(kernel), 2);
        assert_true(strlen(kernel_version(kernel)) > 0);
        kernel_destroy(kernel);
    }
    struct kernel *best = NULL;
    assert_int_equal(kernel_create(NULL, 1, &best), STN_OK);
    assert_string_equal(kernel_name(best), kernel_backend_names()[0]);
    kernel_destroy(best);
}

static void refuse_conv(struct kernel *kernel, struct kernel_conv d, const char *words)
{
    struct kernel_op *op = NULL;
    assert_int_equal(kernel_conv_create(kernel, &d, &op), STN_ERR_INVALID);
    assert_null(op);
    check_line(words);
}

static void conv(void **state)
{
    const struct kernel_conv good = {
        .x = map(6, 5, 5),
        .out_channels = 4,
        .groups = 2,
        .window = {{3, 3}, {1, 1}, {0, 0}, {0, 0}},
    };
    struct kernel_conv d = good;
    d.x.shape.h = 0;
    refuse_conv(*state, d, "2×6×0×5");
    d = good;
    d.groups = 3;
    refuse_conv(*state, d, "3 groups do not divide 6 input and 4 output");
    d = good;
    d.groups = 0;
    refuse_conv(*state, d, "0 groups");
    d = good;
    d.out_channels = -1;
    refuse_conv(*state, d, "-1 output channels");
    d = good;
    d.window.size[1] = 6;
    refuse_conv(*state, d, "horizontal window 6 does not fit into 5");
    d = good;
    d.window.stride[0] = 0;
    refuse_conv(*state, d, "vertical window 3, stride 0");
    d = good;
    d.window.pad_after[0] = -1;
    refuse_conv(*state, d, "padding -1,0 after: must not be negative");
    d = good;
    d.x.layout = (enum kernel_layout)9;
    refuse_conv(*state, d, "no such layout");
}

static void pool(void **state)
{
    struct kernel_op *op = NULL;
    struct kernel_pool d = {.x = map(3, 5, 5), .window = {{2, 2}, {2, 2}, {2, 0}, {0, 0}}};
    assert_int_equal(kernel_pool_create(*state, &d, &op), STN_ERR_INVALID);
    check_line("without input");
    d.window.pad_before[0] = 0;
    d.window.size[0] = 6;
    assert_int_equal(kernel_pool_create(*state, &d, &op), STN_ERR_INVALID);
    check_line("does not fit");
    d = (struct kernel_pool){.x = map(3, 5, 5), .kind = KERNEL_POOL_ADAPTIVE, .out = {7, 0}};
    assert_int_equal(kernel_pool_create(*state, &d, &op), STN_ERR_INVALID);
    check_line("output of 7×0");
}

static void batchnorm_and_dropout(void **state)
{
    const float epsilons[] = {0, -1, NAN}, rates[] = {-0.1f, 1, NAN};
    struct kernel_op *op = NULL;
    for (int i = 0; i < 3; i++) {
        const struct kernel_batchnorm b = {.x = map(3, 5, 5), .epsilon = epsilons[i]};
        assert_int_equal(kernel_batchnorm_create(*state, &b, &op), STN_ERR_INVALID);
        check_line("epsilon");
        const struct kernel_dropout d = {.x = map(3, 5, 5), .rate = rates[i]};
        assert_int_equal(kernel_dropout_create(*state, &d, &op), STN_ERR_INVALID);
        check_line("rate");
    }
}

static void fc_shuffle_slice(void **state)
{
    struct kernel_op *op = NULL;
    struct kernel_fc f = {.x = map(3, 1, 1), .out_features = 0};
    assert_int_equal(kernel_fc_create(*state, &f, &op), STN_ERR_INVALID);
    check_line("0 output features");
    f.out_features = 2;
    f.x.layout = KERNEL_NCHW8C;
    assert_int_equal(kernel_fc_create(*state, &f, &op), STN_ERR_INVALID);
    check_line("must be NCHW");
    const struct kernel_shuffle s = {.x = map(6, 3, 3), .groups = 4};
    assert_int_equal(kernel_shuffle_create(*state, &s, &op), STN_ERR_INVALID);
    check_line("4 groups do not divide 6");
    const struct kernel_slice slice = {.x = map(6, 3, 3), .first = 4, .count = 3};
    assert_int_equal(kernel_slice_create(*state, &slice, &op), STN_ERR_INVALID);
    check_line("3 channels from 4 on are not among 6");
}

static void concat(void **state)
{
    struct kernel_op *op = NULL;
    struct kernel_concat d = {.inputs = 0, .x = {map(3, 5, 5), map(2, 5, 4)}};
    assert_int_equal(kernel_concat_create(*state, &d, &op), STN_ERR_INVALID);
    check_line("0 inputs");
    d.inputs = KERNEL_INPUTS_MAX + 1;
    assert_int_equal(kernel_concat_create(*state, &d, &op), STN_ERR_INVALID);
    check_line("must be 1 to 16");
    d.inputs = 2;
    assert_int_equal(kernel_concat_create(*state, &d, &op), STN_ERR_INVALID);
    check_line("input 1 differs");
    d.x[1] = (struct kernel_tensor){{2, 2, 5, 5}, KERNEL_NCHW8C};
    assert_int_equal(kernel_concat_create(*state, &d, &op), STN_ERR_INVALID);
    check_line("input 1 differs");
}

// The other kinds have nothing but their shape to get wrong.
static void shapes(void **state)
{
    struct kernel_op *op = NULL;
    const struct kernel_tensor empty = map(0, 3, 3);
    assert_int_equal(kernel_activate_create(*state, &(struct kernel_activate){.x = empty}, &op),
                     STN_ERR_INVALID);
    check_line("activate: input of 2×0×3×3");
    assert_int_equal(
        kernel_global_pool_create(*state, &(struct kernel_global_pool){.x = empty}, &op),
        STN_ERR_INVALID);
    check_line("global_pool");
    assert_int_equal(kernel_add_create(*state, &(struct kernel_add){.x = empty}, &op),
                     STN_ERR_INVALID);
    check_line("add");
    const struct kernel_reorder r = {.x = map(3, 3, 3), .y_layout = (enum kernel_layout)3};
    assert_int_equal(kernel_reorder_create(*state, &r, &op), STN_ERR_INVALID);
    check_line("no such layout");
}

static void reference_knows_only_nchw(void **state)
{
    struct kernel_op *op = NULL;
    const struct kernel_tensor blocked = {{2, 8, 3, 3}, KERNEL_NCHW8C};
    assert_int_equal(kernel_add_create(*state, &(struct kernel_add){.x = blocked}, &op),
                     STN_ERR_UNSUPPORTED);
    check_line("only NCHW");
    const struct kernel_batchnorm b = {.x = blocked, .epsilon = 1};
    assert_int_equal(kernel_batchnorm_create(*state, &b, &op), STN_ERR_UNSUPPORTED);
    check_line("only NCHW");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(kernels),
        TEST(every_name_opens),
        TEST(conv),
        TEST(pool),
        TEST(concat),
        TEST(batchnorm_and_dropout),
        TEST(fc_shuffle_slice),
        TEST(shapes),
        TEST(reference_knows_only_nchw),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
