// SPDX-License-Identifier: Apache-2.0
// Products of small blocked matrices: one summed over the channels of the left one, one over its
// rows. Sums stay in registers for a whole run of the inner loop.
#include "kernel/native/simd/vector.h"

// ---- over channels -----------------------------------------------------------------------------

enum {
    ROWS = 6,    // 6 × 2 sums, 2 vectors of the right matrix and one of the left: 15 registers
    COLUMNS = 2, // blocks
    DEPTH = 256, // channels at once: what is read of the right matrix stays in the nearest cache
};

// `depth` counts blocks.
SIMD_INLINE void channels_tile(int rows, int columns, const struct simd_tile_product *p,
                               const float *a, const float *b, int depth, bool add, float *c)
{
    vec sums[ROWS][COLUMNS];
    for (int m = 0; m < rows; m++) {
        for (int n = 0; n < columns; n++) {
            const float *at = c + (size_t)n * p->c_step + (size_t)m * SIMD_BLOCK;
            sums[m][n] = add ? load(at) : zero();
        }
    }
    for (int k = 0; k < depth; k++, a += p->a_step, b += SIMD_BLOCK * SIMD_BLOCK) {
#pragma GCC unroll 16
        for (int l = 0; l < SIMD_BLOCK; l++) {
            vec right[COLUMNS];
            for (int n = 0; n < columns; n++) {
                right[n] = load(b + (size_t)n * p->b_step + (size_t)(l * SIMD_BLOCK));
            }
            for (int m = 0; m < rows; m++) {
                for (int n = 0; n < columns; n++) {
                    sums[m][n] += right[n] * a[m * SIMD_BLOCK + l];
                }
            }
        }
    }
    for (int m = 0; m < rows; m++) {
        for (int n = 0; n < columns; n++) {
            store(c + (size_t)n * p->c_step + (size_t)m * SIMD_BLOCK, sums[m][n]);
        }
    }
}

SIMD_INLINE void channels_rows(int rows, int columns, const struct simd_tile_product *p,
                               const float *a, const float *b, int depth, bool add, float *c)
{
    switch (rows) {
    case 6: channels_tile(6, columns, p, a, b, depth, add, c); break;
    case 5: channels_tile(5, columns, p, a, b, depth, add, c); break;
    case 4: channels_tile(4, columns, p, a, b, depth, add, c); break;
    case 3: channels_tile(3, columns, p, a, b, depth, add, c); break;
    case 2: channels_tile(2, columns, p, a, b, depth, add, c); break;
    default: channels_tile(1, columns, p, a, b, depth, add, c); break;
    }
}

// All rows against one or two blocks of columns, in nearly equal groups of rows.
SIMD_INLINE void channels_panel(int columns, const struct simd_tile_product *p, const float *a,
                                const float *b, int depth, bool add, float *c)
{
    int groups = (p->rows + ROWS - 1) / ROWS;
    for (int g = 0; g < groups; g++) {
        int first = p->rows * g / groups, end = p->rows * (g + 1) / groups;
        size_t at = (size_t)first * SIMD_BLOCK;
        channels_rows(end - first, columns, p, a + at, b, depth, add, c + at);
    }
}

void SIMD_NAME(tile_product)(const struct simd_tile_product *p)
{
    const int most = DEPTH / SIMD_BLOCK;
    for (int k = 0; k < p->blocks; k += most) {
        int depth = p->blocks - k < most ? p->blocks - k : most;
        const float *a = p->a + (size_t)k * p->a_step;
        const float *b = p->b + (size_t)k * SIMD_BLOCK * SIMD_BLOCK;
        bool add = p->add || k > 0;
        int n = 0;
        for (; n + COLUMNS <= p->columns; n += COLUMNS) {
            channels_panel(COLUMNS, p, a, b + (size_t)n * p->b_step, depth, add,
                           p->c + (size_t)n * p->c_step);
        }
        if (n < p->columns) {
            channels_panel(1, p, a, b + (size_t)n * p->b_step, depth, add,
                           p->c + (size_t)n * p->c_step);
        }
    }
}

// ---- over rows ---------------------------------------------------------------------------------

enum { CHANNELS = SIMD_BLOCK < 4 ? SIMD_BLOCK : 4, WIDTH = 3 }; // 4 × 3 sums, 3 + 1 vectors

SIMD_INLINE void rows_tile(int columns, const struct simd_tile_product *p, const float *a,
                           const float *b, float *c)
{
    vec sums[CHANNELS][WIDTH];
    for (int m = 0; m < CHANNELS; m++) {
        for (int n = 0; n < columns; n++) {
            const float *at = c + (size_t)n * p->c_step + (size_t)m * SIMD_BLOCK;
            sums[m][n] = p->add ? load(at) : zero();
        }
    }
    for (int k = 0; k < p->rows; k++, a += SIMD_BLOCK, b += SIMD_BLOCK) {
        vec right[WIDTH];
        for (int n = 0; n < columns; n++) {
            right[n] = load(b + (size_t)n * p->b_step);
        }
        for (int m = 0; m < CHANNELS; m++) {
            for (int n = 0; n < columns; n++) {
                sums[m][n] += right[n] * a[m];
            }
        }
    }
    for (int m = 0; m < CHANNELS; m++) {
        for (int n = 0; n < columns; n++) {
            store(c + (size_t)n * p->c_step + (size_t)m * SIMD_BLOCK, sums[m][n]);
        }
    }
}

SIMD_INLINE void rows_panel(int columns, const struct simd_tile_product *p, const float *b,
                            float *c)
{
    for (int k = 0; k < p->blocks; k++) {
        for (int l = 0; l < SIMD_BLOCK; l += CHANNELS) {
            rows_tile(columns, p, p->a + (size_t)k * p->a_step + l, b,
                      c + ((size_t)k * SIMD_BLOCK + (size_t)l) * SIMD_BLOCK);
        }
    }
}

void SIMD_NAME(tile_product_over_rows)(const struct simd_tile_product *p)
{
    for (int n = 0; n < p->columns;) {
        int left = p->columns - n;
        // Four blocks are twice two: one alone would leave most of the registers idle.
        int columns = left == 4 || left == 2 ? 2 : left >= WIDTH ? WIDTH : 1;
        const float *b = p->b + (size_t)n * p->b_step;
        float *c = p->c + (size_t)n * p->c_step;
        switch (columns) {
        case 3: rows_panel(3, p, b, c); break;
        case 2: rows_panel(2, p, b, c); break;
        default: rows_panel(1, p, b, c); break;
        }
        n += columns;
    }
}
