// SPDX-License-Identifier: Apache-2.0
// Dense 3×3 convolutions of stride 1 by Winograd's minimal filtering, F(4×4, 3×3): a quarter of the
// multiplications of the direct way. Each pass cuts its feature maps into tiles, transforms them to
// 36 positions, multiplies matrices position by position and transforms back:
//
//     forward    x  → positions [tiles][ic], × weights [ic][oc], → y
//     data       dy → positions [tiles][oc], × turned weights [oc][ic], → dx
//     weights    x and dy → positions [tiles][ic] and [tiles][oc], multiplied over tiles, → dw
//
// Forward and data are the same sweep: each thread takes its tiles in blocks whose positions stay in
// its cache. For the weights the team transforms a chunk of tiles together, then shares out the
// matrix; sums are in the order of the tiles, whatever the number of threads.
// Padding lanes take part as zeros. docs/decisions/0010 has the figures behind the constants.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/onednn/engine.h"

enum {
    POSITIONS = SIMD_TILE_POSITIONS,
    TAPS = SIMD_TILE_TAPS * SIMD_TILE_TAPS,
    // Positions would lie powers of two apart, all in the same corner of a cache, but for this.
    STAGGER = 16, // floats
};

// ---- tuning -------------------------------------------------------------------------------------

// What the parts of a block may occupy, so that together they fit the cache of a core, and the
// shared one with what else the segment touches.
enum {
    SWEEP_CUT_BYTES = 256 << 10,
    SWEEP_SUM_BYTES = 192 << 10,
    SWEEP_ROWS_MIN = 24, // tiles: below, reading the weights takes longer than multiplying them
    SWEEP_ROWS_MAX = 96,
    CHUNK_BYTES = 6 << 20,
    CHUNK_ROWS_MAX = 256,
    PART_INPUTS = 4,  // blocks of a part of the weight gradient: a part's positions fit the cache
    PART_OUTPUTS = 3, // of a core
};

static int at_most(int value, int most)
{
    return value < most ? value : most;
}

static int at_least(int value, int least)
{
    return value > least ? value : least;
}

static int ceil_div(int value, int divisor)
{
    return (value + divisor - 1) / divisor;
}

static size_t position_bytes(int blocks, int block)
{
    return POSITIONS * (size_t)blocks * (size_t)block * sizeof(float);
}

// ---- types --------------------------------------------------------------------------------------

// Feature maps in planes, and the tiles over them.
struct maps {
    struct onednn_chunks c;
    struct simd_tiling tiling;
};

// Forward, or data.
struct sweep {
    struct maps in, out;
    int tiles; // of one sample
    int rows;  // tiles in a block
    int group; // output blocks whose positions are there at once
    size_t cut_step, sum_step; // floats from one position to the next
    float *weights;            // [groups][36][group][in.blocks·block][block]
    size_t weight_floats;
};

struct gradient {
    struct maps x, dy;
    int rows; // tiles in a chunk
    size_t x_step, dy_step;
    int x_parts, dy_parts;
    size_t part_step, part_floats; // positions of a part
};

struct winograd {
    struct kernel_op op;
    struct onednn_engine *engine;
    struct kernel_conv desc;
    const struct simd_kernels *simd;
    struct sweep forward, data;
    struct gradient gradient;
    float *bias; // [padded channels]
    void *pages; // all of the above that is packed
    size_t page_bytes;
};

// ---- sweep --------------------------------------------------------------------------------------

// Calls for the tiles of one sample after the other, of `count` from `first` on in all samples.
#define FOR_SAMPLES(n, range, tiles, first, count)                                                 \
    for (int n = (first) / (tiles), done_ = 0, from_ = (first) % (tiles); done_ < (count);         \
         done_ += range.count, from_ = 0, n++)                                                     \
        if ((range = (struct simd_tile_range){from_, at_most((tiles)-from_, (count)-done_)})       \
                .count > 0)

static void sweep_cut(const struct winograd *w, const struct sweep *s, const float *in, int first,
                      int count, float *cut)
{
    const struct onednn_chunks *c = &s->in.c;
    size_t block = (size_t)c->block;
    for (int b = 0; b < c->blocks; b++) {
        float *to = cut + (size_t)b * (size_t)s->rows * block;
        struct simd_tile_range range;
        FOR_SAMPLES(n, range, s->tiles, first, count)
        {
            w->simd->winograd_cut(&s->in.tiling, in + onednn_chunk_at(c, n, b), range, to,
                                  s->cut_step);
            to += (size_t)range.count * block;
        }
    }
}

