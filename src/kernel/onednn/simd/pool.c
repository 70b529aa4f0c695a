// SPDX-License-Identifier: Apache-2.0
// Max and average pooling of one plane of a channel block, forward and backward. Both directions
// walk the output; the gradient is scattered with additions, so the caller clears dx or adds to it.
#include "kernel/onednn/simd/vector.h"

// The part of a window that lies inside the plane.
struct taps {
    int top, left;         // of the window, may be negative
    int first[2], last[2]; // rows and columns of the window that are inside: first … last − 1
};

SIMD_INLINE struct taps taps_at(const struct simd_plane *g, int oy, int ox)
{
    const struct kernel_window *w = &g->window;
    struct taps t = {.top = oy * w->stride[0] - w->pad_before[0],
                     .left = ox * w->stride[1] - w->pad_before[1]};
    t.first[0] = t.top < 0 ? -t.top : 0;
    t.first[1] = t.left < 0 ? -t.left : 0;
    t.last[0] = t.top + w->size[0] > g->h ? g->h - t.top : w->size[0];
    t.last[1] = t.left + w->size[1] > g->w ? g->w - t.left : w->size[1];
    return t;
}

// Windows of different sizes, all inside.
SIMD_INLINE struct taps adaptive_taps_at(const struct simd_plane *g, int oy, int ox)
{
    struct taps t = {.top = oy * g->h / g->oh, .left = ox * g->w / g->ow};
    t.last[0] = ((oy + 1) * g->h + g->oh - 1) / g->oh - t.top;
    t.last[1] = ((ox + 1) * g->w + g->ow - 1) / g->ow - t.left;
    return t;
}

SIMD_INLINE struct taps average_taps_at(const struct simd_plane *g, int oy, int ox)
{
    return g->adaptive ? adaptive_taps_at(g, oy, ox) : taps_at(g, oy, ox);
}

SIMD_INLINE size_t tap_offset(const struct simd_plane *g, const struct taps *t, int ky, int kx)
{
    return ((size_t)(t->top + ky) * (size_t)g->w + (size_t)(t->left + kx)) * SIMD_BLOCK;
}

// Calls `function` with a whole 3×3 or 2×2 window as constants, so that its loops are unrolled.
#define BY_WINDOW(g, t, function, ...)                                                             \
    do {                                                                                           \
        int size = is_whole(g, t) ? (g)->window.size[0] : 0;                                       \
        if (size == 3) {                                                                           \
            (t)->first[0] = (t)->first[1] = 0;                                                     \
            (t)->last[0] = (t)->last[1] = 3;                                                       \
            function(3, g, t, __VA_ARGS__);                                                        \
        } else if (size == 2) {                                                                    \
            (t)->first[0] = (t)->first[1] = 0;                                                     \
            (t)->last[0] = (t)->last[1] = 2;                                                       \
            function(2, g, t, __VA_ARGS__);                                                        \
        } else {                                                                                   \
            function((g)->window.size[1], g, t, __VA_ARGS__);                                      \
        }                                                                                          \
    } while (0)

// Square and nowhere outside the plane?
SIMD_INLINE bool is_whole(const struct simd_plane *g, const struct taps *t)
{
    const int *size = g->window.size;
    return size[0] == size[1] && t->first[0] == 0 && t->first[1] == 0 && t->last[0] == size[0] &&
           t->last[1] == size[1];
}

// The first of equals wins.
SIMD_INLINE void max_pixel(int width, const struct simd_plane *g, const struct taps *t,
                           const float *x, float *y, uint8_t *taken)
{
    vec best = load(x + tap_offset(g, t, t->first[0], t->first[1]));
    ivec winner = (ivec){0} + (t->first[0] * width + t->first[1]);
    for (int ky = t->first[0]; ky < t->last[0]; ky++) {
        for (int kx = t->first[1]; kx < t->last[1]; kx++) {
            vec v = load(x + tap_offset(g, t, ky, kx));
            ivec higher = v > best, tap = (ivec){0} + (ky * width + kx);
            best = choose(higher, v, best);
            winner = (tap & higher) | (winner & ~higher);
        }
    }
    store(y, best);
    if (taken) {
        bvec narrow = __builtin_convertvector(winner, bvec);
        memcpy(taken, &narrow, sizeof(narrow));
    }
}

void SIMD_NAME(max_pool)(const struct simd_plane *g, const float *x, float *y, uint8_t *taken)
{
    for (int oy = 0; oy < g->oh; oy++) {
        for (int ox = 0; ox < g->ow; ox++, y += SIMD_BLOCK) {
            struct taps t = taps_at(g, oy, ox);
            BY_WINDOW(g, &t, max_pixel, x, y, taken);
            if (taken) {
                taken += SIMD_BLOCK;
            }
        }
    }
}

SIMD_INLINE void max_pixel_gradient(int width, const struct simd_plane *g, const struct taps *t,
                                    const float *dy, const uint8_t *taken, float *dx)
{
    bvec narrow;
    memcpy(&narrow, taken, sizeof(narrow));
    ivec winner = __builtin_convertvector(narrow, ivec);
    vec gradient = load(dy);
    for (int ky = t->first[0]; ky < t->last[0]; ky++) {
        for (int kx = t->first[1]; kx < t->last[1]; kx++) {
            ivec here = winner == (ivec){0} + (ky * width + kx);
            store_or_add(dx + tap_offset(g, t, ky, kx), keep(gradient, here), true);
        }
    }
}

void SIMD_NAME(max_pool_gradient)(const struct simd_plane *g, const float *dy, const uint8_t *taken,
                                  float *dx)
{
    for (int oy = 0; oy < g->oh; oy++) {
        for (int ox = 0; ox < g->ow; ox++, dy += SIMD_BLOCK, taken += SIMD_BLOCK) {
            struct taps t = taps_at(g, oy, ox);
            BY_WINDOW(g, &t, max_pixel_gradient, dy, taken, dx);
        }
    }
}

// One over the number of taps that count.
SIMD_INLINE float tap_share(const struct simd_plane *g, const struct taps *t)
{
    int count = g->count_padding ? g->window.size[0] * g->window.size[1]
                                 : (t->last[0] - t->first[0]) * (t->last[1] - t->first[1]);
    return 1.0f / (float)count;
}

void SIMD_NAME(average_pool)(const struct simd_plane *g, const float *x, float *y)
{
    for (int oy = 0; oy < g->oh; oy++) {
        for (int ox = 0; ox < g->ow; ox++, y += SIMD_BLOCK) {
            struct taps t = average_taps_at(g, oy, ox);
            vec sum = zero();
            for (int ky = t.first[0]; ky < t.last[0]; ky++) {
                for (int kx = t.first[1]; kx < t.last[1]; kx++) {
                    sum += load(x + tap_offset(g, &t, ky, kx));
                }
            }
            store(y, sum * tap_share(g, &t));
        }
    }
}

void SIMD_NAME(average_pool_gradient)(const struct simd_plane *g, const float *dy, float *dx)
{
    for (int oy = 0; oy < g->oh; oy++) {
        for (int ox = 0; ox < g->ow; ox++, dy += SIMD_BLOCK) {
            struct taps t = average_taps_at(g, oy, ox);
            vec share = load(dy) * tap_share(g, &t);
            for (int ky = t.first[0]; ky < t.last[0]; ky++) {
                for (int kx = t.first[1]; kx < t.last[1]; kx++) {
                    store_or_add(dx + tap_offset(g, &t, ky, kx), share, true);
                }
            }
        }
    }
}
