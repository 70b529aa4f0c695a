// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with residual and activation. Every chunk (one sample of one channel block)
// gives its own partial sums, which are merged in the order of the samples: the result does not
// depend on the number of threads. Where a channel block of the whole micro-batch fits the cache,
// one thread takes it through both passes; otherwise all chunks go through the first pass before
// any goes through the second.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/onednn/engine.h"

struct batchnorm {
    struct kernel_op op;
    struct onednn_engine *engine;
    struct kernel_batchnorm desc;
    const struct simd_kernels *simd;
    struct onednn_chunks c;
    bool past_cache; // an output too large to be found in the cache by its reader
};

// What one pass over a micro-batch works with. Arrays are [padded channels] but for the partial
// sums.
struct pass {
    const struct batchnorm *bn;
    const struct kernel_io *io;
    float *mean, *inverse, *scale, *shift; // saved by forward; scale = γ/σ, shift = β − mean·scale
    float *line[3];                        // backward: dx = a·dz + b·(x − mean) + c
    double *first, *second; // [blocks][n][block]: mean and M2, or Σdz and Σdz·(x − mean)
};

typedef void chunk_call(const struct pass *pass, int n, int b);
typedef void block_call(const struct pass *pass, int b);

static size_t padded(const struct batchnorm *bn)
{
    return (size_t)bn->c.blocks * (size_t)bn->c.block;
}

static struct pass pass_begin(const struct batchnorm *bn, const struct kernel_io *io)
{
    struct pass p = {.bn = bn, .io = io};
    size_t channels = padded(bn), partials = channels * (size_t)bn->c.n;
    float *saved = io->saved;
    p.mean = saved;
    p.inverse = saved + channels;
    p.scale = saved + 2 * channels;
    p.shift = saved + 3 * channels;
    p.first = io->scratch;
    p.second = p.first + partials;
    for (int i = 0; i < 3; i++) {
        p.line[i] = (float *)(p.second + partials) + (size_t)i * channels;
    }
    return p;
}

static double *partial_at(const struct batchnorm *bn, double *partials, int n, int b)
{
    return partials + ((size_t)b * (size_t)bn->c.n + (size_t)n) * (size_t)bn->c.block;
}

// One block after the other is best when the second pass finds the data in the cache and the blocks
// share out evenly.
static bool by_block(const struct batchnorm *bn, int tensors)
{
    int threads = bn->engine->threads, rounds = (bn->c.blocks + threads - 1) / threads;
    size_t bytes = (size_t)(tensors * threads * bn->c.n) * bn->c.floats * sizeof(float);
    bool even = 10 * bn->c.blocks >= 9 * rounds * threads;
    return even && bytes <= bn->engine->cache_bytes;
}

// measure (every chunk that counts) → merge (every block) → finish (every chunk).
static void sweep(const struct pass *p, int tensors, chunk_call *measure, block_call *merge,
                  chunk_call *finish)
{
    const struct onednn_chunks *c = &p->bn->c;
    int rows = p->io->rows, team = onednn_team(p->bn->engine, c);
    if (by_block(p->bn, tensors)) {
#pragma omp parallel for schedule(static) num_threads(team)
        for (int b = 0; b < c->blocks; b++) {
            for (int n = 0; n < rows; n++) {
                measure(p, n, b);
            }
            merge(p, b);
            for (int n = c->n - 1; n >= 0; n--) {
                finish(p, n, b);
            }
        }
        return;
    }
#pragma omp parallel num_threads(team)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < c->blocks * rows; i++) {
            measure(p, i % rows, i / rows);
        }
#pragma omp for schedule(static)
        for (int b = 0; b < c->blocks; b++) {
            merge(p, b);
        }
#pragma omp for schedule(static)
        for (int i = 0; i < c->blocks * c->n; i++) {
            finish(p, i % c->n, i / c->n);
        }
    }
}

// ---- forward ------------------------------------------------------------------------------------

static void measure_moments(const struct pass *p, int n, int b)
{
    const struct batchnorm *bn = p->bn;
    bn->simd->moments(p->io->x[0] + onednn_chunk_at(&bn->c, n, b), bn->c.pixels,
                      partial_at(bn, p->first, n, b), partial_at(bn, p->second, n, b));
}

static void set_affine(const struct pass *p, int channel, float mean, float variance)
{
    if (channel >= p->bn->c.channels) {
        p->mean[channel] = p->inverse[channel] = p->scale[channel] = p->shift[channel] = 0.0f;
        return;
    }
    float inverse = 1.0f / sqrtf(variance + p->bn->desc.epsilon);
    float scale = p->io->params[0][channel] * inverse;
    p->mean[channel] = mean;
    p->inverse[channel] = inverse;
    p->scale[channel] = scale;
    p->shift[channel] = p->io->params[1][channel] - mean * scale;
}

