// SPDX-License-Identifier: Apache-2.0
// The reference backend's backward against central differences of its own forward: with a random r,
// the loss is y·r, summed in double; dy = r. Also: results do not depend on the number of threads,
// nor on buffers being shared where the op permits it.
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernel/op_harness.h"

static const float STEP = 0x1p-7f;
static const float MARGIN = 0.1f; // what a step may move the argument of an activation
static const double TOLERANCE = 2e-3;

static int setup(void **state)
{
    return kernel_create("reference", 2, (struct kernel **)state) != STN_OK;
}

static int teardown(void **state)
{
    kernel_destroy(*state);
    return 0;
}

static double loss(struct kernel *kernel, const struct op_case *c, const struct op_data *data)
{
    struct op_result result;
    double sum = 0;
    op_run(kernel, c, data, (struct op_run){.forward_only = true}, &result);
    for (size_t i = 0; i < result.y.count; i++)
        sum += (double)result.y.at[i] * data->dy.at[i];
    op_result_fini(&result);
    return sum;
}

// Compares the gradient that the op gave (less what was there before) with differences along every
// element of `subject`, which is an array of `data`.
static void check_array(struct kernel *kernel, const struct op_case *c, const struct op_data *data,
                        const char *name, struct op_array subject, struct op_array gradient,
                        const float *before)
{
    double largest = 0;
    for (size_t i = 0; i < gradient.count; i++)
        largest = fmax(largest, fabs((double)gradient.at[i] - (before ? before[i] : 0)));
    assert_int_equal(subject.count, gradient.count);
    for (size_t i = 0; i < subject.count; i++) {
        const float original = subject.at[i];
        subject.at[i] = original + STEP;
        const double above = loss(kernel, c, data);
        const double width = subject.at[i];
        subject.at[i] = original - STEP;
        const double below = loss(kernel, c, data);
        const double expected = (above - below) / (width - subject.at[i]);
        subject.at[i] = original;
        const double got = (double)gradient.at[i] - (before ? before[i] : 0);
        if (!(fabs(got - expected) <= TOLERANCE * (largest + 1e-2)))
            fail_msg("%s: %s[%zu]: gradient %g, difference %g", op_describe(c), name, i, got,
                     expected);
    }
}

static void identical(void *context, const char *name, int index, struct op_array a,
                      struct op_array b)
{
    assert_int_equal(a.count, b.count);
    if (a.count && memcmp(a.at, b.at, a.count * sizeof *a.at) != 0)
        fail_msg("%s: %s %d differs between two ways to run it", op_describe(context), name, index);
}

static void check_same(const struct op_case *c, const struct op_data *data, int threads,
                       bool in_place, const struct op_result *expected)
{
    struct kernel *kernel = NULL;
    struct op_result result;
    struct op_case copy = *c;
    assert_int_equal(kernel_create("reference", threads, &kernel), STN_OK);
    op_run(kernel, c, data, (struct op_run){.in_place = in_place}, &result);
    op_result_compare(&result, expected, identical, &copy);
    op_result_fini(&result);
    kernel_destroy(kernel);
}

static void check_rows(struct kernel *kernel, struct op_case c, int rows)
{
    struct op_data data;
    struct op_result result;
    op_data_init(&data, kernel, &c, rows, 7, MARGIN);
    op_run(kernel, &c, &data, (struct op_run){0}, &result);
    for (int i = 0; i < op_inputs(&c); i++) {
        const bool adds = op_dx(&c, i) == KERNEL_DX_ADD;
        if (op_dx(&c, i) == KERNEL_DX_NONE)
            assert_int_equal(result.dx[i].count, 0);
        else
            check_array(kernel, &c, &data, i ? "x1" : "x0", data.x[i], result.dx[i],
                        adds ? data.dx_before[i].at : NULL);
    }
    for (int i = 0; i < KERNEL_PARAMS_MAX; i++)
        check_array(kernel, &c, &data, i ? "parameter 1" : "parameter 0", data.params[i],
                    result.param_grads[i], data.grads_before[i].at);
    check_same(&c, &data, 1, false, &result);
    check_same(&c, &data, 3, true, &result);
    op_result_fini(&result);
    op_data_fini(&data);
}

