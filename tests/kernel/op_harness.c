// SPDX-License-Identifier: Apache-2.0
// See op_harness.h.
#include "kernel/op_harness.h"

// cmocka.h needs these four first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

// ---- cases -------------------------------------------------------------------------------------

// Where a case's descriptor keeps what all kinds have.
struct view {
    const char *name;
    int inputs;
    struct kernel_tensor *x; // [tensors]; with fewer tensors than inputs all share the first
    int tensors;
    const enum kernel_dx *dx;           // [inputs]
    enum kernel_activation *activation; // NULL: none
};

static struct view view_of(struct op_case *c)
{
    switch (c->kind) {
    case OP_CONV: return (struct view){"conv", 1, &c->conv.x, 1, &c->conv.dx, &c->conv.activation};
    case OP_BATCHNORM:
        return (struct view){"batchnorm", 1 + c->batchnorm.residual, &c->batchnorm.x,
                             1,           c->batchnorm.dx,           &c->batchnorm.activation};
    case OP_ACTIVATE:
        return (struct view){
            "activate", 1, &c->activate.x, 1, &c->activate.dx, &c->activate.activation};
    case OP_POOL: return (struct view){"pool", 1, &c->pool.x, 1, &c->pool.dx, NULL};
    case OP_GLOBAL_POOL:
        return (struct view){"global_pool", 1, &c->global_pool.x, 1, &c->global_pool.dx, NULL};
    case OP_FC: return (struct view){"fc", 1, &c->fc.x, 1, &c->fc.dx, &c->fc.activation};
    case OP_ADD: return (struct view){"add", 2, &c->add.x, 1, c->add.dx, &c->add.activation};
    case OP_CONCAT:
        return (struct view){"concat",         c->concat.inputs, c->concat.x,
                             c->concat.inputs, c->concat.dx,     NULL};
    case OP_SHUFFLE: return (struct view){"shuffle", 1, &c->shuffle.x, 1, &c->shuffle.dx, NULL};
    case OP_SLICE: return (struct view){"slice", 1, &c->slice.x, 1, &c->slice.dx, NULL};
    case OP_DROPOUT: return (struct view){"dropout", 1, &c->dropout.x, 1, &c->dropout.dx, NULL};
    case OP_REORDER: break;
    }
    return (struct view){"reorder", 1, &c->reorder.x, 1, &c->reorder.dx, NULL};
}

int op_inputs(const struct op_case *c)
{
    struct op_case copy = *c;
    return view_of(&copy).inputs;
}

struct kernel_shape op_input_shape(const struct op_case *c, int input)
{
    struct op_case copy = *c;
    const struct view v = view_of(&copy);
    return v.x[input < v.tensors ? input : 0].shape;
}

enum kernel_dx op_dx(const struct op_case *c, int input)
{
    struct op_case copy = *c;
    return view_of(&copy).dx[input];
}

static struct op_case in_layout(const struct op_case *c, enum kernel_layout layout)
{
    struct op_case copy = *c;
    const struct view v = view_of(&copy);
    for (int i = 0; i < v.tensors; i++)
        v.x[i].layout = layout;
    return copy;
}

static void describe_window(const struct kernel_window *w, char *text, size_t size)
{
    snprintf(text, size, ", window %d×%d stride %d,%d pad %d,%d+%d,%d", w->size[0], w->size[1],
             w->stride[0], w->stride[1], w->pad_before[0], w->pad_before[1], w->pad_after[0],
             w->pad_after[1]);
}

const char *op_describe(const struct op_case *c)
{
    static const char *const activations[] = {"", "+relu", "+relu6"};
    static char text[256];
    char more[128] = "";
    struct op_case copy = *c;
    const struct view v = view_of(&copy);
    const struct kernel_shape s = v.x[0].shape;
    if (c->kind == OP_CONV)
        describe_window(&c->conv.window, more, sizeof more);
    if (c->kind == OP_POOL && c->pool.kind == KERNEL_POOL_ADAPTIVE)
        snprintf(more, sizeof more, " → %d×%d", c->pool.out[0], c->pool.out[1]);
    else if (c->kind == OP_POOL)
        describe_window(&c->pool.window, more, sizeof more);
    int used =
        snprintf(text, sizeof text, "%s%s %d×%d×%d×%d", v.name,
                 activations[v.activation ? *v.activation : KERNEL_LINEAR], s.n, s.c, s.h, s.w);
    if (c->kind == OP_CONV)
        used += snprintf(text + used, sizeof text - (size_t)used, " → %d groups %d%s",
                         c->conv.out_channels, c->conv.groups, c->conv.bias ? " bias" : "");
    snprintf(text + used, sizeof text - (size_t)used, "%s, %d inputs, dx %d,%d", more, v.inputs,
             (int)v.dx[0], v.inputs > 1 ? (int)v.dx[1] : 0);
    return text;
}