static void sweep_multiply(const struct winograd *w, const struct sweep *s, const float *cut,
                           int first_block, int blocks, int count, float *sums)
{
    size_t block = (size_t)s->in.c.block, row_step = (size_t)s->rows * block;
    size_t column = (size_t)s->in.c.blocks * block * block;
    const float *weights = s->weights + POSITIONS * (size_t)first_block * column;
    struct simd_product p = {
        .rows = count,
        .blocks = s->in.c.blocks,
        .columns = blocks,
        .a_step = row_step,
        .b_step = column,
        .c_step = row_step,
    };
    for (size_t position = 0; position < POSITIONS; position++) {
        p.a = cut + position * s->cut_step;
        p.b = weights + position * (size_t)blocks * column;
        p.c = sums + position * s->sum_step;
        w->simd->product(&p);
    }
}

// What becomes of the results.
struct finish {
    const float *bias;
    enum kernel_activation activation;
    bool add;
};

static void sweep_put(const struct winograd *w, const struct sweep *s, const float *sums,
                      int first_block, int blocks, int first, int count, struct finish finish,
                      float *out)
{
    const struct onednn_chunks *c = &s->out.c;
    size_t block = (size_t)c->block;
    for (int b = 0; b < blocks; b++) {
        const float *from = sums + (size_t)b * (size_t)s->rows * block;
        const float *bias = finish.bias ? finish.bias + (first_block + b) * c->block : NULL;
        struct simd_tile_range range;
        FOR_SAMPLES(n, range, s->tiles, first, count)
        {
            w->simd->winograd_put(&s->out.tiling, from, s->sum_step, range, bias, finish.activation,
                                  finish.add, out + onednn_chunk_at(c, n, first_block + b));
            from += (size_t)range.count * block;
        }
    }
}

static void sweep_run(const struct winograd *w, const struct sweep *s, const float *in,
                      struct finish finish, float *scratch, float *out)
{
    size_t own = POSITIONS * (s->cut_step + s->sum_step);
#pragma omp parallel num_threads(w->engine->threads)
    {
        int all = s->in.c.n * s->tiles, team = omp_get_num_threads(), me = omp_get_thread_num();
        int end = (int)((int64_t)all * (me + 1) / team);
        float *cut = scratch + (size_t)me * own, *sums = cut + POSITIONS * s->cut_step;
        int count;
        for (int first = (int)((int64_t)all * me / team); first < end; first += count) {
            count = at_most(s->rows, end - first);
            sweep_cut(w, s, in, first, count, cut);
            for (int b = 0; b < s->out.c.blocks; b += s->group) {
                int blocks = at_most(s->group, s->out.c.blocks - b);
                sweep_multiply(w, s, cut, b, blocks, count, sums);
                sweep_put(w, s, sums, b, blocks, first, count, finish, out);
            }
        }
    }
}

static struct maps maps_of(struct kernel_tensor t, int across, int pad_top, int pad_left)
{
    return (struct maps){
        .c = onednn_chunks_of(t),
        .tiling = {.h = t.shape.h, .w = t.shape.w, .across = across, .pad = {pad_top, pad_left}},
    };
}

// Blocks of equal size that fit the cache, of the tiles that fall to one thread.
static int sweep_rows(const struct sweep *s, int threads)
{
    int most = (int)(SWEEP_CUT_BYTES / position_bytes(s->in.c.blocks, s->in.c.block));
    most = at_most(at_least(most, SWEEP_ROWS_MIN), SWEEP_ROWS_MAX);
    int share = ceil_div(s->in.c.n * s->tiles, threads);
    return ceil_div(share, ceil_div(share, most));
}

static void sweep_init(struct sweep *s, struct kernel_tensor in, struct kernel_tensor out,
                       int pad_top, int pad_left, int threads)
{
    int across = ceil_div(out.shape.w, SIMD_TILE_OUT);
    s->tiles = across * ceil_div(out.shape.h, SIMD_TILE_OUT);
    s->in = maps_of(in, across, pad_top, pad_left);
    s->out = maps_of(out, across, 0, 0);
    s->rows = sweep_rows(s, threads);
    int group = (int)(SWEEP_SUM_BYTES / position_bytes(s->rows, s->out.c.block));
    s->group = at_most(at_least(group & ~1, 2), s->out.c.blocks);
    size_t row_floats = (size_t)s->rows * (size_t)s->in.c.block;
    s->cut_step = (size_t)s->in.c.blocks * row_floats + STAGGER;
    s->sum_step = (size_t)s->group * row_floats + STAGGER;
    s->weight_floats = POSITIONS * (size_t)kernel_tensor_padded_channels(in) *
                       (size_t)kernel_tensor_padded_channels(out);
}

