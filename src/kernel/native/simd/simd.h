// SPDX-License-Identifier: Apache-2.0
// Vector kernels on pieces of feature maps: `pixels` neighbouring pixels of one channel block,
// [pixels][block] floats. The same C files are compiled once for each instruction set and block
// size; a table of functions is all that tells them apart. Pure and sequential: the ops above share
// the pieces out among threads, in an order that does not depend on who computes what. Pointers
// need only the alignment of float.
#ifndef KERNEL_NATIVE_SIMD_SIMD_H
#define KERNEL_NATIVE_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

enum { SIMD_BLOCK_MAX = 16 };

// Where the mask of an activation comes from: dz = dy where 0 < z (< 6 for ReLU6), else 0.
// z is y, or x·scale + shift where y is NULL. KERNEL_LINEAR masks nothing.
struct simd_mask {
    enum kernel_activation activation;
    const float *y;             // [pixels][block] or NULL
    const float *scale, *shift; // [block]
};

struct simd_line {
    const float *mean, *a, *b, *c; // [block]
};

// One plane of a window op: [h][w][block] in, [oh][ow][block] out.
struct simd_plane {
    int h, w, oh, ow;
    struct kernel_window window;
    bool count_padding;
    bool adaptive; // averages over oh × ow even parts; no window
};

// Winograd's tiles: IN × IN inputs, OUT × OUT outputs, TAPS × TAPS weights, POSITIONS of each once
// transformed.
enum { SIMD_TILE_IN = 6, SIMD_TILE_OUT = 4, SIMD_TILE_TAPS = 3, SIMD_TILE_POSITIONS = 36 };

// Tiles over the planes [h][w][block] of one channel block, sample by sample and row by row,
// down × across in a plane; the first one begins `pad` rows and columns before the plane. A tile
// may reach beyond: there is zero, or nothing is written.
struct simd_tiling {
    int h, w, down, across, pad[2];
    size_t sample_step; // floats from one plane to the next
};

enum { SIMD_WEIGH_MAX = 16 };

struct simd_tile_range {
    int first, count;
};

// Blocked matrices: a is [blocks][rows][block]; b and c are [columns][…][block], columns counted in
// blocks. Steps are floats from one block to the next.
struct simd_tile_product {
    const float *a, *b;
    float *c;
    int rows, blocks, columns;
    size_t a_step, b_step, c_step;
    bool add; // to c
};

// Widest depthwise kernel.
enum { SIMD_DEPTHWISE_KERNEL_MAX = 7 };

// A product of feature maps with packed weights, as 1×1 convolutions need it both ways:
// y[b][p][l] (+)= bias[b][l] + Σc x[c/block][p][c%block] · weights[c][b][l], then the activation.
enum { SIMD_PRODUCT_BLOCKS = 3 };

struct simd_product {
    const float *x, *weights; // weights are [channels][blocks][block]
    const float *bias;        // [blocks][block] or NULL
    float *y;
    size_t x_stride, y_stride; // floats between channel blocks
    int channels;              // summed over
    int blocks;                // of outputs, 1 … SIMD_PRODUCT_BLOCKS
    bool add;
    enum kernel_activation activation;
};

// What pixels add to a weight gradient, in the plain order of weights:
// dw[i][c] += Σn,p dy[n][p][i] · x[n][c/block][p][c%block].
enum { SIMD_OUTER_ROWS = 4 };

struct simd_outer {
    const float *x, *dy; // dy points at the lane of row 0
    float *dw;
    size_t x_stride;            // floats between channel blocks
    size_t x_sample, dy_sample; // floats between samples
    size_t dw_stride;           // floats between rows
    size_t pixels;              // of each sample
    int samples;
    int rows;    // 1 … SIMD_OUTER_ROWS
    int columns; // 1 … SIMD_PRODUCT_BLOCKS · block
};

// Widest kernel over a plain image.
enum { SIMD_IMAGE_KERNEL_MAX = 16 };

struct simd_kernels {
    int block;
    bool fused; // multiplies and adds in one instruction

    // Mean and Σ(x − mean)² over the pixels; [block] each.
    void (*moments)(const float *x, size_t pixels, double *mean, double *m2);
    // y = act(x·scale + shift [+ residual]); scale and shift are [block].
    void (*normalise)(const float *x, const float *residual, const float *scale, const float *shift,
                      enum kernel_activation activation, size_t pixels, float *y);
    // Adds Σdz and Σdz·(x − mean) over the pixels; mean and the sums are [block].
    void (*normalise_sums)(const float *dy, const float *x, const float *mean,
                           struct simd_mask mask, size_t pixels, double *sum_dz, double *sum_dz_x);
    // dx (+)= a·dz + b·(x − mean) + c; each [block]. dx may be dy.
    void (*normalise_gradient)(const float *dy, const float *x, struct simd_line line,
                               struct simd_mask mask, size_t pixels, bool add, float *dx);