enum stn_status op_create(struct kernel *kernel, const struct op_case *c, struct kernel_op **out)
{
    switch (c->kind) {
    case OP_CONV: return kernel_conv_create(kernel, &c->conv, out);
    case OP_BATCHNORM: return kernel_batchnorm_create(kernel, &c->batchnorm, out);
    case OP_ACTIVATE: return kernel_activate_create(kernel, &c->activate, out);
    case OP_POOL: return kernel_pool_create(kernel, &c->pool, out);
    case OP_GLOBAL_POOL: return kernel_global_pool_create(kernel, &c->global_pool, out);
    case OP_FC: return kernel_fc_create(kernel, &c->fc, out);
    case OP_ADD: return kernel_add_create(kernel, &c->add, out);
    case OP_CONCAT: return kernel_concat_create(kernel, &c->concat, out);
    case OP_SHUFFLE: return kernel_shuffle_create(kernel, &c->shuffle, out);
    case OP_SLICE: return kernel_slice_create(kernel, &c->slice, out);
    case OP_DROPOUT: return kernel_dropout_create(kernel, &c->dropout, out);
    case OP_REORDER: break;
    }
    return kernel_reorder_create(kernel, &c->reorder, out);
}

// Lengths of the parameters, 0 where there is none.
static void param_counts(const struct op_case *c, size_t counts[KERNEL_PARAMS_MAX])
{
    const struct kernel_shape x = op_input_shape(c, 0);
    counts[0] = counts[1] = 0;
    if (c->kind == OP_CONV) {
        const struct kernel_window *w = &c->conv.window;
        counts[0] = (size_t)(c->conv.out_channels * (x.c / c->conv.groups)) *
                    (size_t)(w->size[0] * w->size[1]);
        counts[1] = c->conv.bias ? (size_t)c->conv.out_channels : 0;
    } else if (c->kind == OP_BATCHNORM) {
        counts[0] = counts[1] = (size_t)x.c;
    } else if (c->kind == OP_FC) {
        counts[0] = (size_t)c->fc.out_features * (size_t)(x.c * x.h * x.w);
        counts[1] = c->fc.bias ? (size_t)c->fc.out_features : 0;
    }
}

// ---- memory ------------------------------------------------------------------------------------

// Exactly this long, so that the address sanitizer sees the first float too many.
static void *aligned_bytes(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes ? bytes : 1))
        abort();
    return p;
}

// All bits set is a NaN.
static void poison(void *p, size_t bytes)
{
    if (bytes)
        memset(p, 0xff, bytes);
}

static struct op_array array_new(size_t count)
{
    struct op_array a = {aligned_bytes(count * sizeof(float)), count};
    poison(a.at, count * sizeof(float));
    return a;
}

static struct op_array array_copy(struct op_array from)
{
    struct op_array a = array_new(from.count);
    if (from.count)
        memcpy(a.at, from.at, from.count * sizeof(float));
    return a;
}

static void array_poison(struct op_array a)
{
    poison(a.at, a.count * sizeof(float));
}

static struct op_array array_normal(struct base_random *r, size_t count, double mean,
                                    double deviation)
{
    struct op_array a = array_new(count);
    for (size_t i = 0; i < count; i++)
        a.at[i] = (float)(mean + deviation * base_random_normal(r));
    return a;
}

static void arrays_free(struct op_array *arrays, int count)
{
    for (int i = 0; i < count; i++)
        free(arrays[i].at);
    memset(arrays, 0, (size_t)count * sizeof *arrays);
}

// ---- layouts -----------------------------------------------------------------------------------

static size_t element_index(struct kernel_tensor t, int n, int c, int pixel)
{
    const size_t block = (size_t)kernel_layout_block(t.layout), channel = (size_t)c;
    return (size_t)n * kernel_tensor_row_floats(t) +
           (channel / block * (size_t)(t.shape.h * t.shape.w) + (size_t)pixel) * block +
           channel % block;
}

static void to_layout(struct kernel_tensor t, struct op_array nchw, struct op_array out)
{
    const struct kernel_tensor plain = {t.shape, KERNEL_NCHW};
    const int pixels = t.shape.h * t.shape.w;
    memset(out.at, 0, out.count * sizeof(float));
    for (int n = 0; n < t.shape.n; n++) {
        for (int c = 0; c < t.shape.c; c++) {
            for (int p = 0; p < pixels; p++)
                out.at[element_index(t, n, c, p)] = nchw.at[element_index(plain, n, c, p)];
        }
    }
}

