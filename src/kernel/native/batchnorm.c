// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with residual and activation. Gathering measures every piece (some pixels of
// one channel block of one sample) for itself and merges the pieces of a sample; settling merges
// the samples and finds what running needs: an affine map for each channel. Both keep to the order,
// so the result does not depend on who gathered what, nor on the length of strips.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/native/batchnorm.h"

struct batchnorm {
    struct kernel_op op;
    struct kernel_team *team;
    struct kernel_batchnorm desc;
    const struct simd_kernels *simd;
    struct native_chunks c;
};

typedef void chunk_call(const struct native_gather *g, int n, int b);

enum { SAVED_DOUBLES = 2, SAVED_FLOATS = 7 };

static size_t padded(const struct batchnorm *bn)
{
    return (size_t)bn->c.blocks * (size_t)bn->c.block;
}

// Cuts an array off the front of what is left of a buffer.
static void *take(char **rest, size_t bytes)
{
    void *taken = *rest;
    *rest += bytes;
    return taken;
}

static struct native_gather pass_begin(const struct batchnorm *bn, const struct kernel_io *io)
{
    size_t channels = padded(bn);
    char *saved = io->saved;
    struct native_gather p = {.bn = bn, .io = io, .pieces = native_pieces(bn->c.pixels)};
    for (int i = 0; i < SAVED_DOUBLES; i++) {
        p.gathered[i] = take(&saved, (size_t)bn->c.n * channels * sizeof(double));
    }
    float **arrays[SAVED_FLOATS] = {&p.mean,    &p.inverse, &p.scale,  &p.shift,
                                    &p.line[0], &p.line[1], &p.line[2]};
    for (int i = 0; i < SAVED_FLOATS; i++) {
        *arrays[i] = take(&saved, channels * sizeof(float));
    }
    p.partial[0] = io->scratch;
    p.partial[1] = p.partial[0] + channels * (size_t)(io->samples * p.pieces);
    return p;
}

static size_t saved_bytes(const struct batchnorm *bn)
{
    return padded(bn) *
           ((size_t)bn->c.n * SAVED_DOUBLES * sizeof(double) + SAVED_FLOATS * sizeof(float));
}

static double *partial_at(const struct native_gather *p, int which, int n, int b, int piece)
{
    int at = (b * p->io->samples + n) * p->pieces + piece;
    return p->partial[which] + (size_t)at * (size_t)p->bn->c.block;
}

// What row n of the strip gathered of the channels from block b on.
static double *gathered_at(const struct native_gather *p, int which, int n, int b)
{
    int sample = p->io->strip * p->io->samples + n;
    return p->gathered[which] + (size_t)sample * padded(p->bn) + (size_t)(b * p->bn->c.block);
}

void native_gather_finish(const struct native_gather *p)
{
#pragma omp for schedule(static)
    for (int i = 0; i < p->io->rows * p->bn->c.blocks; i++) {
        p->merge(p, i / p->bn->c.blocks, i % p->bn->c.blocks);
    }
}

static void gather(const struct native_gather *p)
{
    const struct native_chunks *c = &p->bn->c;
#pragma omp parallel num_threads(native_team(p->bn->team, c))
    {
#pragma omp for schedule(static)
        for (int i = 0; i < c->blocks * p->io->rows; i++) {
            for (int piece = 0; piece < p->pieces; piece++) {
                p->measure_piece(p, i / c->blocks, i % c->blocks, piece);
            }
        }
        native_gather_finish(p);
    }
}

static void run(const struct native_gather *p, chunk_call *call)
{
    const struct native_chunks *c = &p->bn->c;
#pragma omp parallel for schedule(static) num_threads(native_team(p->bn->team, c))
    for (int i = 0; i < c->blocks * p->io->samples; i++) {
        call(p, i / c->blocks, i % c->blocks);
    }
}

// ---- forward -----------------------------------------------------------------------------------

static void measure_moments(const struct native_gather *p, int n, int b, int piece)
{
    const struct native_chunks *c = &p->bn->c;
    struct native_piece at = native_piece_at(c->pixels, piece);
    p->bn->simd->moments(p->io->x[0] + native_chunk_at(c, n, b) + at.first * (size_t)c->block,
                         at.count, partial_at(p, 0, n, b, piece), partial_at(p, 1, n, b, piece));
}

// The mean moves by a part's share; M2 grows by the spread of the means.
static void merge_part(double before, double count, int channels, const double *mean,
                       const double *m2, double *all_mean, double *all_m2)
{
    double share = count / (before + count), weight = share * before;
    for (int c = 0; c < channels; c++) {
        double delta = mean[c] - all_mean[c];
        all_mean[c] += delta * share;
        all_m2[c] += m2[c] + delta * delta * weight;
    }
}

