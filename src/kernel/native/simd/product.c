// SPDX-License-Identifier: Apache-2.0
// Products for 1×1 convolutions. A tile of pixels × blocks of outputs has its sums in registers: 12
// of 16 with AVX2, 24 of 32 with AVX-512. For each channel it loads a few vectors of weights and
// one number a pixel, fewer loads than multiply-adds. What a call reads again and again (the
// weights here, the planes of x in `outer`) is the caller's to keep small enough for the
// first-level cache.
#include "kernel/native/simd/vector.h"

#define SUMS (SIMD_BLOCK == 16 ? 24 : 12)

// ---- product -----------------------------------------------------------------------------------

enum { TILE_PIXELS_MAX = 12 };

// Pixels of a tile beside so many blocks of outputs.
SIMD_INLINE int tile_pixels(int blocks)
{
    return SUMS / blocks < TILE_PIXELS_MAX ? SUMS / blocks : TILE_PIXELS_MAX;
}

// One channel's part of a tile.
SIMD_INLINE void tile_channel(int pixels, int blocks, const float *x, const float *weights,
                              vec *sums)
{
    vec w[SIMD_PRODUCT_BLOCKS];
    SIMD_UNROLL
    for (int b = 0; b < blocks; b++) {
        w[b] = load_once(weights + b * SIMD_BLOCK);
    }
    SIMD_UNROLL
    for (int p = 0; p < pixels; p++) {
        vec value = spread(x[p * SIMD_BLOCK]);
        SIMD_UNROLL
        for (int b = 0; b < blocks; b++) {
            sums[p * blocks + b] = multiply_add(sums[p * blocks + b], value, w[b]);
        }
    }
}

SIMD_INLINE void tile_begin(int pixels, int blocks, const struct simd_product *g, vec *sums)
{
    SIMD_UNROLL
    for (int b = 0; b < blocks; b++) {
        vec bias = g->bias ? load(g->bias + b * SIMD_BLOCK) : zero();
        SIMD_UNROLL
        for (int p = 0; p < pixels; p++) {
            sums[p * blocks + b] = bias;
        }
    }
}

SIMD_INLINE void tile_end(enum kernel_activation activation, int pixels, int blocks, bool add,
                          const struct simd_product *g, size_t at, const vec *sums)
{
    float *y = g->y + at * SIMD_BLOCK;
    SIMD_UNROLL
    for (int b = 0; b < blocks; b++) {
        SIMD_UNROLL
        for (int p = 0; p < pixels; p++) {
            vec z = sums[p * blocks + b];
            store(y + p * SIMD_BLOCK, apply(add ? z + load(y + p * SIMD_BLOCK) : z, activation));
        }
        y += g->y_stride;
    }
}

SIMD_INLINE void tile(int pixels, int blocks, const struct simd_product *g, size_t at)
{
    vec sums[SUMS];
    tile_begin(pixels, blocks, g, sums);
    const float *x = g->x + at * SIMD_BLOCK, *w = g->weights;
    int left = g->channels;
    for (; left >= SIMD_BLOCK; left -= SIMD_BLOCK) {
        SIMD_UNROLL
        for (int l = 0; l < SIMD_BLOCK; l++) {
            tile_channel(pixels, blocks, x + l, w + l * blocks * SIMD_BLOCK, sums);
        }
        x += g->x_stride;
        w += SIMD_BLOCK * blocks * SIMD_BLOCK;
    }
    for (int l = 0; l < left; l++) {
        tile_channel(pixels, blocks, x + l, w + l * blocks * SIMD_BLOCK, sums);
    }
    if (g->activation != KERNEL_LINEAR) {
        SIMD_BY_ACTIVATION(g->activation, tile_end, pixels, blocks, g->add, g, at, sums);
    } else if (g->add) {
        tile_end(KERNEL_LINEAR, pixels, blocks, true, g, at, sums);
    } else {
        tile_end(KERNEL_LINEAR, pixels, blocks, false, g, at, sums);
    }
}