static size_t sweep_scratch_bytes(const struct sweep *s, int threads)
{
    return (size_t)threads * POSITIONS * (s->cut_step + s->sum_step) * sizeof(float);
}

// ---- weights ------------------------------------------------------------------------------------

// Where in the plain weights the taps that lead from input channel `from` to output channel `to` of
// the sweep begin; data goes from outputs to inputs, and through the turned kernel.
static const float *plain_taps(const struct winograd *w, const float *plain, bool turned, int from,
                               int to)
{
    size_t ic = (size_t)w->desc.x.shape.c;
    size_t at = turned ? (size_t)from * ic + (size_t)to : (size_t)to * ic + (size_t)from;
    return plain + at * TAPS;
}

static void pack_block(const struct winograd *w, const struct sweep *s, const float *plain,
                       bool turned, int b)
{
    int block = s->in.c.block, first = b - b % s->group;
    size_t column = (size_t)(s->in.c.blocks * block * block);
    size_t blocks = (size_t)at_most(s->group, s->out.c.blocks - first);
    float *to = s->weights + (POSITIONS * (size_t)first + (size_t)(b - first)) * column;
    int lanes = at_most(block, s->out.c.channels - b * block);
    for (int from = 0; from < s->in.c.channels; from++) {
        float taps[TAPS * SIMD_BLOCK_MAX] = {0};
        for (int l = 0; l < lanes; l++) {
            const float *at = plain_taps(w, plain, turned, from, b * block + l);
            for (int tap = 0; tap < TAPS; tap++) {
                taps[tap * block + l] = at[turned ? TAPS - 1 - tap : tap];
            }
        }
        w->simd->winograd_weigh(taps, to + (size_t)(from * block), blocks * column);
    }
}

static void winograd_prepare(struct kernel_op *op, const float *const *params)
{
    struct winograd *w = (struct winograd *)op;
    int outputs = w->forward.out.c.blocks;
    int inputs = w->desc.dx == KERNEL_DX_NONE ? 0 : w->data.out.c.blocks;
#pragma omp parallel for schedule(static) num_threads(w->engine->threads)
    for (int b = 0; b < outputs + inputs; b++) {
        if (b < outputs) {
            pack_block(w, &w->forward, params[0], false, b);
        } else {
            pack_block(w, &w->data, params[0], true, b - outputs);
        }
    }
    if (w->desc.bias) {
        memcpy(w->bias, params[1], (size_t)w->desc.out_channels * sizeof(float));
    }
}

// ---- gradient of the weights --------------------------------------------------------------------

typedef __typeof__(*((struct simd_kernels *)0)->winograd_cut) cut_fn;

// One block of channels of a chunk.
static void gradient_cut(cut_fn *cut, const struct maps *maps, const float *from, int b, int rows,
                         int tiles, int first, int count, float *to, size_t step)
{
    size_t block = (size_t)maps->c.block;
    to += (size_t)b * (size_t)rows * block;
    struct simd_tile_range range;
    FOR_SAMPLES(n, range, tiles, first, count)
    {
        cut(&maps->tiling, from + onednn_chunk_at(&maps->c, n, b), range, to, step);
        to += (size_t)range.count * block;
    }
}

// A part of the gradient: some input blocks × some output blocks.
struct part {
    int x, dy;             // the first block of each
    int x_count, dy_count; // blocks
};

static struct part part_at(const struct gradient *g, int i)
{
    int x = i / g->dy_parts, dy = i % g->dy_parts;
    struct part p = {g->x.c.blocks * x / g->x_parts, g->dy.c.blocks * dy / g->dy_parts, 0, 0};
    p.x_count = g->x.c.blocks * (x + 1) / g->x_parts - p.x;
    p.dy_count = g->dy.c.blocks * (dy + 1) / g->dy_parts - p.dy;
    return p;
}