// With all rows, and with the last one not real.
static void check(void **state, struct op_case c)
{
    const int n = op_input_shape(&c, 0).n;
    check_rows(*state, c, n);
    if (n > 1)
        check_rows(*state, c, n - 1);
}

static void conv(void **state)
{
    const struct kernel_window uneven = {{3, 2}, {2, 1}, {0, 1}, {2, 0}};
    const struct kernel_conv cases[] = {
        {op_map(2, 3, 5, 4), 4, 1, op_window(3, 3, 1, 1), true, KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
        {op_map(2, 3, 5, 6), 2, 1, op_window(3, 3, 2, 1), false, KERNEL_RELU, KERNEL_DX_ADD, 0},
        {op_map(2, 4, 5, 5), 6, 2, op_window(1, 3, 1, 0), true, KERNEL_RELU6, KERNEL_DX_WRITE, 0},
        {op_map(2, 3, 6, 5), 3, 3, op_window(5, 5, 2, 2), false, KERNEL_RELU6, KERNEL_DX_ADD, 0},
        {op_map(2, 2, 6, 5), 3, 1, uneven, true, KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
        {op_map(2, 2, 3, 3), 3, 1, op_window(1, 1, 2, 0), true, KERNEL_RELU, KERNEL_DX_NONE, 0},
        {op_map(1, 1, 2, 2), 1, 1, op_window(5, 5, 3, 4), true, KERNEL_LINEAR, KERNEL_DX_WRITE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(state, (struct op_case){OP_CONV, .conv = cases[i]});
}

static void batchnorm(void **state)
{
    const struct kernel_tensor x = op_map(3, 3, 2, 3);
    const struct kernel_batchnorm cases[] = {
        {x, 1e-5f, false, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_NONE}},
        {x, 1e-3f, false, KERNEL_RELU, {KERNEL_DX_ADD, KERNEL_DX_NONE}},
        {x, 1e-5f, false, KERNEL_RELU6, {KERNEL_DX_NONE, KERNEL_DX_NONE}},
        {x, 1e-5f, true, KERNEL_RELU6, {KERNEL_DX_WRITE, KERNEL_DX_WRITE}},
        {x, 1e-5f, true, KERNEL_RELU, {KERNEL_DX_ADD, KERNEL_DX_WRITE}},
        {x, 1e-5f, true, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_ADD}},
        {x, 1e-5f, true, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_NONE}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(state, (struct op_case){OP_BATCHNORM, .batchnorm = cases[i]});
}

static void activate(void **state)
{
    for (int a = KERNEL_LINEAR; a <= KERNEL_RELU6; a++) {
        for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
            const struct kernel_activate d = {op_map(2, 3, 4, 5), (enum kernel_activation)a,
                                              (enum kernel_dx)dx};
            check(state, (struct op_case){OP_ACTIVATE, .activate = d});
        }
    }
}

static void pool(void **state)
{
    const struct kernel_tensor x = op_map(2, 2, 7, 6);
    const struct kernel_window uneven = {{3, 2}, {2, 1}, {0, 1}, {1, 0}};
    const struct kernel_window none = {0};
    const struct kernel_pool cases[] = {
        {x, KERNEL_POOL_MAX, op_window(3, 3, 2, 1), false, KERNEL_DX_WRITE, {0}},
        {x, KERNEL_POOL_MAX, op_window(2, 2, 2, 0), false, KERNEL_DX_ADD, {0}},
        {x, KERNEL_POOL_MAX, uneven, false, KERNEL_DX_WRITE, {0}},
        {x, KERNEL_POOL_AVERAGE, op_window(3, 3, 1, 1), false, KERNEL_DX_WRITE, {0}},
        {x, KERNEL_POOL_AVERAGE, op_window(3, 3, 2, 1), true, KERNEL_DX_ADD, {0}},
        {x, KERNEL_POOL_AVERAGE, uneven, false, KERNEL_DX_ADD, {0}},
        {x, KERNEL_POOL_AVERAGE, uneven, true, KERNEL_DX_WRITE, {0}},
        {x, KERNEL_POOL_AVERAGE, uneven, true, KERNEL_DX_NONE, {0}},
        {x, KERNEL_POOL_ADAPTIVE, none, false, KERNEL_DX_WRITE, {3, 4}},
        {x, KERNEL_POOL_ADAPTIVE, none, false, KERNEL_DX_ADD, {9, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(state, (struct op_case){OP_POOL, .pool = cases[i]});
}

static void global_pool(void **state)
{
    for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
        const struct kernel_global_pool d = {op_map(2, 3, 4, 5), (enum kernel_dx)dx};
        check(state, (struct op_case){OP_GLOBAL_POOL, .global_pool = d});
    }
}

static void fc(void **state)
{
    const struct kernel_fc cases[] = {
        {op_map(3, 4, 2, 3), 5, true, KERNEL_LINEAR, KERNEL_DX_WRITE},
        {op_map(3, 7, 1, 1), 3, false, KERNEL_RELU, KERNEL_DX_ADD},
        {op_map(2, 9, 1, 1), 4, true, KERNEL_RELU6, KERNEL_DX_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(state, (struct op_case){OP_FC, .fc = cases[i]});
}

static void add(void **state)
{
    const struct kernel_tensor x = op_map(2, 3, 3, 4);
    const struct kernel_add cases[] = {
        {x, KERNEL_LINEAR, {KERNEL_DX_WRITE, KERNEL_DX_WRITE}},
        {x, KERNEL_RELU, {KERNEL_DX_ADD, KERNEL_DX_WRITE}},
        {x, KERNEL_RELU6, {KERNEL_DX_WRITE, KERNEL_DX_ADD}},
        {x, KERNEL_LINEAR, {KERNEL_DX_NONE, KERNEL_DX_ADD}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(state, (struct op_case){OP_ADD, .add = cases[i]});
}

static void concat(void **state)
{
    const struct kernel_concat d = {
        .inputs = 4,
        .x = {op_map(2, 3, 3, 2), op_map(2, 1, 3, 2), op_map(2, 4, 3, 2), op_map(2, 2, 3, 2)},
        .dx = {KERNEL_DX_WRITE, KERNEL_DX_ADD, KERNEL_DX_NONE, KERNEL_DX_ADD},
    };
    check(state, (struct op_case){OP_CONCAT, .concat = d});
}

static void shuffle(void **state)
{
    for (int groups = 1; groups <= 6; groups++) {
        const struct kernel_shuffle d = {op_map(2, 6, 3, 2), groups,
                                         groups % 2 ? KERNEL_DX_WRITE : KERNEL_DX_ADD};
        if (6 % groups == 0)
            check(state, (struct op_case){OP_SHUFFLE, .shuffle = d});
    }
}

static void slice(void **state)
{
    for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
        const struct kernel_slice d = {op_map(2, 6, 3, 2), 1 + dx, 3, (enum kernel_dx)dx};
        check(state, (struct op_case){OP_SLICE, .slice = d});
    }
}

static void dropout(void **state)
{
    for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
        const struct kernel_dropout d = {op_map(2, 3, 4, 5), 0.3f, 11, (enum kernel_dx)dx};
        check(state, (struct op_case){OP_DROPOUT, .dropout = d});
    }
}

static void reorder(void **state)
{
    for (int dx = KERNEL_DX_NONE; dx <= KERNEL_DX_ADD; dx++) {
        const struct kernel_reorder d = {op_map(2, 11, 3, 2), KERNEL_NCHW8C, (enum kernel_dx)dx};
        check(state, (struct op_case){OP_REORDER, .reorder = d});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv),  cmocka_unit_test(batchnorm),   cmocka_unit_test(activate),
        cmocka_unit_test(pool),  cmocka_unit_test(global_pool), cmocka_unit_test(fc),
        cmocka_unit_test(add),   cmocka_unit_test(concat),      cmocka_unit_test(shuffle),
        cmocka_unit_test(slice), cmocka_unit_test(dropout),     cmocka_unit_test(reorder),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