// Fails where the padding lanes are not zero.
static struct op_array from_layout(const struct op_case *c, const char *name,
                                   struct kernel_tensor t, struct op_array blocked)
{
    const struct kernel_tensor plain = {t.shape, KERNEL_NCHW};
    const int pixels = t.shape.h * t.shape.w;
    struct op_array out = array_new(kernel_tensor_floats(plain));
    for (int n = 0; n < t.shape.n; n++) {
        for (int ch = 0; ch < kernel_tensor_padded_channels(t); ch++) {
            for (int p = 0; p < pixels; p++) {
                const float v = blocked.at[element_index(t, n, ch, p)];
                if (ch < t.shape.c)
                    out.at[element_index(plain, n, ch, p)] = v;
                else if (!(v == 0))
                    fail_msg("%s: %s has %g in padding lane %d of sample %d", op_describe(c), name,
                             (double)v, ch, n);
            }
        }
    }
    return out;
}

// ---- data --------------------------------------------------------------------------------------

// Far enough apart that small changes do not move a maximum.
static struct op_array array_spaced(uint64_t key, size_t count)
{
    struct op_array a = array_new(count);
    for (size_t i = 0; i < count; i++)
        a.at[i] = ((float)base_permute(key, count, i) - (float)count / 2) * 0.0625f;
    return a;
}

static void params_init(struct op_data *data, struct base_random *r, const struct op_case *c)
{
    size_t counts[KERNEL_PARAMS_MAX];
    param_counts(c, counts);
    const bool norm = c->kind == OP_BATCHNORM;
    const struct kernel_shape x = op_input_shape(c, 0);
    double fan_in = (double)x.c * x.h * x.w;
    if (c->kind == OP_CONV)
        fan_in = (double)counts[0] / c->conv.out_channels;
    data->params[0] = array_normal(r, counts[0], norm ? 2 : 0, norm ? 0.5 : 1.5 / sqrt(fan_in));
    data->params[1] = array_normal(r, counts[1], 0, 0.5);
    for (int i = 0; i < KERNEL_PARAMS_MAX; i++)
        data->grads_before[i] = array_normal(r, counts[i], 0, 0.5);
    for (int i = 0; norm && i < KERNEL_BUFFERS_MAX; i++) {
        data->buffers[i] = array_normal(r, (size_t)x.c, 0, 1);
        data->sums_before[i] = array_normal(r, (size_t)x.c, 0, 1);
    }
    for (size_t i = 0; i < data->buffers[1].count; i++)
        data->buffers[1].at[i] = 0.5f + fabsf(data->buffers[1].at[i]);
}

static void zero_rows(struct op_array a, int n, int rows)
{
    const size_t row = a.count / (size_t)n;
    memset(a.at + (size_t)rows * row, 0, (size_t)(n - rows) * row * sizeof(float));
}

static void zero_near_kinks(struct op_data *data, struct kernel *reference, const struct op_case *c,
                            float margin)
{
    struct op_case linear = *c;
    const struct view v = view_of(&linear);
    if (!v.activation || *v.activation == KERNEL_LINEAR)
        return;
    *v.activation = KERNEL_LINEAR;
    struct op_result result;
    op_run(reference, &linear, data, (struct op_run){.forward_only = true}, &result);
    for (size_t i = 0; i < result.y.count; i++) {
        if (fabsf(result.y.at[i]) < margin || fabsf(result.y.at[i] - 6) < margin)
            data->dy.at[i] = 0;
    }
    op_result_fini(&result);
}

void op_data_init(struct op_data *data, struct kernel *reference, const struct op_case *c, int rows,
                  uint64_t seed, float margin)
{
    struct base_random r = base_random_from(seed);
    const int n = op_input_shape(c, 0).n;
    memset(data, 0, sizeof *data);
    data->rows = rows;
    for (int i = 0; i < op_inputs(c); i++) {
        const struct kernel_tensor t = {op_input_shape(c, i), KERNEL_NCHW};
        const size_t count = kernel_tensor_floats(t);
        const bool spaced = c->kind == OP_POOL && c->pool.kind == KERNEL_POOL_MAX;
        data->x[i] = spaced ? array_spaced(seed, count) : array_normal(&r, count, 0.5, 2);
        data->dx_before[i] = array_normal(&r, count, 0, 0.5);
        zero_rows(data->dx_before[i], n, rows);
    }
    params_init(data, &r, c);
    data->row_keys = aligned_bytes((size_t)n * sizeof *data->row_keys);
    for (int i = 0; i < n; i++)
        data->row_keys[i] = base_random_u64(&r);
    struct kernel_op *op = NULL;
    assert_int_equal(op_create(reference, c, &op), STN_OK);
    struct kernel_tensor y = kernel_op_traits(op)->y;
    y.layout = KERNEL_NCHW;
    kernel_op_destroy(op);
    data->dy = array_normal(&r, kernel_tensor_floats(y), 0, 1);
    zero_rows(data->dy, n, rows);
    zero_near_kinks(data, reference, c, margin);
}

