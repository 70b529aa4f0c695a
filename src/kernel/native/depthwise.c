// SPDX-License-Identifier: Apache-2.0
// Depthwise 3×3, 5×5 and 7×7 convolution with our own kernels. Both gradients of a plane are
// computed while it is in the cache, and an input gradient that is to be added needs no extra pass.
// Weight gradients are summed in the order of the samples: the result does not depend on the number
// of threads. Other depthwise convolutions are oneDNN's (conv.c).
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/native/batchnorm.h"

enum { TAPS_MAX = SIMD_DEPTHWISE_KERNEL_MAX * SIMD_DEPTHWISE_KERNEL_MAX };

struct depthwise {
    struct kernel_op op;
    struct kernel_team *team;
    struct kernel_conv desc;
    const struct simd_kernels *simd;
    struct simd_plane plane;
    struct native_chunks x, y;
    int taps;              // 9, 25 or 49
    bool wide;             // more than 9
    size_t tap_floats;     // [taps][block]
    float *weights, *bias; // [blocks][taps][block] and [blocks][block], one allocation
    size_t page_bytes;
    size_t room_floats; // that a thread needs for a framed plane; 0 unless wide
};

bool native_depthwise_fits(const struct kernel_team *team, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    int k = w->size[0];
    bool fits = d->groups == d->x.shape.c && d->groups == d->out_channels &&
                d->x.layout == team->blocked && (k == 3 || k == 5 || k == 7);
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == k && w->stride[axis] <= 2 && w->pad_before[axis] < k;
    }
    return fits && w->stride[0] == w->stride[1];
}

static void depthwise_prepare(struct kernel_op *op, int lane, const float *const *params)
{
    (void)lane;
    struct depthwise *dw = (struct depthwise *)op;
    int block = dw->x.block;
    for (int c = 0; c < dw->x.channels; c++) {
        float *at = dw->weights + (size_t)(c / block) * dw->tap_floats + c % block;
        for (int tap = 0; tap < dw->taps; tap++) {
            at[tap * block] = params[0][c * dw->taps + tap];
        }
        dw->bias[c] = dw->desc.bias ? params[1][c] : 0.0f;
    }
}

// ---- planes ------------------------------------------------------------------------------------

// What the calls of one thread share; the partial sums of all planes lie behind the rooms.
struct scratch {
    float *room;  // [room_floats], this thread's
    float *taps;  // [blocks][taps][n][block]: samples side by side, to be summed in one go
    double *bias; // [n][blocks][block]
};

static struct scratch scratch_of(const struct depthwise *dw, void *memory)
{
    size_t planes = (size_t)dw->x.n * (size_t)dw->x.blocks;
    float *rooms = memory, *taps = rooms + (size_t)dw->team->threads * dw->room_floats;
    return (struct scratch){
        .room = rooms + (size_t)omp_get_thread_num() * dw->room_floats,
        .taps = taps,
        .bias = (double *)(void *)(taps + planes * dw->tap_floats),
    };
}

static size_t scratch_bytes(const struct depthwise *dw)
{
    size_t planes = (size_t)dw->x.n * (size_t)dw->x.blocks;
    return ((size_t)dw->team->threads * dw->room_floats + planes * dw->tap_floats) * sizeof(float) +
           planes * (size_t)dw->x.block * sizeof(double);
}

static void plane_forward(const struct depthwise *dw, const struct kernel_io *io, int i,
                          const struct scratch *scratch)
{
    const struct simd_kernels *simd = dw->simd;
    int b = i % dw->x.blocks;
    const float *x = io->x[0] + (size_t)i * dw->x.floats, *bias = dw->bias + b * dw->x.block,
                *weights = dw->weights + (size_t)b * dw->tap_floats;
    float *y = io->y + (size_t)i * dw->y.floats;
    if (dw->wide) {
        simd->depthwise_wide(&dw->plane, x, weights, bias, scratch->room, y);
    } else {
        simd->depthwise(&dw->plane, x, weights, bias, y);
    }
    if (dw->desc.activation != KERNEL_LINEAR) {
        simd->activate(y, NULL, dw->desc.activation, dw->y.pixels, y);
    }
}

static void plane_mask(const struct depthwise *dw, const struct kernel_io *io, int i,
                       const struct scratch *scratch)
{
    enum kernel_activation activation = dw->desc.activation;
    size_t at = (size_t)i * dw->y.floats, block = (size_t)dw->x.block;
    double *bias = scratch->bias + (size_t)i * block;
    memset(bias, 0, block * sizeof(*bias));
    native_mask_sum(dw->simd, io->dy + at, activation == KERNEL_LINEAR ? NULL : io->y + at,
                    activation, dw->y.pixels, bias);
}

// Where the weight gradient of a plane goes.
static void keep_taps(const struct depthwise *dw, const struct scratch *scratch, int i,
                      const float *taps)
{
    size_t block = (size_t)dw->x.block, stride = (size_t)dw->x.n * block;
    size_t n = (size_t)(i / dw->x.blocks), b = (size_t)(i % dw->x.blocks);
    float *at = scratch->taps + b * (size_t)dw->taps * stride + n * block;
    for (int tap = 0; tap < dw->taps; tap++, at += stride) {
        memcpy(at, taps + (size_t)tap * block, block * sizeof(float));
    }
}

