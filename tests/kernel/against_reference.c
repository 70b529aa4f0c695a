// SPDX-License-Identifier: Apache-2.0
// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernel/against_reference.h"

static const float MARGIN = 1e-3f; // what rounding may move the argument of an activation
static const double TOLERANCE = 1e-4;

bool against_built_in(const char *name)
{
    for (const char *const *n = kernel_backend_names(); *n; n++) {
        if (strcmp(*n, name) == 0)
            return true;
    }
    return false;
}

static int setup(void **state, const char *backend)
{
    static struct against bench;
    bench = (struct against){0};
    const struct kernel_conv probe = {
        .x = op_map(1, 3, 8, 8), .out_channels = 16, .groups = 1, .window = op_window(3, 3, 1, 1)};
    struct kernel_op *op = NULL;
    *state = &bench;
    if (kernel_create("reference", 2, &bench.reference))
        return -1;
    if (!against_built_in(backend))
        return 0;
    if (kernel_create(backend, 2, &bench.fast) || kernel_conv_create(bench.fast, &probe, &op))
        return -1;
    bench.native = kernel_op_traits(op)->y.layout;
    kernel_op_destroy(op);
    return 0;
}

int against_onednn(void **state)
{
    return setup(state, "onednn");
}

int against_native(void **state)
{
    return setup(state, "native");
}

int against_end(void **state)
{
    struct against *bench = *state;
    kernel_destroy(bench->reference);
    kernel_destroy(bench->fast);
    return 0;
}

// ---- comparing ---------------------------------------------------------------------------------

static void close_enough(void *context, const char *name, int index, struct op_array got,
                         struct op_array expected)
{
    const struct against_where *where = context;
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
    const struct against_where *where = context;
    assert_int_equal(a.count, b.count);
    if (a.count && memcmp(a.at, b.at, a.count * sizeof *a.at) != 0)
        fail_msg("%s, layout %d, rows %d: %s %d is not the same when run again",
                 op_describe(where->c), (int)where->layout, where->rows, name, index);
}

void against_run(const struct against *bench, const struct op_data *data,
                 struct against_where where, enum kernel_phase phase)
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

void against_layout(const struct against *bench, const struct op_case *c, enum kernel_layout layout)
{
    const int n = op_input_shape(c, 0).n;
    const int rows[2] = {n, 2};
    for (int i = 0; i < (n > 2 ? 2 : 1); i++) {
        struct op_data data;
        const struct against_where where = {c, layout, rows[i]};
        op_data_init(&data, bench->reference, c, rows[i], 21, MARGIN);
        against_run(bench, &data, where, KERNEL_TRAIN);
        if (rows[i] == n)
            against_run(bench, &data, where, KERNEL_EVAL);
        op_data_fini(&data);
    }
}

void against_check(void **state, const struct op_case *c)
{
    const struct against *bench = *state;
    against_layout(bench, c, KERNEL_NCHW);
    against_layout(bench, c, bench->native);
}