void op_data_fini(struct op_data *data)
{
    arrays_free(data->x, KERNEL_INPUTS_MAX);
    arrays_free(data->dx_before, KERNEL_INPUTS_MAX);
    arrays_free(&data->dy, 1);
    arrays_free(data->params, KERNEL_PARAMS_MAX);
    arrays_free(data->grads_before, KERNEL_PARAMS_MAX);
    arrays_free(data->buffers, KERNEL_BUFFERS_MAX);
    arrays_free(data->sums_before, KERNEL_BUFFERS_MAX);
    free(data->row_keys);
}

// ---- running -----------------------------------------------------------------------------------

// Buffers of one run, in the layouts of the op, and how they are shared.
struct run {
    const struct op_case *c;
    const struct op_data *data;
    struct op_run how;
    struct kernel_op *op;
    const struct kernel_op_traits *traits;
    int inputs;
    struct kernel_tensor x_tensor[KERNEL_INPUTS_MAX];
    struct op_array x[KERNEL_INPUTS_MAX], dx[KERNEL_INPUTS_MAX];
    struct op_array y, dy;
    struct op_array grads[KERNEL_PARAMS_MAX], sums[KERNEL_BUFFERS_MAX];
    void *saved, *scratch;
    // What struct kernel_io points to.
    const float *x_at[KERNEL_INPUTS_MAX], *params_at[KERNEL_PARAMS_MAX];
    const float *buffers_at[KERNEL_BUFFERS_MAX];
    float *dx_at[KERNEL_INPUTS_MAX], *grads_at[KERNEL_PARAMS_MAX], *sums_at[KERNEL_BUFFERS_MAX];
    struct kernel_io io;
};

static void run_inputs_init(struct run *run)
{
    const struct kernel_op_traits *traits = run->traits;
    for (int i = 0; i < run->inputs; i++) {
        const struct kernel_tensor t = {op_input_shape(run->c, i), run->how.layout};
        const enum kernel_dx mode = op_dx(run->c, i);
        run->x_tensor[i] = t;
        run->x[i] = array_new(kernel_tensor_floats(t));
        to_layout(t, run->data->x[i], run->x[i]);
        run->x_at[i] = run->x[i].at;
        if (mode == KERNEL_DX_NONE)
            continue;
        if (run->how.in_place && i == traits->in_place_input && mode == KERNEL_DX_WRITE) {
            run->dx_at[i] = run->dy.at;
            continue;
        }
        run->dx[i] = array_new(kernel_tensor_floats(t));
        if (mode == KERNEL_DX_ADD)
            to_layout(t, run->data->dx_before[i], run->dx[i]);
        run->dx_at[i] = run->dx[i].at;
    }
}

static void run_init(struct run *run, struct kernel *kernel)
{
    const struct op_case c = in_layout(run->c, run->how.layout);
    if (op_create(kernel, &c, &run->op))
        fail_msg("%s: cannot be created in layout %d", op_describe(run->c), (int)run->how.layout);
    run->traits = kernel_op_traits(run->op);
    run->inputs = op_inputs(run->c);
    run->dy = array_new(kernel_tensor_floats(run->traits->y));
    to_layout(run->traits->y, run->data->dy, run->dy);
    run_inputs_init(run);
    const bool over_x = run->how.in_place && run->traits->forward_in_place &&
                        !(run->traits->backward_reads & KERNEL_READS_X);
    if (!over_x)
        run->y = array_new(kernel_tensor_floats(run->traits->y));
    for (int i = 0; i < KERNEL_PARAMS_MAX; i++) {
        run->params_at[i] = run->data->params[i].at;
        run->grads[i] = array_copy(run->data->grads_before[i]);
        run->grads_at[i] = run->grads[i].at;
    }
    for (int i = 0; i < KERNEL_BUFFERS_MAX; i++) {
        run->buffers_at[i] = run->data->buffers[i].at;
        run->sums[i] = array_copy(run->data->sums_before[i]);
        run->sums_at[i] = run->sums[i].at;
    }
    run->saved = aligned_bytes(run->traits->saved_bytes);
    run->scratch = aligned_bytes(run->traits->scratch_bytes);
    poison(run->saved, run->traits->saved_bytes);
    run->io = (struct kernel_io){
        .phase = run->how.phase,
        .samples = run->x_tensor[0].shape.n,
        .rows = run->data->rows,
        .row_keys = run->data->row_keys,
        .x = run->x_at,
        .y = over_x ? run->x[0].at : run->y.at,
        .params = run->params_at,
        .buffers = run->buffers_at,
        .buffer_sums = run->sums_at,
        .saved = run->saved,
        .scratch = run->scratch,
    };
}