// Equal counts, so the mean of means is the mean, and the M2 grow by the spread of the means.
static void merge_moments(const struct pass *p, int b)
{
    const struct batchnorm *bn = p->bn;
    int rows = p->io->rows;
    double count = (double)rows * (double)bn->c.pixels;
    for (int l = 0; l < bn->c.block; l++) {
        int channel = b * bn->c.block + l;
        double mean = 0.0, m2 = 0.0;
        for (int n = 0; n < rows; n++) {
            double delta = partial_at(bn, p->first, n, b)[l] - mean;
            mean += delta / (n + 1);
            m2 += partial_at(bn, p->second, n, b)[l] +
                  delta * delta * (double)bn->c.pixels * n / (n + 1);
        }
        set_affine(p, channel, (float)mean, (float)(m2 / count));
        if (channel < bn->c.channels) {
            p->io->buffer_sums[0][channel] += (float)(rows * mean);
            p->io->buffer_sums[1][channel] +=
                (float)(count > 1.0 ? rows * (m2 / (count - 1.0)) : 0.0);
        }
    }
}

static void normalise(const struct pass *p, int n, int b)
{
    const struct batchnorm *bn = p->bn;
    size_t at = onednn_chunk_at(&bn->c, n, b), channel = (size_t)(b * bn->c.block);
    bn->simd->normalise(p->io->x[0] + at, bn->desc.residual ? p->io->x[1] + at : NULL,
                        p->scale + channel, p->shift + channel, bn->desc.activation, bn->c.pixels,
                        bn->past_cache, p->io->y + at);
}

static void normalise_with_running(const struct pass *p)
{
    const struct onednn_chunks *c = &p->bn->c;
    for (int channel = 0; channel < (int)padded(p->bn); channel++) {
        bool real = channel < c->channels;
        set_affine(p, channel, real ? p->io->buffers[0][channel] : 0.0f,
                   real ? p->io->buffers[1][channel] : 0.0f);
    }
#pragma omp parallel for schedule(static) num_threads(onednn_team(p->bn->engine, c))
    for (int i = 0; i < c->blocks * c->n; i++) {
        normalise(p, i / c->blocks, i % c->blocks);
    }
}

static enum stn_status batchnorm_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *bn = (struct batchnorm *)op;
    struct pass p = pass_begin(bn, io);
    if (io->phase == KERNEL_EVAL) {
        // Nothing is left for backward: the affine map lives in the scratch.
        float *map = io->scratch;
        p.mean = map;
        p.inverse = map + padded(bn);
        p.scale = map + 2 * padded(bn);
        p.shift = map + 3 * padded(bn);
        normalise_with_running(&p);
    } else {
        sweep(&p, 1, measure_moments, merge_moments, normalise);
    }
    return STN_OK;
}

// ---- backward -----------------------------------------------------------------------------------

// Without a residual the mask follows from x, which is read anyway; with one, y is the one thing to
// read that tells it.
static struct simd_mask mask_at(const struct pass *p, size_t at, int b)
{
    size_t channel = (size_t)(b * p->bn->c.block);
    bool from_y = p->bn->desc.residual && p->bn->desc.activation != KERNEL_LINEAR;
    return (struct simd_mask){
        .activation = p->bn->desc.activation,
        .y = from_y ? p->io->y + at : NULL,
        .scale = p->scale + channel,
        .shift = p->shift + channel,
    };
}

static void measure_gradient(const struct pass *p, int n, int b)
{
    const struct batchnorm *bn = p->bn;
    size_t at = onednn_chunk_at(&bn->c, n, b);
    double *sum_dz = partial_at(bn, p->first, n, b), *sum_dz_x = partial_at(bn, p->second, n, b);
    memset(sum_dz, 0, (size_t)bn->c.block * sizeof(*sum_dz));
    memset(sum_dz_x, 0, (size_t)bn->c.block * sizeof(*sum_dz_x));
    bn->simd->normalise_sums(p->io->dy + at, p->io->x[0] + at, p->mean + b * bn->c.block,
                             mask_at(p, at, b), bn->c.pixels, sum_dz, sum_dz_x);
}

