// SPDX-License-Identifier: Apache-2.0
// 3×3 convolutions of stride 1 as an op: two sweeps and a gradient of winograd.h, and where they
// are faster than oneDNN's direct kernels.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/native/winograd.h"

struct winograd {
    struct kernel_op op;
    struct kernel_team *team;
    struct kernel_conv desc;
    struct winograd_sweep forward, data;
    struct winograd_gradient gradient;
    float *bias; // [padded channels]
    void *pages; // the bias and the weights of both sweeps
    size_t page_bytes;
};

// Tiles reach beyond the map where its edge is no multiple of theirs. With half of the work wasted
// that way, 5×5 alone, the direct kernels are as fast. On maps smaller than the kernel the library
// has but plain loops for the weight gradient, a hundred times slower than anything else.
static bool pays(struct kernel_shape y)
{
    int covered = winograd_ceil_div(y.h, SIMD_TILE_OUT) * winograd_ceil_div(y.w, SIMD_TILE_OUT) *
                  SIMD_TILE_OUT * SIMD_TILE_OUT;
    return 2 * y.h * y.w > covered || y.h < SIMD_TILE_TAPS || y.w < SIMD_TILE_TAPS;
}

bool native_winograd_fits(const struct kernel_team *team, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    bool fits = d->groups == 1 && d->x.layout == team->blocked && native_multiplies(team);
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == SIMD_TILE_TAPS && w->stride[axis] == 1 &&
               w->pad_before[axis] < SIMD_TILE_TAPS && w->pad_after[axis] < SIMD_TILE_TAPS;
    }
    return fits && (team->alone || pays(kernel_window_output(d->x.shape, *w, d->out_channels)));
}

static void winograd_prepare(struct kernel_op *op, int lane, const float *const *params)
{
    (void)lane;
    struct winograd *w = (struct winograd *)op;
    int outputs = w->forward.out.c.blocks;
    int inputs = w->desc.dx == KERNEL_DX_NONE ? 0 : w->data.out.c.blocks;
#pragma omp parallel for schedule(static) num_threads(w->team->threads)
    for (int b = 0; b < outputs + inputs; b++) {
        if (b < outputs) {
            winograd_sweep_pack(&w->forward, params[0], false, b);
        } else {
            winograd_sweep_pack(&w->data, params[0], true, b - outputs);
        }
    }
    if (w->desc.bias) {
        memcpy(w->bias, params[1], (size_t)w->desc.out_channels * sizeof(float));
    }
}

static enum stn_status winograd_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct winograd *w = (struct winograd *)op;
    struct winograd_finish finish = {w->desc.bias ? w->bias : NULL, w->desc.activation, false};
    winograd_sweep_run(&w->forward, io->x[0], finish, io->scratch, io->y);
    return STN_OK;
}

static enum stn_status winograd_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct winograd *w = (struct winograd *)op;
    if (w->desc.bias || w->desc.activation != KERNEL_LINEAR) {
        native_mask_and_sum_bias(w->team, &w->desc, op->traits.y, io);
    }
    winograd_gradient_run(&w->gradient, io->x[0], io->dy, io->rows, io->scratch,
                          io->param_grads[0]);
    if (w->desc.dx != KERNEL_DX_NONE) {
        struct winograd_finish finish = {NULL, KERNEL_LINEAR, w->desc.dx == KERNEL_DX_ADD};
        winograd_sweep_run(&w->data, io->dy, finish, io->scratch, io->dx[0]);
    }
    return STN_OK;
}

static void winograd_destroy(struct kernel_op *op)
{
    struct winograd *w = (struct winograd *)op;
    base_pages_free(w->pages, w->page_bytes);
    free(w);
}

static const struct kernel_op_calls winograd_calls = {
    .prepare = winograd_prepare,
    .forward = winograd_forward,
    .backward = winograd_backward,
    .destroy = winograd_destroy,
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void winograd_plan(struct winograd *w)
{
    const struct kernel_conv *d = &w->desc;
    const int *pad = d->window.pad_before;
    const int turned[2] = {SIMD_TILE_TAPS - 1 - pad[0], SIMD_TILE_TAPS - 1 - pad[1]};
    struct kernel_tensor y = w->op.traits.y;
    winograd_sweep_init(&w->forward, d->x, y, pad, w->team->threads);
    winograd_sweep_init(&w->data, y, d->x, turned, w->team->threads);
    winograd_gradient_init(&w->gradient, &w->forward);
    w->op.traits.scratch_bytes = larger(
        larger(winograd_sweep_scratch_bytes(&w->forward), winograd_sweep_scratch_bytes(&w->data)),
        larger(winograd_gradient_scratch_bytes(&w->gradient), native_mask_and_sum_bias_bytes(y)));
}

// Weights first: they are to begin where a cache line does.
static enum stn_status winograd_pages(struct winograd *w)
{
    size_t forward = w->forward.weight_floats;
    size_t data = w->desc.dx == KERNEL_DX_NONE ? 0 : w->data.weight_floats;
    size_t bias = (size_t)kernel_tensor_padded_channels(w->op.traits.y);
    w->page_bytes = (forward + data + bias) * sizeof(float);
    w->pages = base_pages_alloc(w->page_bytes);
    if (!w->pages) {
        return stn_fail(STN_ERR_NO_MEMORY,
                        "no memory for the packed weights of a convolution (%zu bytes)",
                        w->page_bytes);
    }
    w->forward.weights = w->pages;
    w->data.weights = w->forward.weights + forward;
    w->bias = w->data.weights + data;
    w->op.traits.packed_bytes = w->page_bytes;
    return STN_OK;
}

enum stn_status native_winograd_create(struct kernel_team *team, const struct kernel_conv *d,
                                       struct kernel_op_traits traits, struct kernel_op **out)
{
    struct winograd *w = calloc(1, sizeof(*w));
    if (!w) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    w->op = (struct kernel_op){.calls = &winograd_calls, .traits = traits};
    w->team = team;
    w->desc = *d;
    winograd_plan(w);
    enum stn_status status = winograd_pages(w);
    if (status) {
        free(w);
        return status;
    }
    *out = &w->op;
    return STN_OK;
}
