// SPDX-License-Identifier: Apache-2.0
// Dense 3×3 convolutions of stride 1 by Winograd's minimal filtering, F(4×4, 3×3): a quarter of the
// multiplications of the direct way. Each pass cuts its feature maps into tiles, transforms them to
// 36 positions, multiplies matrices position by position and transforms back:
//
//     forward    x  → positions [tiles][ic], × weights [ic][oc], → y
//     data       dy → positions [tiles][oc], × turned weights [oc][ic], → dx
//     weights    x and dy → positions [tiles][ic] and [tiles][oc], multiplied over tiles, → dw
//
// Forward and data are the same sweep, with other weights. Padding lanes take part as zeros. No
// result depends on the number of threads. docs/decisions/0013 has the figures behind the choice.
#ifndef NATIVE_WINOGRAD_H
#define NATIVE_WINOGRAD_H

#include "kernel/native/native.h"

enum {
    WINOGRAD_POSITIONS = SIMD_TILE_POSITIONS,
    WINOGRAD_TAPS = SIMD_TILE_TAPS * SIMD_TILE_TAPS,
    // Positions would lie powers of two apart, all in the same corner of a cache, but for this.
    WINOGRAD_STAGGER = 16, // floats
};

// Feature maps in planes, and the tiles over them.
struct winograd_maps {
    struct native_chunks c;
    struct simd_tiling tiling;
};

struct winograd_sweep {
    const struct simd_kernels *simd;
    struct winograd_maps in, out;
    int threads;
    int rows;                  // tiles in a block
    int group;                 // output blocks whose positions are there at once
    size_t row_step;           // floats from one channel block to the next: room for `rows` tiles
    size_t cut_step, sum_step; // floats from one position to the next
    float *weights;            // [groups][36][group][in.blocks·block][block], the caller's
    size_t weight_floats;
};

// What becomes of the results: out (+)= act(result + bias).
struct winograd_finish {
    const float *bias; // [padded channels] or NULL
    enum kernel_activation activation;
    bool add;
};

void winograd_sweep_init(struct winograd_sweep *s, struct kernel_tensor in,
                         struct kernel_tensor out, const int pad[2], int threads);
size_t winograd_sweep_scratch_bytes(const struct winograd_sweep *s);
// Packs the weights that lead to output block b. plain: oihw, or iohw where `turned`: then the
// kernel is taken the other way round too.
void winograd_sweep_pack(const struct winograd_sweep *s, const float *plain, bool turned, int b);
void winograd_sweep_run(const struct winograd_sweep *s, const float *in,
                        struct winograd_finish finish, float *scratch, float *out);

struct winograd_gradient {
    const struct simd_kernels *simd;
    struct winograd_maps x, dy;
    int threads;
    int rows;               // tiles in a chunk
    size_t row_step;        // as above
    size_t x_step, dy_step; // floats from one position to the next
    int x_parts, dy_parts;  // the matrix is shared out in x_parts × dy_parts
    size_t part_step, part_floats;
};

// With the maps of the forward sweep.
void winograd_gradient_init(struct winograd_gradient *g, const struct winograd_sweep *forward);
size_t winograd_gradient_scratch_bytes(const struct winograd_gradient *g);
// Adds to plain [oc][ic][3][3], over the first `samples`.
void winograd_gradient_run(const struct winograd_gradient *g, const float *x, const float *dy,
                           int samples, float *scratch, float *plain);

// ---- shared ------------------------------------------------------------------------------------

static inline int winograd_at_most(int value, int most)
{
    return value < most ? value : most;
}

static inline int winograd_at_least(int value, int least)
{
    return value > least ? value : least;
}

static inline int winograd_ceil_div(int value, int divisor)
{
    return (value + divisor - 1) / divisor;
}

static inline int winograd_tiles(const struct winograd_maps *m)
{
    return m->tiling.down * m->tiling.across;
}

// What the positions of so many blocks of a tile, or so many tiles of a block, occupy.
static inline size_t winograd_position_bytes(int count, int block)
{
    return WINOGRAD_POSITIONS * (size_t)count * (size_t)block * sizeof(float);
}

// Room for `rows` tiles such that blocks lie an odd number of cache lines apart: otherwise the same
// tile of all blocks would fall on the same few places of a cache.
static inline size_t winograd_row_step(int rows, int block)
{
    return (size_t)(rows + (4 + 2 - rows % 4) % 4) * (size_t)block;
}

#endif
