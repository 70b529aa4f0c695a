// SPDX-License-Identifier: Apache-2.0
// Depthwise 3×3 convolution with our own kernels. Both gradients of a plane are computed while it
// is in the cache, and an input gradient that is to be added needs no extra pass. Weight gradients
// are summed in the order of the samples: the result does not depend on the number of threads.
// Other depthwise convolutions are oneDNN's (conv.c).
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/onednn/batchnorm.h"

enum { TAPS = 9 };

struct depthwise {
    struct kernel_op op;
    struct onednn_engine *engine;
    struct kernel_conv desc;
    const struct simd_kernels *simd;
    struct simd_plane plane;
    struct onednn_chunks x, y;
    size_t tap_floats;     // [3][3][block]
    float *weights, *bias; // [blocks][3][3][block] and [blocks][block], in `pages`
    size_t page_bytes;
};

bool onednn_depthwise_fits(const struct onednn_engine *engine, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    bool fits =
        d->groups == d->x.shape.c && d->groups == d->out_channels && d->x.layout == engine->native;
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == 3 && w->stride[axis] <= 2 && w->pad_before[axis] <= 2;
    }
    return fits && w->stride[0] == w->stride[1];
}

static void depthwise_prepare(struct kernel_op *op, const float *const *params)
{
    struct depthwise *dw = (struct depthwise *)op;
    int block = dw->x.block;
    for (int c = 0; c < dw->x.channels; c++) {
        float *at = dw->weights + (size_t)(c / block) * dw->tap_floats + c % block;
        for (int tap = 0; tap < TAPS; tap++) {
            at[tap * block] = params[0][c * TAPS + tap];
        }
        dw->bias[c] = dw->desc.bias ? params[1][c] : 0.0f;
    }
}

// A plane is measured while it is in the cache.
static void measure_plane(const struct onednn_gather *gather, int i, int blocks)
{
    for (int piece = 0; piece < gather->pieces; piece++) {
        onednn_gather_measure(gather, i / blocks, i % blocks, piece);
    }
}

static void plane_forward(const struct depthwise *dw, const struct kernel_io *io, int i)
{
    const struct onednn_chunks *c = &dw->x;
    int b = i % c->blocks;
    float *y = io->y + (size_t)i * dw->y.floats;
    dw->simd->depthwise(&dw->plane, io->x[0] + (size_t)i * c->floats,
                        dw->weights + (size_t)b * dw->tap_floats, dw->bias + b * c->block, y);
    if (dw->desc.activation != KERNEL_LINEAR) {
        dw->simd->activate(y, NULL, dw->desc.activation, dw->y.pixels, y);
    }
}

// `gather`: for the batch norm behind, or NULL.
static enum stn_status forward(const struct depthwise *dw, const struct kernel_io *io,
                               const struct onednn_gather *gather)
{
    const struct onednn_chunks *c = &dw->x;
#pragma omp parallel num_threads(onednn_team(dw->engine, c))
    {
#pragma omp for schedule(static)
        for (int i = 0; i < c->n * c->blocks; i++) {
            plane_forward(dw, io, i);
            if (gather) {
                measure_plane(gather, i, c->blocks);
            }
        }
        if (gather) {
            onednn_gather_finish(gather);
        }
    }
    return STN_OK;
}

static enum stn_status depthwise_forward(struct kernel_op *op, const struct kernel_io *io)
{
    return forward((struct depthwise *)op, io, NULL);
}

static enum stn_status depthwise_forward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                                  struct kernel_op *next,
                                                  const struct kernel_io *next_io)
{
    struct onednn_gather gather = onednn_gather_forward(next, next_io);
    return forward((struct depthwise *)op, io, &gather);
}

// Partial sums of one plane.
struct partial {
    float taps[TAPS * SIMD_BLOCK_MAX];
    double bias[SIMD_BLOCK_MAX];
};

static void plane_backward(const struct depthwise *dw, const struct kernel_io *io, int i,
                           struct partial *partial)
{
    const struct simd_kernels *simd = dw->simd;
    float *dy = io->dy + (size_t)i * dw->y.floats;
    if (dw->desc.activation != KERNEL_LINEAR || dw->desc.bias) {
        memset(partial->bias, 0, sizeof(partial->bias));
        const float *y =
            dw->desc.activation == KERNEL_LINEAR ? NULL : io->y + (size_t)i * dw->y.floats;
        onednn_mask_sum(simd, dy, y, dw->desc.activation, dw->y.pixels, partial->bias);
    }
    simd->depthwise_weights(&dw->plane, io->x[0] + (size_t)i * dw->x.floats, dy, partial->taps);
    if (dw->desc.dx != KERNEL_DX_NONE) {
        const float *weights = dw->weights + (size_t)(i % dw->x.blocks) * dw->tap_floats;
        simd->depthwise_data(&dw->plane, dy, weights, dw->desc.dx == KERNEL_DX_ADD,
                             io->dx[0] + (size_t)i * dw->x.floats);
    }
}