static void run_forward(struct run *run, struct op_result *out)
{
    const struct kernel_tensor t = run->traits->y;
    kernel_op_prepare(run->op, 0, run->params_at);
    poison(run->scratch, run->traits->scratch_bytes);
    kernel_op_forward_gather(run->op, &run->io);
    kernel_op_forward_settle(run->op, &run->io);
    assert_int_equal(kernel_op_forward(run->op, &run->io), STN_OK);
    out->y = from_layout(run->c, "y", t, (struct op_array){run->io.y, kernel_tensor_floats(t)});
    for (int i = 0; i < KERNEL_BUFFERS_MAX; i++)
        out->buffer_sums[i] = array_copy(run->sums[i]);
}

static void run_backward(struct run *run, struct op_result *out)
{
    if (!(run->traits->backward_reads & KERNEL_READS_Y))
        array_poison((struct op_array){run->io.y, kernel_tensor_floats(run->traits->y)});
    for (int i = 0; i < run->inputs && !(run->traits->backward_reads & KERNEL_READS_X); i++) {
        if (run->x[i].at != run->io.y)
            array_poison(run->x[i]);
    }
    poison(run->scratch, run->traits->scratch_bytes);
    run->io.dy = run->dy.at;
    run->io.dx = run->dx_at;
    run->io.param_grads = run->grads_at;
    kernel_op_backward_gather(run->op, &run->io);
    kernel_op_backward_settle(run->op, &run->io);
    assert_int_equal(kernel_op_backward(run->op, &run->io), STN_OK);
    kernel_op_collect(run->op, 0, (struct kernel_sums){0, 1}, run->grads_at);
    for (int i = 0; i < run->inputs; i++) {
        const struct kernel_tensor t = run->x_tensor[i];
        const struct op_array dx = {run->dx_at[i], kernel_tensor_floats(t)};
        if (run->dx_at[i])
            out->dx[i] = from_layout(run->c, "dx", t, dx);
    }
    for (int i = 0; i < KERNEL_PARAMS_MAX; i++)
        out->param_grads[i] = array_copy(run->grads[i]);
}

static void run_fini(struct run *run)
{
    arrays_free(run->x, KERNEL_INPUTS_MAX);
    arrays_free(run->dx, KERNEL_INPUTS_MAX);
    arrays_free(&run->y, 1);
    arrays_free(&run->dy, 1);
    arrays_free(run->grads, KERNEL_PARAMS_MAX);
    arrays_free(run->sums, KERNEL_BUFFERS_MAX);
    free(run->saved);
    free(run->scratch);
    kernel_op_destroy(run->op);
}

void op_run(struct kernel *kernel, const struct op_case *c, const struct op_data *data,
            struct op_run how, struct op_result *out)
{
    struct run run = {.c = c, .data = data, .how = how};
    memset(out, 0, sizeof *out);
    run_init(&run, kernel);
    run_forward(&run, out);
    if (how.phase == KERNEL_TRAIN && !how.forward_only)
        run_backward(&run, out);
    run_fini(&run);
}

// ---- results -----------------------------------------------------------------------------------

void op_result_fini(struct op_result *result)
{
    arrays_free(&result->y, 1);
    arrays_free(result->dx, KERNEL_INPUTS_MAX);
    arrays_free(result->param_grads, KERNEL_PARAMS_MAX);
    arrays_free(result->buffer_sums, KERNEL_BUFFERS_MAX);
}

void op_result_compare(const struct op_result *a, const struct op_result *b, op_visit *visit,
                       void *context)
{
    visit(context, "y", 0, a->y, b->y);
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        visit(context, "dx", i, a->dx[i], b->dx[i]);
    for (int i = 0; i < KERNEL_PARAMS_MAX; i++)
        visit(context, "gradient of parameter", i, a->param_grads[i], b->param_grads[i]);
    for (int i = 0; i < KERNEL_BUFFERS_MAX; i++)
        visit(context, "sum of buffer", i, a->buffer_sums[i], b->buffer_sums[i]);
}