static void merge_moments(const struct native_gather *p, int n, int b)
{
    int block = p->bn->c.block;
    double *mean = gathered_at(p, 0, n, b), *m2 = gathered_at(p, 1, n, b);
    memcpy(mean, partial_at(p, 0, n, b, 0), (size_t)block * sizeof(*mean));
    memcpy(m2, partial_at(p, 1, n, b, 0), (size_t)block * sizeof(*m2));
    for (int piece = 1; piece < p->pieces; piece++) {
        struct native_piece at = native_piece_at(p->bn->c.pixels, piece);
        merge_part((double)at.first, (double)at.count, block, partial_at(p, 0, n, b, piece),
                   partial_at(p, 1, n, b, piece), mean, m2);
    }
}

// The affine map of a channel. The padding's is zero, so its lanes stay zero.
static void set_affine(const struct native_gather *p, int channel, float mean, float variance)
{
    if (channel >= p->bn->c.channels) {
        p->mean[channel] = p->inverse[channel] = p->scale[channel] = p->shift[channel] = 0;
        return;
    }
    float inverse = 1.0f / sqrtf(variance + p->bn->desc.epsilon);
    float scale = p->io->params[0][channel] * inverse;
    p->mean[channel] = mean;
    p->inverse[channel] = inverse;
    p->scale[channel] = scale;
    p->shift[channel] = p->io->params[1][channel] - mean * scale;
}

// Samples are merged into the first one's.
static void settle_moments(const struct native_gather *p)
{
    const struct native_chunks *c = &p->bn->c;
    double rows = p->io->rows, pixels = (double)c->pixels, count = rows * pixels;
    for (int n = 1; n < p->io->rows; n++) {
        merge_part(n * pixels, pixels, (int)padded(p->bn), gathered_at(p, 0, n, 0),
                   gathered_at(p, 1, n, 0), p->gathered[0], p->gathered[1]);
    }
    for (int channel = 0; channel < (int)padded(p->bn); channel++) {
        double mean = p->gathered[0][channel], m2 = p->gathered[1][channel];
        set_affine(p, channel, (float)mean, (float)(m2 / count));
        if (channel < c->channels) {
            p->io->buffer_sums[0][channel] += (float)(rows * mean);
            p->io->buffer_sums[1][channel] += (float)(count > 1 ? rows * (m2 / (count - 1)) : 0);
        }
    }
}

struct native_gather native_gather_forward(struct kernel_op *bn, const struct kernel_io *io)
{
    struct native_gather p = pass_begin((struct batchnorm *)bn, io);
    p.measure_piece = measure_moments;
    p.merge = merge_moments;
    return p;
}

static void batchnorm_forward_gather(struct kernel_op *op, const struct kernel_io *io)
{
    struct native_gather p = native_gather_forward(op, io);
    gather(&p);
}

static void normalise(const struct native_gather *p, int n, int b)
{
    const struct batchnorm *bn = p->bn;
    size_t at = native_chunk_at(&bn->c, n, b), channel = (size_t)b * (size_t)bn->c.block;
    bn->simd->normalise(p->io->x[0] + at, bn->desc.residual ? p->io->x[1] + at : NULL,
                        p->scale + channel, p->shift + channel, bn->desc.activation, bn->c.pixels,
                        p->io->y + at);
}

static void settle_running(const struct native_gather *p)
{
    for (int channel = 0; channel < (int)padded(p->bn); channel++) {
        bool real = channel < p->bn->c.channels;
        set_affine(p, channel, real ? p->io->buffers[0][channel] : 0.0f,
                   real ? p->io->buffers[1][channel] : 0.0f);
    }
}

static void batchnorm_forward_settle(struct kernel_op *op, const struct kernel_io *io)
{
    struct native_gather p = pass_begin((struct batchnorm *)op, io);
    if (io->phase == KERNEL_EVAL) {
        settle_running(&p);
    } else {
        settle_moments(&p);
    }
}

static enum stn_status batchnorm_forward(struct kernel_op *op, const struct kernel_io *io)
{
    struct native_gather p = pass_begin((struct batchnorm *)op, io);
    run(&p, normalise);
    return STN_OK;
}

// ---- backward ----------------------------------------------------------------------------------

// Without a residual the mask follows from x, which is read anyway; with one, y is the one thing to
// read that tells it.
static struct simd_mask mask_at(const struct native_gather *p, size_t at, int b)
{
    size_t channel = (size_t)b * (size_t)p->bn->c.block;
    bool from_y = p->bn->desc.residual && p->bn->desc.activation != KERNEL_LINEAR;
    return (struct simd_mask){
        .activation = p->bn->desc.activation,
        .y = from_y ? p->io->y + at : NULL,
        .scale = p->scale + channel,
        .shift = p->shift + channel,
    };
}

static void measure_gradient(const struct native_gather *p, int n, int b, int piece)
{
    const struct native_chunks *c = &p->bn->c;
    struct native_piece part = native_piece_at(c->pixels, piece);
    size_t at = native_chunk_at(c, n, b) + part.first * (size_t)c->block;
    double *sum_dz = partial_at(p, 0, n, b, piece), *sum_dz_x = partial_at(p, 1, n, b, piece);
    memset(sum_dz, 0, (size_t)c->block * sizeof(*sum_dz));
    memset(sum_dz_x, 0, (size_t)c->block * sizeof(*sum_dz_x));
    p->bn->simd->normalise_sums(p->io->dy + at, p->io->x[0] + at, p->mean + b * c->block,
                                mask_at(p, at, b), part.count, sum_dz, sum_dz_x);
}