static void collect_channel(const struct depthwise *dw, const struct kernel_io *io,
                            const struct partial *partials, int channel)
{
    int b = channel / dw->x.block, lane = channel % dw->x.block;
    double taps[TAPS] = {0}, bias = 0.0;
    for (int n = 0; n < io->rows; n++) {
        const struct partial *p = &partials[n * dw->x.blocks + b];
        for (int tap = 0; tap < TAPS; tap++) {
            taps[tap] += (double)p->taps[tap * dw->x.block + lane];
        }
        bias += p->bias[lane];
    }
    for (int tap = 0; tap < TAPS; tap++) {
        io->param_grads[0][channel * TAPS + tap] += (float)taps[tap];
    }
    if (dw->desc.bias) {
        io->param_grads[1][channel] += (float)bias;
    }
}

// `gather`: for the batch norm before, or NULL.
static enum stn_status backward(const struct depthwise *dw, const struct kernel_io *io,
                                const struct onednn_gather *gather)
{
    const struct onednn_chunks *c = &dw->x;
    struct partial *partials = io->scratch; // [n][blocks]
#pragma omp parallel num_threads(onednn_team(dw->engine, c))
    {
#pragma omp for schedule(static)
        for (int i = 0; i < c->n * c->blocks; i++) {
            plane_backward(dw, io, i, &partials[i]);
            if (gather) {
                measure_plane(gather, i, c->blocks);
            }
        }
#pragma omp for schedule(static)
        for (int channel = 0; channel < c->channels; channel++) {
            collect_channel(dw, io, partials, channel);
        }
        if (gather) {
            onednn_gather_finish(gather);
        }
    }
    return STN_OK;
}

static enum stn_status depthwise_backward(struct kernel_op *op, const struct kernel_io *io)
{
    return backward((struct depthwise *)op, io, NULL);
}

static enum stn_status depthwise_backward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                                   struct kernel_op *before,
                                                   const struct kernel_io *before_io)
{
    struct onednn_gather gather = onednn_gather_backward(before, before_io);
    return backward((struct depthwise *)op, io, &gather);
}

static void depthwise_destroy(struct kernel_op *op)
{
    struct depthwise *dw = (struct depthwise *)op;
    base_pages_free(dw->weights, dw->page_bytes);
    free(dw);
}

static const struct kernel_op_calls depthwise_calls = {
    .prepare = depthwise_prepare,
    .forward = depthwise_forward,
    .backward = depthwise_backward,
    .forward_gathered = depthwise_forward_gathered,
    .backward_gathered = depthwise_backward_gathered,
    .destroy = depthwise_destroy,
};

enum stn_status onednn_depthwise_create(struct onednn_engine *engine, const struct kernel_conv *d,
                                        struct kernel_op_traits traits, struct kernel_op **out)
{
    struct depthwise *dw = calloc(1, sizeof(*dw));
    if (!dw) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    dw->engine = engine;
    dw->desc = *d;
    dw->x = onednn_chunks_of(d->x);
    dw->y = onednn_chunks_of(traits.y);
    dw->simd = simd_kernels_for(dw->x.block);
    dw->plane = (struct simd_plane){.h = d->x.shape.h,
                                    .w = d->x.shape.w,
                                    .oh = traits.y.shape.h,
                                    .ow = traits.y.shape.w,
                                    .window = d->window};
    dw->tap_floats = TAPS * (size_t)dw->x.block;
    size_t taps = (size_t)dw->x.blocks * dw->tap_floats,
           padded = (size_t)dw->x.blocks * (size_t)dw->x.block;
    dw->page_bytes = (taps + padded) * sizeof(float);
    dw->weights = base_pages_alloc(dw->page_bytes);
    if (!dw->weights) {
        free(dw);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the packed weights of a convolution");
    }
    dw->bias = dw->weights + taps;
    traits.packed_bytes = dw->page_bytes;
    traits.scratch_bytes = (size_t)dw->x.n * (size_t)dw->x.blocks * sizeof(struct partial);
    dw->op = (struct kernel_op){.calls = &depthwise_calls, .traits = traits};
    *out = &dw->op;
    return STN_OK;
}