static void plane_backward(const struct depthwise *dw, const struct kernel_io *io, int i,
                           const struct scratch *scratch)
{
    const struct simd_kernels *simd = dw->simd;
    const struct simd_plane *plane = &dw->plane;
    const float *x = io->x[0] + (size_t)i * dw->x.floats, *dy = io->dy + (size_t)i * dw->y.floats,
                *weights = dw->weights + (size_t)(i % dw->x.blocks) * dw->tap_floats;
    float taps[TAPS_MAX * SIMD_BLOCK_MAX];
    bool add = dw->desc.dx == KERNEL_DX_ADD;
    float *dx = dw->desc.dx == KERNEL_DX_NONE ? NULL : io->dx[0] + (size_t)i * dw->x.floats;
    if (dw->wide) {
        simd->depthwise_wide_weights(plane, x, dy, scratch->room, taps);
    } else {
        simd->depthwise_weights(plane, x, dy, taps);
    }
    keep_taps(dw, scratch, i, taps);
    if (dx && dw->wide) {
        simd->depthwise_wide_data(plane, dy, weights, add, scratch->room, dx);
    } else if (dx) {
        simd->depthwise_data(plane, dy, weights, add, dx);
    }
}

static void collect_taps(const struct depthwise *dw, const struct kernel_io *io,
                         const struct scratch *scratch, int b)
{
    int block = dw->x.block, first = b * block;
    const float *part = scratch->taps + (size_t)(b * dw->taps * dw->x.n) * (size_t)block;
    for (int tap = 0; tap < dw->taps; tap++, part += (size_t)dw->x.n * (size_t)block) {
        double sums[SIMD_BLOCK_MAX] = {0};
        dw->simd->sum(part, (size_t)io->rows, sums);
        for (int l = 0; l < block && first + l < dw->x.channels; l++) {
            io->param_grads[0][(first + l) * dw->taps + tap] += (float)sums[l];
        }
    }
}

static void collect_bias(const struct depthwise *dw, const struct kernel_io *io,
                         const struct scratch *scratch, int b)
{
    int block = dw->x.block, first = b * block;
    for (int l = 0; l < block && first + l < dw->x.channels; l++) {
        double sum = 0.0;
        for (int n = 0; n < io->rows; n++) {
            sum += scratch->bias[(n * dw->x.blocks + b) * block + l];
        }
        io->param_grads[1][first + l] += (float)sum;
    }
}

// ---- the op ------------------------------------------------------------------------------------

// A plane is measured while it is in the cache.
static void measure_plane(const struct native_gather *gather, int i, int blocks)
{
    for (int piece = 0; piece < gather->pieces; piece++) {
        native_gather_measure(gather, i / blocks, i % blocks, piece);
    }
}

// `gather`: for the batch norm behind, or NULL.
static enum stn_status forward(const struct depthwise *dw, const struct kernel_io *io,
                               const struct native_gather *gather)
{
    const struct native_chunks *c = &dw->x;
#pragma omp parallel num_threads(native_team(dw->team, c))
    {
        struct scratch scratch = scratch_of(dw, io->scratch);
#pragma omp for schedule(static)
        for (int i = 0; i < c->n * c->blocks; i++) {
            plane_forward(dw, io, i, &scratch);
            if (gather) {
                measure_plane(gather, i, c->blocks);
            }
        }
        if (gather) {
            native_gather_finish(gather);
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
    struct native_gather gather = native_gather_forward(next, next_io);
    return forward((struct depthwise *)op, io, &gather);
}

// `gather`: for the batch norm before, or NULL.
static enum stn_status backward(const struct depthwise *dw, const struct kernel_io *io,
                                const struct native_gather *gather)
{
    const struct native_chunks *c = &dw->x;
    bool masks = dw->desc.activation != KERNEL_LINEAR || dw->desc.bias;
#pragma omp parallel num_threads(native_team(dw->team, c))
    {
        struct scratch scratch = scratch_of(dw, io->scratch);
#pragma omp for schedule(static)
        for (int i = 0; i < c->n * c->blocks; i++) {
            if (masks) {
                plane_mask(dw, io, i, &scratch);
            }
            plane_backward(dw, io, i, &scratch);
            if (gather) {
                measure_plane(gather, i, c->blocks);
            }
        }
#pragma omp for schedule(static)
        for (int b = 0; b < c->blocks; b++) {
            collect_taps(dw, io, &scratch, b);
            if (dw->desc.bias) {
                collect_bias(dw, io, &scratch, b);
            }
        }
        if (gather) {
            native_gather_finish(gather);
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
    struct native_gather gather = native_gather_backward(before, before_io);
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

enum stn_status native_depthwise_create(struct kernel_team *team, const struct kernel_conv *d,
                                        struct kernel_op_traits traits, struct kernel_op **out)
{
    struct depthwise *dw = calloc(1, sizeof(*dw));
    if (!dw) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    dw->team = team;
    dw->desc = *d;
    dw->x = native_chunks_of(d->x);
    dw->y = native_chunks_of(traits.y);
    dw->simd = simd_kernels_for(dw->x.block);
    dw->plane = (struct simd_plane){.h = d->x.shape.h,
                                    .w = d->x.shape.w,
                                    .oh = traits.y.shape.h,
                                    .ow = traits.y.shape.w,
                                    .window = d->window};
    dw->taps = d->window.size[0] * d->window.size[1];
    dw->wide = d->window.size[0] > 3;
    dw->room_floats = dw->wide ? dw->simd->depthwise_wide_room(&dw->plane) : 0;
    dw->tap_floats = (size_t)dw->taps * (size_t)dw->x.block;
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
    traits.scratch_bytes = scratch_bytes(dw);
    dw->op = (struct kernel_op){.calls = &depthwise_calls, .traits = traits};
    *out = &dw->op;
    return STN_OK;
}