static void part_multiply(const struct winograd *w, struct part part, const float *x,
                          const float *dy, int count, bool add, float *sums)
{
    const struct gradient *g = &w->gradient;
    size_t block = (size_t)g->x.c.block, row_step = (size_t)g->rows * block;
    struct simd_product p = {
        .rows = count,
        .blocks = part.x_count,
        .columns = part.dy_count,
        .a_step = row_step,
        .b_step = row_step,
        .c_step = (size_t)part.x_count * block * block,
        .add = add,
    };
    for (size_t position = 0; position < POSITIONS; position++) {
        p.a = x + position * g->x_step + (size_t)part.x * row_step;
        p.b = dy + position * g->dy_step + (size_t)part.dy * row_step;
        p.c = sums + position * g->part_step;
        w->simd->product_over_rows(&p);
    }
}

// Back from the positions, and added to the plain gradient.
static void part_put(const struct winograd *w, struct part part, const float *sums, float *plain)
{
    const struct gradient *g = &w->gradient;
    int block = g->x.c.block, ic = g->x.c.channels;
    int inputs = at_most(part.x_count * block, ic - part.x * block);
    for (int b = 0; b < part.dy_count; b++) {
        int oc = (part.dy + b) * block, lanes = at_most(block, g->dy.c.channels - oc);
        for (int c = 0; c < inputs; c++) {
            float taps[TAPS * SIMD_BLOCK_MAX];
            size_t at = ((size_t)b * (size_t)(part.x_count * block) + (size_t)c) * (size_t)block;
            w->simd->winograd_weigh_gradient(sums + at, g->part_step, taps);
            float *to = plain + ((size_t)oc * (size_t)ic + (size_t)(part.x * block + c)) * TAPS;
            for (int l = 0; l < lanes; l++, to += (size_t)ic * TAPS) {
                for (int tap = 0; tap < TAPS; tap++) {
                    to[tap] += taps[tap * block + l];
                }
            }
        }
    }
}

// Positions of a part outlive a chunk only if there are several.
static size_t gradient_sums(const struct gradient *g, int chunks, int threads)
{
    return (size_t)(chunks > 1 ? g->x_parts * g->dy_parts : threads) * g->part_floats;
}

static void gradient_run(const struct winograd *w, const struct kernel_io *io)
{
    const struct gradient *g = &w->gradient;
    int tiles = w->forward.tiles, all = io->rows * tiles, chunks = ceil_div(all, g->rows);
    int x_blocks = g->x.c.blocks, parts = g->x_parts * g->dy_parts;
    float *x = io->scratch, *dy = x + POSITIONS * g->x_step, *sums = dy + POSITIONS * g->dy_step;
#pragma omp parallel num_threads(w->engine->threads)
    for (int chunk = 0; chunk < chunks; chunk++) {
        int first = (int)((int64_t)all * chunk / chunks);
        int count = (int)((int64_t)all * (chunk + 1) / chunks) - first;
#pragma omp for schedule(static, 1)
        for (int b = 0; b < x_blocks + g->dy.c.blocks; b++) {
            if (b < x_blocks) {
                gradient_cut(w->simd->winograd_cut, &g->x, io->x[0], b, g->rows, tiles, first,
                             count, x, g->x_step);
            } else {
                gradient_cut(w->simd->winograd_cut_gradient, &g->dy, io->dy, b - x_blocks, g->rows,
                             tiles, first, count, dy, g->dy_step);
            }
        }
#pragma omp for schedule(static)
        for (int i = 0; i < parts; i++) {
            float *own = sums + (size_t)(chunks > 1 ? i : omp_get_thread_num()) * g->part_floats;
            part_multiply(w, part_at(g, i), x, dy, count, chunk > 0, own);
            if (chunk == chunks - 1) {
                part_put(w, part_at(g, i), own, io->param_grads[0]);
            }
        }
    }
}

static void gradient_init(struct gradient *g, const struct sweep *forward, int threads)
{
    g->x = forward->in;
    g->dy = forward->out;
    int block = g->x.c.block, all = g->x.c.n * forward->tiles;
    int most = (int)(CHUNK_BYTES / position_bytes(g->x.c.blocks + g->dy.c.blocks, block));
    most = at_most(at_least(most, SWEEP_ROWS_MIN), CHUNK_ROWS_MAX);
    g->rows = ceil_div(all, ceil_div(all, most));
    size_t row_floats = (size_t)(g->rows * block);
    g->x_step = (size_t)g->x.c.blocks * row_floats + STAGGER;
    g->dy_step = (size_t)g->dy.c.blocks * row_floats + STAGGER;
    g->dy_parts = ceil_div(g->dy.c.blocks, PART_OUTPUTS);
    g->x_parts = at_least(ceil_div(g->x.c.blocks, PART_INPUTS), at_most(threads, g->x.c.blocks));
    int inputs = ceil_div(g->x.c.blocks, g->x_parts);
    int outputs = ceil_div(g->dy.c.blocks, g->dy_parts);
    g->part_step = (size_t)(inputs * outputs * block * block) + STAGGER;
    g->part_floats = POSITIONS * g->part_step;
}

