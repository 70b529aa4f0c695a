// SPDX-License-Identifier: Apache-2.0
// Winograd's forward pass, which is also the one from dy to dx. Each thread takes its tiles in
// blocks whose positions stay in its cache: it transforms all channels of a block of tiles,
// multiplies them with the weights of a group of outputs, transforms the group back, and goes on
// with the next group. Weights lie in the order in which they are read.
#include <omp.h>

#include "kernel/native/winograd.h"

// What the positions of a block may occupy, in and out, so that both fit the cache of a core; how
// many tiles there are at least, so that they are worth reading the weights for.
enum {
    CUT_BYTES = 256 << 10,
    SUM_BYTES = 192 << 10,
    ROWS_MIN = 24,
    ROWS_MIN_FAR = 64, // for more than NEAR_FLOATS weights, which come from memory each time
    ROWS_MAX = 96,
    NEAR_FLOATS = 1 << 20,
};

// ---- weights -----------------------------------------------------------------------------------

// Of one position, to one block of outputs.
static size_t column_floats(const struct winograd_sweep *s)
{
    size_t block = (size_t)s->in.c.block;
    return (size_t)s->in.c.blocks * block * block;
}

// From one position to the next in a group of `blocks`.
static size_t weight_step(const struct winograd_sweep *s, int blocks)
{
    return (size_t)blocks * column_floats(s) + WINOGRAD_STAGGER;
}

// Floats before the group that begins with block `first`.
static size_t weights_at(const struct winograd_sweep *s, int first)
{
    size_t groups = (size_t)winograd_ceil_div(first, s->group);
    return WINOGRAD_POSITIONS * ((size_t)first * column_floats(s) + groups * WINOGRAD_STAGGER);
}

// The taps that lead from channel `from` to each of block b.
static void taps_fetch(const struct winograd_sweep *s, const float *plain, bool turned, int from,
                       int b, float *taps)
{
    int block = s->out.c.block, first = b * block;
    int lanes = winograd_at_most(block, s->out.c.channels - first);
    size_t step = turned ? 1 : (size_t)s->in.c.channels;
    size_t at = turned ? (size_t)from * (size_t)s->out.c.channels + (size_t)first
                       : (size_t)first * step + (size_t)from;
    plain += at * WINOGRAD_TAPS;
    for (int l = 0; l < lanes; l++, plain += step * WINOGRAD_TAPS) {
        for (int tap = 0; tap < WINOGRAD_TAPS; tap++) {
            taps[tap * block + l] = plain[turned ? WINOGRAD_TAPS - 1 - tap : tap];
        }
    }
}

void winograd_sweep_pack(const struct winograd_sweep *s, const float *plain, bool turned, int b)
{
    int block = s->in.c.block, first = b - b % s->group, channels = s->in.c.channels;
    float *to = s->weights + weights_at(s, first) + (size_t)(b - first) * column_floats(s);
    size_t step = weight_step(s, winograd_at_most(s->group, s->out.c.blocks - first));
    float taps[SIMD_WEIGH_MAX * WINOGRAD_TAPS * SIMD_BLOCK_MAX] = {0};
    for (int from = 0; from < channels; from += SIMD_WEIGH_MAX) {
        int count = winograd_at_most(SIMD_WEIGH_MAX, channels - from);
        for (int i = 0; i < count; i++) {
            taps_fetch(s, plain, turned, from + i, b, taps + i * WINOGRAD_TAPS * block);
        }
        s->simd->winograd_weigh(taps, count, to + (size_t)(from * block), step);
    }
}

// ---- running -----------------------------------------------------------------------------------

static void cut(const struct winograd_sweep *s, const float *in, struct simd_tile_range tiles,
                float *to)
{
    for (int b = 0; b < s->in.c.blocks; b++) {
        s->simd->winograd_cut(&s->in.tiling, in + native_chunk_at(&s->in.c, 0, b), tiles,
                              to + (size_t)b * s->row_step, s->cut_step);
    }
}

// With the weights of the group of `blocks` from `first` on.
static void multiply(const struct winograd_sweep *s, const float *in, int first, int blocks,
                     int rows, float *sums)
{
    const float *weights = s->weights + weights_at(s, first);
    struct simd_tile_product p = {
        .rows = rows,
        .blocks = s->in.c.blocks,
        .columns = blocks,
        .a_step = s->row_step,
        .b_step = column_floats(s),
        .c_step = s->row_step,
    };
    for (size_t position = 0; position < WINOGRAD_POSITIONS; position++) {
        p.a = in + position * s->cut_step;
        p.b = weights + position * weight_step(s, blocks);
        p.c = sums + position * s->sum_step;
        s->simd->tile_product(&p);
    }
}

