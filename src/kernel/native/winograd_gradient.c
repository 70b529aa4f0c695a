// SPDX-License-Identifier: Apache-2.0
// Winograd's weight gradient. The team transforms x and dy of a chunk of tiles, then shares out the
// matrix [ic][oc] in parts small enough for a core's cache: a thread multiplies a part in all 36
// positions, and after the last chunk takes it back to taps and adds these to the plain gradient.
// Sums are in the order of the tiles.
#include <omp.h>

#include "kernel/native/winograd.h"

enum {
    CHUNK_BYTES = 10 << 20, // of positions, in the shared cache
    CHUNK_ROWS_MIN = 24,
    CHUNK_ROWS_MAX = 256, // what is read of dy for a part stays in the nearest cache
    PART_INPUTS = 4,      // blocks
    PART_OUTPUTS = 3,
};

// Some input blocks × some output blocks.
struct part {
    int x, dy;             // the first block of each
    int x_count, dy_count; // blocks
};

static struct part part_at(const struct winograd_gradient *g, int i)
{
    int x = i / g->dy_parts, dy = i % g->dy_parts;
    struct part p = {g->x.c.blocks * x / g->x_parts, g->dy.c.blocks * dy / g->dy_parts, 0, 0};
    p.x_count = g->x.c.blocks * (x + 1) / g->x_parts - p.x;
    p.dy_count = g->dy.c.blocks * (dy + 1) / g->dy_parts - p.dy;
    return p;
}

// x and dy are positions here.
static void part_multiply(const struct winograd_gradient *g, struct part part, const float *x,
                          const float *dy, int rows, bool add, float *sums)
{
    size_t block = (size_t)g->x.c.block;
    struct simd_tile_product p = {
        .rows = rows,
        .blocks = part.x_count,
        .columns = part.dy_count,
        .a_step = g->row_step,
        .b_step = g->row_step,
        .c_step = (size_t)part.x_count * block * block,
        .add = add,
    };
    for (size_t position = 0; position < WINOGRAD_POSITIONS; position++) {
        p.a = x + position * g->x_step + (size_t)part.x * g->row_step;
        p.b = dy + position * g->dy_step + (size_t)part.dy * g->row_step;
        p.c = sums + position * g->part_step;
        g->simd->tile_product_over_rows(&p);
    }
}

static void part_put(const struct winograd_gradient *g, struct part part, const float *sums,
                     float *plain)
{
    int block = g->x.c.block, channels = g->x.c.channels, first = part.x * block;
    int inputs = winograd_at_most(part.x_count * block, channels - first);
    for (int b = 0; b < part.dy_count; b++, sums += part.x_count * block * block) {
        int oc = (part.dy + b) * block;
        int lanes = winograd_at_most(block, g->dy.c.channels - oc);
        for (int c = 0; c < inputs; c++) {
            float taps[WINOGRAD_TAPS * SIMD_BLOCK_MAX];
            g->simd->winograd_weigh_gradient(sums + c * block, g->part_step, taps);
            float *to =
                plain + ((size_t)oc * (size_t)channels + (size_t)(first + c)) * WINOGRAD_TAPS;
            for (int l = 0; l < lanes; l++, to += (size_t)channels * WINOGRAD_TAPS) {
                for (int tap = 0; tap < WINOGRAD_TAPS; tap++) {
                    to[tap] += taps[tap * block + l];
                }
            }
        }
    }
}

// The channel block b of both: first those of x, then those of dy.
static void cut_block(const struct winograd_gradient *g, const float *x, const float *dy, int b,
                      struct simd_tile_range tiles, float *x_cut, float *dy_cut)
{
    if (b < g->x.c.blocks) {
        g->simd->winograd_cut(&g->x.tiling, x + native_chunk_at(&g->x.c, 0, b), tiles,
                              x_cut + (size_t)b * g->row_step, g->x_step);
    } else {
        b -= g->x.c.blocks;
        g->simd->winograd_cut_gradient(&g->dy.tiling, dy + native_chunk_at(&g->dy.c, 0, b), tiles,
                                       dy_cut + (size_t)b * g->row_step, g->dy_step);
    }
}