static void merge_gradient(const struct native_gather *p, int n, int b)
{
    int block = p->bn->c.block;
    for (int which = 0; which < 2; which++) {
        const double *partial = partial_at(p, which, n, b, 0); // [pieces][block]
        double *all = gathered_at(p, which, n, b);
        memcpy(all, partial, (size_t)block * sizeof(*all));
        for (int i = block; i < p->pieces * block; i++) {
            all[i % block] += partial[i];
        }
    }
}

// dx = γ/σ·(dz − Σdz/m − x̂·Σ(dz·x̂)/m) with x̂ = (x − mean)/σ, written as a·dz + b·(x − mean) + c.
static void settle_gradient(const struct native_gather *p)
{
    const struct native_chunks *c = &p->bn->c;
    double count = p->io->rows * (double)c->pixels;
    size_t channels = padded(p->bn);
    for (int which = 0; which < 2; which++) {
        for (size_t i = channels; i < (size_t)p->io->rows * channels; i++) {
            p->gathered[which][i % channels] += p->gathered[which][i];
        }
    }
    for (int channel = 0; channel < (int)channels; channel++) {
        double sum_dz = p->gathered[0][channel], sum_dz_x = p->gathered[1][channel];
        double inverse = (double)p->inverse[channel], a = (double)p->scale[channel];
        p->line[0][channel] = (float)a;
        p->line[1][channel] = (float)(-a * inverse * inverse * sum_dz_x / count);
        p->line[2][channel] = (float)(-a * sum_dz / count);
        if (channel < c->channels) {
            p->io->param_grads[0][channel] += (float)(sum_dz_x * inverse);
            p->io->param_grads[1][channel] += (float)sum_dz;
        }
    }
}

struct native_gather native_gather_backward(struct kernel_op *bn, const struct kernel_io *io)
{
    struct native_gather p = pass_begin((struct batchnorm *)bn, io);
    p.measure_piece = measure_gradient;
    p.merge = merge_gradient;
    return p;
}

static void batchnorm_backward_gather(struct kernel_op *op, const struct kernel_io *io)
{
    struct native_gather p = native_gather_backward(op, io);
    gather(&p);
}

static void batchnorm_backward_settle(struct kernel_op *op, const struct kernel_io *io)
{
    struct native_gather p = pass_begin((struct batchnorm *)op, io);
    settle_gradient(&p);
}

static void clear_gradients(const struct native_gather *p, size_t at)
{
    for (int i = 0; i < (p->bn->desc.residual ? 2 : 1); i++) {
        if (p->bn->desc.dx[i] == KERNEL_DX_WRITE) {
            memset(p->io->dx[i] + at, 0, p->bn->c.floats * sizeof(float));
        }
    }
}

// The residual's gradient comes last: it may be written over dy.
static void spread_gradient(const struct native_gather *p, int n, int b)
{
    const struct batchnorm *bn = p->bn;
    size_t at = native_chunk_at(&bn->c, n, b), channel = (size_t)b * (size_t)bn->c.block;
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
    struct native_gather p = pass_begin((struct batchnorm *)op, io);
    run(&p, spread_gradient);
    return STN_OK;
}

// ---- life --------------------------------------------------------------------------------------

static void batchnorm_destroy(struct kernel_op *op)
{
    free(op);
}

static const struct kernel_op_calls batchnorm_calls = {
    .forward_gather = batchnorm_forward_gather,
    .backward_gather = batchnorm_backward_gather,
    .forward_settle = batchnorm_forward_settle,
    .backward_settle = batchnorm_backward_settle,
    .forward = batchnorm_forward,
    .backward = batchnorm_backward,
    .destroy = batchnorm_destroy,
};

enum stn_status native_batchnorm_create(void *team, const struct kernel_batchnorm *d,
                                        struct kernel_op **out)
{
    struct batchnorm *bn = calloc(1, sizeof(*bn));
    if (!bn) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a batch normalisation");
    }
    bn->team = team;
    bn->desc = *d;
    bn->c = native_chunks_of(d->x);
    bn->simd = simd_kernels_for(bn->c.block);
    bool mask_from_y = d->residual && d->activation != KERNEL_LINEAR;
    bn->op = (struct kernel_op){
        .calls = &batchnorm_calls,
        .traits =
            {
                .name = kernel_activation_suffix("batchnorm", d->activation),
                .y = d->x,
                .gathers = true,
                .saved_bytes = saved_bytes(bn),
                .scratch_bytes = 2 * padded(bn) * (size_t)bn->c.n *
                                 (size_t)native_pieces(bn->c.pixels) * sizeof(double),
                .backward_reads = KERNEL_READS_X | (mask_from_y ? KERNEL_READS_Y : 0),
                .in_place_input = d->residual ? 1 : 0,
            },
    };
    *out = &bn->op;
    return STN_OK;
}
