// SPDX-License-Identifier: Apache-2.0
// Weight gradient of the first convolution, whose input is a plain image of few channels: one
// sample, one block of output channels. Each pixel of the image meets a whole block of dy.
#include "kernel/native/simd/vector.h"

enum { TAPS_AT_ONCE = 6 }; // sums that stay in registers beside dy and the pixel

// One row of dy against one row of the image: taps kx … kx + count − 1.
SIMD_INLINE void row_taps(int count, const struct simd_plane *g, const float *x, const float *dy,
                          int kx, vec *sums)
{
    vec inside[TAPS_AT_ONCE] = {0};
    int stride = g->window.stride[1], left = g->window.pad_before[1] - kx;
    for (int ox = 0; ox < g->ow; ox++) {
        int ix = ox * stride - left;
        vec d = load(dy + (size_t)ox * SIMD_BLOCK);
        if (ix >= 0 && ix + count <= g->w) {
            for (int t = 0; t < count; t++) {
                inside[t] += d * x[ix + t];
            }
            continue;
        }
        for (int t = 0; t < count; t++) {
            if (ix + t >= 0 && ix + t < g->w) {
                inside[t] += d * x[ix + t];
            }
        }
    }
    for (int t = 0; t < count; t++) {
        sums[t] += inside[t];
    }
}

SIMD_INLINE void row(const struct simd_plane *g, const float *x, const float *dy, vec *sums)
{
    int width = g->window.size[1], kx = 0;
    for (; kx + TAPS_AT_ONCE <= width; kx += TAPS_AT_ONCE) {
        row_taps(TAPS_AT_ONCE, g, x, dy, kx, sums + kx);
    }
    switch (width - kx) {
    case 5: row_taps(5, g, x, dy, kx, sums + kx); break;
    case 4: row_taps(4, g, x, dy, kx, sums + kx); break;
    case 3: row_taps(3, g, x, dy, kx, sums + kx); break;
    case 2: row_taps(2, g, x, dy, kx, sums + kx); break;
    case 1: row_taps(1, g, x, dy, kx, sums + kx); break;
    default: break;
    }
}

void SIMD_NAME(image_weights)(const struct simd_plane *g, const float *x, const float *dy,
                              float *dw)
{
    int width = g->window.size[1];
    for (int ky = 0; ky < g->window.size[0]; ky++) {
        vec sums[SIMD_IMAGE_KERNEL_MAX] = {0};
        for (int oy = 0; oy < g->oh; oy++) {
            int iy = oy * g->window.stride[0] - g->window.pad_before[0] + ky;
            if (iy >= 0 && iy < g->h) {
                row(g, x + (size_t)iy * (size_t)g->w, dy + (size_t)oy * (size_t)g->ow * SIMD_BLOCK,
                    sums);
            }
        }
        for (int kx = 0; kx < width; kx++) {
            store(dw + ((size_t)ky * (size_t)width + (size_t)kx) * SIMD_BLOCK, sums[kx]);
        }
    }
}
