// SPDX-License-Identifier: Apache-2.0
// Pooling, plane by plane with our own kernels: a plane of one channel block stays in the cache,
// and one byte an output element remembers which tap a maximum came from.
#include <stdlib.h>

#include "kernel/native/native.h"

// ---- windows -----------------------------------------------------------------------------------

enum { TAPS_MAX = UINT8_MAX + 1 };

struct pool {
    struct kernel_op op;
    struct kernel_team *team;
    struct kernel_pool desc;
    const struct simd_kernels *simd;
    struct simd_plane plane;
    struct native_chunks x, y;
};

static enum stn_status pool_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pool *pool = (struct pool *)op;
    uint8_t *taken = io->phase == KERNEL_TRAIN ? io->saved : NULL;
#pragma omp parallel for schedule(static) num_threads(native_team(pool->team, &pool->x))
    for (int i = 0; i < pool->x.n * pool->x.blocks; i++) {
        const float *x = io->x[0] + (size_t)i * pool->x.floats;
        size_t at = (size_t)i * pool->y.floats;
        if (pool->desc.kind == KERNEL_POOL_MAX) {
            pool->simd->max_pool(&pool->plane, x, io->y + at, taken ? taken + at : NULL);
        } else {
            pool->simd->average_pool(&pool->plane, x, io->y + at);
        }
    }
    return STN_OK;
}

static enum stn_status pool_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pool *pool = (struct pool *)op;
    const uint8_t *taken = io->saved;
    bool add = pool->desc.dx == KERNEL_DX_ADD;
    if (pool->desc.dx == KERNEL_DX_NONE) {
        return STN_OK;
    }
#pragma omp parallel for schedule(static) num_threads(native_team(pool->team, &pool->x))
    for (int i = 0; i < pool->x.n * pool->x.blocks; i++) {
        float *dx = io->dx[0] + (size_t)i * pool->x.floats;
        size_t at = (size_t)i * pool->y.floats;
        if (pool->desc.kind == KERNEL_POOL_MAX) {
            pool->simd->max_pool_gradient(&pool->plane, io->dy + at, taken + at, add, dx);
        } else {
            pool->simd->average_pool_gradient(&pool->plane, io->dy + at, add, dx);
        }
    }
    return STN_OK;
}

static void op_free(struct kernel_op *op)
{
    free(op);
}

static const struct kernel_op_calls pool_calls = {
    .forward = pool_forward, .backward = pool_backward, .destroy = op_free};

enum stn_status native_pool_create(void *team, const struct kernel_pool *d, struct kernel_op **out)
{
    bool max = d->kind == KERNEL_POOL_MAX;
    if (max && d->window.size[0] * d->window.size[1] > TAPS_MAX) {
        return stn_fail(STN_ERR_UNSUPPORTED,
                        "max pooling over %d×%d: at most %d elements a window; use a global pool",
                        d->window.size[0], d->window.size[1], TAPS_MAX);
    }
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a pooling");
    }
    struct kernel_tensor y = {kernel_pool_output(d), d->x.layout};
    pool->team = team;
    pool->desc = *d;
    pool->x = native_chunks_of(d->x);
    pool->y = native_chunks_of(y);
    pool->simd = simd_kernels_for(pool->x.block);
    pool->plane = (struct simd_plane){.h = d->x.shape.h,
                                      .w = d->x.shape.w,
                                      .oh = y.shape.h,
                                      .ow = y.shape.w,
                                      .window = d->window,
                                      .count_padding = d->count_padding,
                                      .adaptive = d->kind == KERNEL_POOL_ADAPTIVE};
    pool->op = (struct kernel_op){
        .calls = &pool_calls,
        .traits =
            {
                .name = max ? "maxpool" : "avgpool",
                .y = y,
                .saved_bytes = max ? kernel_tensor_floats(y) : 0,
                .in_place_input = -1,
            },
    };
    *out = &pool->op;
    return STN_OK;
}

// ---- the whole plane ---------------------------------------------------------------------------

struct global_pool {
    struct kernel_op op;
    struct kernel_team *team;
    struct native_chunks c;
    const struct simd_kernels *simd;
    enum kernel_dx dx;
};

// Where the results of chunk i are in the plain [n][c], and how many there are.
static size_t plain_at(const struct native_chunks *c, int i, int *lanes)
{
    int n = i / c->blocks, channel = i % c->blocks * c->block, left = c->channels - channel;
    *lanes = left < c->block ? left : c->block;
    return (size_t)n * (size_t)c->channels + (size_t)channel;
}

static enum stn_status global_pool_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct global_pool *pool = (struct global_pool *)op;
    const struct native_chunks *c = &pool->c;
#pragma omp parallel for schedule(static) num_threads(native_team(pool->team, c))
    for (int i = 0; i < c->n * c->blocks; i++) {
        double sum[SIMD_BLOCK_MAX] = {0};
        int lanes;
        float *y = io->y + plain_at(c, i, &lanes);
        pool->simd->sum(io->x[0] + (size_t)i * c->floats, c->pixels, sum);
        for (int l = 0; l < lanes; l++) {
            y[l] = (float)(sum[l] / (double)c->pixels);
        }
    }
    return STN_OK;
}

static enum stn_status global_pool_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct global_pool *pool = (struct global_pool *)op;
    const struct native_chunks *c = &pool->c;
    if (pool->dx == KERNEL_DX_NONE) {
        return STN_OK;
    }
#pragma omp parallel for schedule(static) num_threads(native_team(pool->team, c))
    for (int i = 0; i < c->n * c->blocks; i++) {
        float share[SIMD_BLOCK_MAX] = {0};
        int lanes;
        const float *dy = io->dy + plain_at(c, i, &lanes);
        for (int l = 0; l < lanes; l++) {
            share[l] = dy[l] / (float)c->pixels;
        }
        pool->simd->fill(share, c->pixels, pool->dx == KERNEL_DX_ADD,
                         io->dx[0] + (size_t)i * c->floats);
    }
    return STN_OK;
}

static const struct kernel_op_calls global_pool_calls = {
    .forward = global_pool_forward, .backward = global_pool_backward, .destroy = op_free};

enum stn_status native_global_pool_create(void *team, const struct kernel_global_pool *d,
                                          struct kernel_op **out)
{
    struct global_pool *pool = calloc(1, sizeof(*pool));
    if (!pool) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a global pooling");
    }
    pool->team = team;
    pool->c = native_chunks_of(d->x);
    pool->simd = simd_kernels_for(pool->c.block);
    pool->dx = d->dx;
    pool->op = (struct kernel_op){
        .calls = &global_pool_calls,
        .traits =
            {
                .name = "globalpool",
                .y = {{d->x.shape.n, d->x.shape.c, 1, 1}, KERNEL_NCHW},
                .in_place_input = -1,
            },
    };
    *out = &pool->op;
    return STN_OK;
}