// Calls `function` with the number of pixels as a constant.
SIMD_INLINE void tile_of(int pixels, int blocks, const struct simd_product *g, size_t at)
{
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        if ((n) <= tile_pixels(blocks)) {                                                          \
            tile(n, blocks, g, at);                                                                \
        }                                                                                          \
        break;
    switch (pixels) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
    default: break;
    }
#undef CASE
}

// Tiles of equal height, give or take one pixel: 49 pixels are ten tiles of 4 and three of 3, all
// at full speed, and not twelve of 4 and one of 1.
SIMD_INLINE void tiles(int blocks, const struct simd_product *g, size_t pixels)
{
    size_t most = (size_t)tile_pixels(blocks), count = (pixels + most - 1) / most;
    for (size_t i = 0, at = 0; i < count; i++) {
        size_t height = pixels / count + (i < pixels % count);
        tile_of((int)height, blocks, g, at);
        at += height;
    }
}

void SIMD_NAME(product)(const struct simd_product *g, size_t pixels)
{
    switch (g->blocks) {
    case 1: tiles(1, g, pixels); break;
    case 2: tiles(2, g, pixels); break;
    default: tiles(3, g, pixels); break;
    }
}

// ---- outer product -----------------------------------------------------------------------------

// One pixel's part of a tile of rows × blocks.
SIMD_INLINE void outer_pixel(int rows, int blocks, const struct simd_outer *g, const float *x,
                             const float *dy, vec *sums)
{
    vec columns[SIMD_PRODUCT_BLOCKS];
    SIMD_UNROLL
    for (int b = 0; b < blocks; b++) {
        columns[b] = load_once(x + (size_t)b * g->x_stride);
    }
    SIMD_UNROLL
    for (int r = 0; r < rows; r++) {
        vec value = spread(dy[r]);
        SIMD_UNROLL
        for (int b = 0; b < blocks; b++) {
            sums[r * blocks + b] = multiply_add(sums[r * blocks + b], value, columns[b]);
        }
    }
}

// Adds the first `columns` lanes of a sum.
SIMD_INLINE void outer_add(vec sum, int columns, float *dw)
{
    if (columns >= SIMD_BLOCK) {
        store(dw, load(dw) + sum);
        return;
    }
    float lanes[SIMD_BLOCK];
    store(lanes, sum);
    for (int l = 0; l < columns; l++) {
        dw[l] += lanes[l];
    }
}

SIMD_INLINE void outer_tile(int rows, int blocks, const struct simd_outer *g)
{
    vec sums[SIMD_OUTER_ROWS * SIMD_PRODUCT_BLOCKS];
    SIMD_UNROLL
    for (int i = 0; i < rows * blocks; i++) {
        sums[i] = zero();
    }
    for (int n = 0; n < g->samples; n++) {
        const float *x = g->x + (size_t)n * g->x_sample, *dy = g->dy + (size_t)n * g->dy_sample;
        for (size_t i = 0; i < g->pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
            outer_pixel(rows, blocks, g, x + i, dy + i, sums);
        }
    }
    SIMD_UNROLL
    for (int r = 0; r < rows; r++) {
        float *dw = g->dw + (size_t)r * g->dw_stride;
        SIMD_UNROLL
        for (int b = 0; b < blocks; b++) {
            outer_add(sums[r * blocks + b], g->columns - b * SIMD_BLOCK, dw + b * SIMD_BLOCK);
        }
    }
}

SIMD_INLINE void outer_rows(int blocks, const struct simd_outer *g)
{
    switch (g->rows) {
    case 1: outer_tile(1, blocks, g); break;
    case 2: outer_tile(2, blocks, g); break;
    case 3: outer_tile(3, blocks, g); break;
    default: outer_tile(4, blocks, g); break;
    }
}

void SIMD_NAME(outer)(const struct simd_outer *g)
{
    switch ((g->columns + SIMD_BLOCK - 1) / SIMD_BLOCK) {
    case 1: outer_rows(1, g); break;
    case 2: outer_rows(2, g); break;
    default: outer_rows(3, g); break;
    }
}