void winograd_gradient_run(const struct winograd_gradient *g, const float *x, const float *dy,
                           int samples, float *scratch, float *plain)
{
    int all = samples * winograd_tiles(&g->x), chunks = winograd_ceil_div(all, g->rows);
    int blocks = g->x.c.blocks + g->dy.c.blocks, parts = g->x_parts * g->dy_parts;
    float *x_cut = scratch, *dy_cut = x_cut + WINOGRAD_POSITIONS * g->x_step;
    float *sums = dy_cut + WINOGRAD_POSITIONS * g->dy_step;
#pragma omp parallel num_threads(g->threads)
    for (int chunk = 0; chunk < chunks; chunk++) {
        int first = (int)((int64_t)all * chunk / chunks);
        struct simd_tile_range tiles = {first, (int)((int64_t)all * (chunk + 1) / chunks) - first};
#pragma omp for schedule(static, 1)
        for (int b = 0; b < blocks; b++) {
            cut_block(g, x, dy, b, tiles, x_cut, dy_cut);
        }
#pragma omp for schedule(static)
        for (int i = 0; i < parts; i++) {
            // Sums of a part outlive a chunk only if there are several.
            float *own = sums + (size_t)(chunks > 1 ? i : omp_get_thread_num()) * g->part_floats;
            part_multiply(g, part_at(g, i), x_cut, dy_cut, tiles.count, chunk > 0, own);
            if (chunk == chunks - 1) {
                part_put(g, part_at(g, i), own, plain);
            }
        }
    }
}

void winograd_gradient_init(struct winograd_gradient *g, const struct winograd_sweep *forward)
{
    *g = (struct winograd_gradient){
        .simd = forward->simd,
        .x = forward->in,
        .dy = forward->out,
        .threads = forward->threads,
    };
    int x_blocks = g->x.c.blocks, dy_blocks = g->dy.c.blocks, block = g->x.c.block;
    int all = g->x.c.n * winograd_tiles(&g->x);
    int most = (int)(CHUNK_BYTES / winograd_position_bytes(x_blocks + dy_blocks, block));
    most = winograd_at_most(winograd_at_least(most, CHUNK_ROWS_MIN), CHUNK_ROWS_MAX);
    g->rows = winograd_ceil_div(all, winograd_ceil_div(all, most));
    g->row_step = winograd_row_step(g->rows, block);
    g->x_step = (size_t)x_blocks * g->row_step + WINOGRAD_STAGGER;
    g->dy_step = (size_t)dy_blocks * g->row_step + WINOGRAD_STAGGER;
    // Each thread should find a part even where there are few channels.
    g->x_parts = winograd_at_least(winograd_ceil_div(x_blocks, PART_INPUTS),
                                   winograd_at_most(g->threads, x_blocks));
    g->dy_parts = winograd_ceil_div(dy_blocks, PART_OUTPUTS);
    int most_x = winograd_ceil_div(x_blocks, g->x_parts);
    int most_dy = winograd_ceil_div(dy_blocks, g->dy_parts);
    g->part_step = (size_t)(most_x * most_dy * block * block) + WINOGRAD_STAGGER;
    g->part_floats = WINOGRAD_POSITIONS * g->part_step;
}

size_t winograd_gradient_scratch_bytes(const struct winograd_gradient *g)
{
    bool several = g->x.c.n * winograd_tiles(&g->x) > g->rows;
    size_t sums = (size_t)(several ? g->x_parts * g->dy_parts : g->threads) * g->part_floats;
    return (WINOGRAD_POSITIONS * (g->x_step + g->dy_step) + sums) * sizeof(float);
}