// dx = γ/σ·(dz − Σdz/m − x̂·Σ(dz·x̂)/m) with x̂ = (x − mean)/σ, written as a·dz + b·(x − mean) + c.
static void merge_gradient(const struct pass *p, int b)
{
    const struct batchnorm *bn = p->bn;
    double count = (double)p->io->rows * (double)bn->c.pixels;
    for (int l = 0; l < bn->c.block; l++) {
        int channel = b * bn->c.block + l;
        double sum_dz = 0.0, sum_dz_x = 0.0;
        for (int n = 0; n < p->io->rows; n++) {
            sum_dz += partial_at(bn, p->first, n, b)[l];
            sum_dz_x += partial_at(bn, p->second, n, b)[l];
        }
        double inverse = (double)p->inverse[channel], a = (double)p->scale[channel];
        p->line[0][channel] = (float)a;
        p->line[1][channel] = (float)(-a * inverse * inverse * sum_dz_x / count);
        p->line[2][channel] = (float)(-a * sum_dz / count);
        if (channel < bn->c.channels) {
            p->io->param_grads[0][channel] += (float)(sum_dz_x * inverse);
            p->io->param_grads[1][channel] += (float)sum_dz;
        }
    }
}

static void clear_gradients(const struct pass *p, size_t at)
{
    for (int i = 0; i < (p->bn->desc.residual ? 2 : 1); i++) {
        if (p->bn->desc.dx[i] == KERNEL_DX_WRITE) {
            memset(p->io->dx[i] + at, 0, p->bn->c.floats * sizeof(float));
        }
    }
}

// The residual's gradient comes last: it may be written over dy.
static void spread_gradient(const struct pass *p, int n, int b)
{
    const struct batchnorm *bn = p->bn;
    size_t at = onednn_chunk_at(&bn->c, n, b), channel = (size_t)(b * bn->c.block);
    if (n >= p->io->rows) {
        clear_gradients(p, at);
        return;
    }
    const float *dy = p->io->dy + at;
    if (bn->desc.dx[0] != KERNEL_DX_NONE) {
        struct simd_line line = {p->mean + channel, p->line[0] + channel, p->line[1] + channel,
                                 p->line[2] + channel};
        bn->simd->normalise_gradient(dy, p->io->x[0] + at, line, mask_at(p, at, b), bn->c.pixels,
                                     bn->desc.dx[0] == KERNEL_DX_ADD, p->io->dx[0] + at);
    }
    if (bn->desc.residual && bn->desc.dx[1] != KERNEL_DX_NONE) {
        const float *y = bn->desc.activation == KERNEL_LINEAR ? NULL : p->io->y + at;
        float *dx = p->io->dx[1] + at;
        if (y || dx != dy) {
            bn->simd->mask(dy, y, bn->desc.activation, bn->c.pixels,
                           bn->desc.dx[1] == KERNEL_DX_ADD, dx);
        }
    }
}

static enum stn_status batchnorm_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *bn = (struct batchnorm *)op;
    struct pass p = pass_begin(bn, io);
    sweep(&p, 2, measure_gradient, merge_gradient, spread_gradient);
    return STN_OK;
}

// ---- life ---------------------------------------------------------------------------------------

static void batchnorm_destroy(struct kernel_op *op)
{
    free(op);
}

static const struct kernel_op_calls batchnorm_calls = {
    .forward = batchnorm_forward,
    .backward = batchnorm_backward,
    .destroy = batchnorm_destroy,
};

enum stn_status onednn_batchnorm_create(void *engine, const struct kernel_batchnorm *d,
                                        struct kernel_op **out)
{
    struct batchnorm *bn = calloc(1, sizeof(*bn));
    if (!bn) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a batch normalisation");
    }
    bn->engine = engine;
    bn->desc = *d;
    bn->c = onednn_chunks_of(d->x);
    bn->simd = simd_kernels_for(bn->c.block);
    bn->past_cache = kernel_tensor_bytes(d->x) > bn->engine->cache_bytes / 4 * 3;
    size_t channels = padded(bn);
    bool mask_from_y = d->residual && d->activation != KERNEL_LINEAR;
    bn->op = (struct kernel_op){
        .calls = &batchnorm_calls,
        .traits =
            {
                .name = kernel_activation_suffix("batchnorm", d->activation),
                .y = d->x,
                .saved_bytes = 4 * channels * sizeof(float),
                .scratch_bytes =
                    channels * (2 * (size_t)bn->c.n * sizeof(double) + 4 * sizeof(float)),
                .backward_reads = KERNEL_READS_X | (mask_from_y ? KERNEL_READS_Y : 0),
                .in_place_input = d->residual ? 1 : 0,
            },
    };
    *out = &bn->op;
    return STN_OK;
}