    // y = act(x [+ other]). y may be x.
    void (*activate)(const float *x, const float *other, enum kernel_activation activation,
                     size_t pixels, float *y);
    // dx (+)= dy masked by y. dx may be dy.
    void (*mask)(const float *dy, const float *y, enum kernel_activation activation, size_t pixels,
                 bool add, float *dx);
    // The same in place, and adds the sum over the pixels to sum [block].
    void (*mask_sum)(float *dy, const float *y, enum kernel_activation activation, size_t pixels,
                     double *sum);
    // Adds the sum over the pixels to sum [block].
    void (*sum)(const float *x, size_t pixels, double *sum);
    // dx (+)= value; value is [block].
    void (*fill)(const float *value, size_t pixels, bool add, float *dx);
    // y (+)= x·scale where kept is 1, else 0; kept is [pixels][block]. y may be x.
    void (*drop)(const float *x, const uint8_t *kept, float scale, size_t pixels, bool add,
                 float *y);
    // Which elements of a stream a dropout keeps: kept[p][l] is 1 or 0 for element
    // first + l·pixels + p; lanes from `lanes` on are 0.
    void (*draw)(uint64_t stream, uint64_t first, uint64_t threshold, int lanes, size_t pixels,
                 uint8_t *kept);
    // dst[p][l] (+)= lanes[l][p·stride]; lanes is [block], a NULL lane reads as zero.
    void (*gather)(const float *const *lanes, size_t stride, size_t pixels, bool add, float *dst);

    // `taken` [oh][ow][block] tells which tap of the window won; may be NULL.
    void (*max_pool)(const struct simd_plane *plane, const float *x, float *y, uint8_t *taken);
    void (*max_pool_gradient)(const struct simd_plane *plane, const float *dy, const uint8_t *taken,
                              bool add, float *dx);
    void (*average_pool)(const struct simd_plane *plane, const float *x, float *y);
    void (*average_pool_gradient)(const struct simd_plane *plane, const float *dy, bool add,
                                  float *dx);
    // Depthwise 3×3, stride 1 or 2, padding at most 2; weights are [3][3][block], bias is [block].
    void (*depthwise)(const struct simd_plane *plane, const float *x, const float *weights,
                      const float *bias, float *y);
    void (*depthwise_data)(const struct simd_plane *plane, const float *dy, const float *weights,
                           bool add, float *dx);
    // Writes dw [3][3][block].
    void (*depthwise_weights)(const struct simd_plane *plane, const float *x, const float *dy,
                              float *dw);
    // Depthwise 5×5 and 7×7, stride 1 or 2, padding before less than k; weights are [k][k][block].
    // `room` is scratch of depthwise_wide_room() floats.
    size_t (*depthwise_wide_room)(const struct simd_plane *plane);
    void (*depthwise_wide)(const struct simd_plane *plane, const float *x, const float *weights,
                           const float *bias, float *room, float *y);
    void (*depthwise_wide_data)(const struct simd_plane *plane, const float *dy,
                                const float *weights, bool add, float *room, float *dx);
    // Writes dw [k][k][block].
    void (*depthwise_wide_weights)(const struct simd_plane *plane, const float *x, const float *dy,
                                   float *room, float *dw);
    void (*product)(const struct simd_product *product, size_t pixels);
    void (*outer)(const struct simd_outer *outer);
    // Of one channel of a plain image x [h][w] with a block of dy; writes dw [kh][kw][block].
    void (*image_weights)(const struct simd_plane *plane, const float *x, const float *dy,
                          float *dw);

    // Winograd's transforms. Position p of tile i of the range is at p·step + i·block floats.
    void (*winograd_cut)(const struct simd_tiling *tiling, const float *x,
                         struct simd_tile_range range, float *to, size_t step);
    void (*winograd_cut_gradient)(const struct simd_tiling *tiling, const float *dy,
                                  struct simd_tile_range range, float *to, size_t step);
    // y (+)= act(· + bias); bias is [block] or NULL.
    void (*winograd_put)(const struct simd_tiling *tiling, const float *from, size_t step,
                         struct simd_tile_range range, const float *bias,
                         enum kernel_activation activation, bool add, float *y);
    // taps are [count][3][3][block], count ≤ SIMD_WEIGH_MAX; `to` is aligned to a block and not
    // read soon.
    void (*winograd_weigh)(const float *taps, int count, float *to, size_t step);
    // taps are [3][3][block].
    void (*winograd_weigh_gradient)(const float *from, size_t step, float *taps);
    // c [columns][rows][block] = Σ over the channels of a; b is [columns][blocks·block][block].
    void (*tile_product)(const struct simd_tile_product *product);
    // c [columns][blocks·block][block] = Σ over the rows; b is [columns][rows][block].
    void (*tile_product_over_rows)(const struct simd_tile_product *product);
};

// The best table for a block of 1, 8 or 16 on this CPU.
const struct simd_kernels *simd_kernels_for(int block);
bool simd_has_blocks_of_16(void);

#endif