static size_t gradient_scratch_bytes(const struct gradient *g, int tiles, int threads)
{
    int chunks = ceil_div(g->x.c.n * tiles, g->rows);
    size_t sums = gradient_sums(g, chunks, threads);
    return (POSITIONS * (g->x_step + g->dy_step) + sums) * sizeof(float);
}

// ---- op -----------------------------------------------------------------------------------------

static enum stn_status winograd_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct winograd *w = (struct winograd *)op;
    struct finish finish = {w->desc.bias ? w->bias : NULL, w->desc.activation, false};
    sweep_run(w, &w->forward, io->x[0], finish, io->scratch, io->y);
    return STN_OK;
}

static enum stn_status winograd_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct winograd *w = (struct winograd *)op;
    if (w->desc.bias || w->desc.activation != KERNEL_LINEAR) {
        onednn_mask_and_sum_bias(w->engine, &w->desc, op->traits.y, io);
    }
    gradient_run(w, io);
    if (w->desc.dx != KERNEL_DX_NONE) {
        struct finish finish = {NULL, KERNEL_LINEAR, w->desc.dx == KERNEL_DX_ADD};
        sweep_run(w, &w->data, io->dy, finish, io->scratch, io->dx[0]);
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

bool onednn_winograd_fits(const struct onednn_engine *engine, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    bool fits = d->groups == 1 && d->x.layout == engine->native &&
                simd_kernels_for(kernel_layout_block(engine->native))->fused;
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == SIMD_TILE_TAPS && w->stride[axis] == 1 &&
               w->pad_before[axis] < SIMD_TILE_TAPS;
    }
    return fits;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t scratch_bytes(const struct winograd *w)
{
    int threads = w->engine->threads;
    size_t sweeps =
        larger(sweep_scratch_bytes(&w->forward, threads), sweep_scratch_bytes(&w->data, threads));
    size_t gradient = gradient_scratch_bytes(&w->gradient, w->forward.tiles, threads);
    size_t bias = onednn_mask_and_sum_bias_bytes(w->op.traits.y);
    return larger(larger(sweeps, gradient), bias);
}

static void winograd_plan(struct winograd *w)
{
    const struct kernel_conv *d = &w->desc;
    const int *pad = d->window.pad_before, reach = SIMD_TILE_TAPS - 1;
    int threads = w->engine->threads;
    struct kernel_tensor y = w->op.traits.y;
    sweep_init(&w->forward, d->x, y, pad[0], pad[1], threads);
    sweep_init(&w->data, y, d->x, reach - pad[0], reach - pad[1], threads);
    gradient_init(&w->gradient, &w->forward, threads);
    w->op.traits.scratch_bytes = scratch_bytes(w);
}

enum stn_status onednn_winograd_create(struct onednn_engine *engine, const struct kernel_conv *d,
                                       struct kernel_op_traits traits, struct kernel_op **out)
{
    struct winograd *w = calloc(1, sizeof(*w));
    if (!w) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    w->op = (struct kernel_op){.calls = &winograd_calls, .traits = traits};
    w->engine = engine;
    w->desc = *d;
    w->simd = simd_kernels_for(kernel_layout_block(d->x.layout));
    winograd_plan(w);
    size_t data = d->dx == KERNEL_DX_NONE ? 0 : w->data.weight_floats;
    size_t bias = (size_t)kernel_tensor_padded_channels(traits.y);
    w->page_bytes = (w->forward.weight_floats + data + bias) * sizeof(float);
    w->pages = base_pages_alloc(w->page_bytes);
    if (!w->pages) {
        enum stn_status status = stn_fail(
            STN_ERR_NO_MEMORY, "no memory for the packed weights of a convolution (%zu bytes)",
            w->page_bytes);
        free(w);
        return status;
    }
    w->forward.weights = w->pages;
    w->data.weights = w->forward.weights + w->forward.weight_floats;
    w->bias = w->data.weights + data;
    w->op.traits.packed_bytes = w->page_bytes;
    *out = &w->op;
    return STN_OK;
}