static void put(const struct winograd_sweep *s, const float *sums, int first, int blocks,
                struct simd_tile_range tiles, struct winograd_finish finish, float *out)
{
    for (int b = 0; b < blocks; b++) {
        const float *bias = finish.bias ? finish.bias + (first + b) * s->out.c.block : NULL;
        s->simd->winograd_put(&s->out.tiling, sums + (size_t)b * s->row_step, s->sum_step, tiles,
                              bias, finish.activation, finish.add,
                              out + native_chunk_at(&s->out.c, 0, first + b));
    }
}

void winograd_sweep_run(const struct winograd_sweep *s, const float *in,
                        struct winograd_finish finish, float *scratch, float *out)
{
#pragma omp parallel num_threads(s->threads)
    {
        int all = s->in.c.n * winograd_tiles(&s->in);
        int team = omp_get_num_threads(), me = omp_get_thread_num();
        int end = (int)((int64_t)all * (me + 1) / team);
        float *positions = scratch + (size_t)me * WINOGRAD_POSITIONS * (s->cut_step + s->sum_step);
        float *sums = positions + WINOGRAD_POSITIONS * s->cut_step;
        struct simd_tile_range tiles = {.first = (int)((int64_t)all * me / team)};
        for (; tiles.first < end; tiles.first += tiles.count) {
            tiles.count = winograd_at_most(s->rows, end - tiles.first);
            cut(s, in, tiles, positions);
            for (int b = 0; b < s->out.c.blocks; b += s->group) {
                int blocks = winograd_at_most(s->group, s->out.c.blocks - b);
                multiply(s, positions, b, blocks, tiles.count, sums);
                put(s, sums, b, blocks, tiles, finish, out);
            }
        }
    }
}

// ---- planning ----------------------------------------------------------------------------------

static struct winograd_maps maps_of(struct kernel_tensor t, struct kernel_shape out, int pad_top,
                                    int pad_left)
{
    struct native_chunks c = native_chunks_of(t);
    return (struct winograd_maps){
        .c = c,
        .tiling = {.h = t.shape.h,
                   .w = t.shape.w,
                   .down = winograd_ceil_div(out.h, SIMD_TILE_OUT),
                   .across = winograd_ceil_div(out.w, SIMD_TILE_OUT),
                   .pad = {pad_top, pad_left},
                   .sample_step = (size_t)c.blocks * c.floats},
    };
}

// Blocks of equal size that fit the cache, of the tiles that fall to one thread.
static int rows_of(const struct winograd_sweep *s)
{
    bool far =
        WINOGRAD_POSITIONS * column_floats(s) * (size_t)s->out.c.blocks > (size_t)NEAR_FLOATS;
    int most = (int)(CUT_BYTES / winograd_position_bytes(s->in.c.blocks, s->in.c.block));
    most = winograd_at_least(most, far ? ROWS_MIN_FAR : ROWS_MIN);
    most = winograd_at_most(most, ROWS_MAX);
    int share = winograd_ceil_div(s->in.c.n * winograd_tiles(&s->in), s->threads);
    return winograd_ceil_div(share, winograd_ceil_div(share, most));
}

static int group_of(const struct winograd_sweep *s)
{
    int most = (int)(SUM_BYTES / winograd_position_bytes(s->rows, s->out.c.block));
    int groups = winograd_ceil_div(s->out.c.blocks, winograd_at_least(most, 2));
    int group = winograd_ceil_div(s->out.c.blocks, groups);
    return group + group % 2; // the product takes two blocks at once
}

void winograd_sweep_init(struct winograd_sweep *s, struct kernel_tensor in,
                         struct kernel_tensor out, const int pad[2], int threads)
{
    *s = (struct winograd_sweep){
        .simd = simd_kernels_for(kernel_layout_block(in.layout)),
        .in = maps_of(in, out.shape, pad[0], pad[1]),
        .out = maps_of(out, out.shape, 0, 0),
        .threads = threads,
    };
    s->rows = rows_of(s);
    s->group = group_of(s);
    s->row_step = winograd_row_step(s->rows, s->in.c.block);
    s->cut_step = (size_t)s->in.c.blocks * s->row_step + WINOGRAD_STAGGER;
    s->sum_step = (size_t)s->group * s->row_step + WINOGRAD_STAGGER;
    s->weight_floats = weights_at(s, s->out.c.blocks);
}

size_t winograd_sweep_scratch_bytes(const struct winograd_sweep *s)
{
    return (size_t)s->threads * WINOGRAD_POSITIONS * (s->cut_step + s->sum_step) * sizeof(float);
}
