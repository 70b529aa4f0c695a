// SPDX-License-Identifier: Apache-2.0
// Depthwise 5×5 and 7×7 convolution of one plane of a channel block, forward and backward. Rows are
// first copied between zeros, as far as the windows reach, so that no inner loop knows of borders;
// what lies above and below the plane is left out row by row. A tile of neighbouring outputs stays
// in registers while all rows of taps pass over it.
#include "kernel/onednn/simd/vector.h"

enum {
    K_MAX = SIMD_DEPTHWISE_KERNEL_MAX,
    TILE = 7,  // outputs: the maps of 224² images are 7, 14, 28 … wide
    PAIRS = 4, // of columns of dx, where the stride is 2
};

// Calls `function` with kernel size and stride as constants: its loops over taps are spelled out.
#define BY_WINDOW(g, function, ...)                                                                \
    do {                                                                                           \
        bool five = (g)->window.size[0] == 5, dense = (g)->window.stride[0] == 1;                  \
        if (five && dense) {                                                                       \
            function(5, 1, g, __VA_ARGS__);                                                        \
        } else if (five) {                                                                         \
            function(5, 2, g, __VA_ARGS__);                                                        \
        } else if (dense) {                                                                        \
            function(7, 1, g, __VA_ARGS__);                                                        \
        } else {                                                                                   \
            function(7, 2, g, __VA_ARGS__);                                                        \
        }                                                                                          \
    } while (0)

#define SPELL_OUT _Pragma("GCC unroll 32")

// ---- rows between zeros -------------------------------------------------------------------------

// A plane [height][width][block] whose columns stand at left … in rows of `pitch`. Columns beyond
// the pitch are those that no window reaches.
struct framed {
    int height, width, left, pitch;
};

static int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

static struct framed framed_x(const struct simd_plane *g)
{
    int reach = (round_up(g->ow, TILE) - 1) * g->window.stride[1] + g->window.size[1];
    return (struct framed){g->h, g->w, g->window.pad_before[1], reach};
}

// dx has pad + w columns, of which the plane does not show the first; stride 2 makes them in pairs.
static int first_pair(const struct simd_plane *g)
{
    return g->window.pad_before[1] / 2;
}

static int pair_count(const struct simd_plane *g)
{
    return (g->window.pad_before[1] + g->w - 1) / 2 - first_pair(g) + 1;
}

// dy as the input gradient reads it: a column of dx (a pair, with stride 2) sees a run of dy.
static struct framed framed_dy(const struct simd_plane *g)
{
    int before = g->window.size[1] - 1;
    if (g->window.stride[1] == 1) {
        return (struct framed){g->oh, g->ow, before - g->window.pad_before[1],
                               round_up(g->w, TILE) + before};
    }
    before /= 2;
    return (struct framed){g->oh, g->ow, before - first_pair(g),
                           round_up(pair_count(g), PAIRS) + before};
}

static void frame(struct framed f, const float *from, float *to)
{
    int kept = f.width < f.pitch - f.left ? f.width : f.pitch - f.left;
    size_t left = (size_t)(f.left * SIMD_BLOCK), inside = (size_t)(kept * SIMD_BLOCK),
           right = (size_t)(f.pitch * SIMD_BLOCK) - left - inside;
    for (int row = 0; row < f.height; row++, from += (size_t)f.width * SIMD_BLOCK) {
        memset(to, 0, left * sizeof(float));
        memcpy(to + left, from, inside * sizeof(float));
        memset(to + left + inside, 0, right * sizeof(float));
        to += left + inside + right;
    }
}

static const float *framed_row(struct framed f, const float *at, int row)
{
    return at + (size_t)row * (size_t)f.pitch * SIMD_BLOCK;
}

size_t SIMD_NAME(depthwise_wide_room)(const struct simd_plane *g)
{
    struct framed x = framed_x(g), dy = framed_dy(g);
    size_t x_pixels = (size_t)x.height * (size_t)x.pitch,
           dy_pixels = (size_t)dy.height * (size_t)dy.pitch;
    return (x_pixels > dy_pixels ? x_pixels : dy_pixels) * SIMD_BLOCK;
}

// ---- what a row of results is made from ---------------------------------------------------------

// Framed rows, each with the row of taps that meets it.
struct sources {
    int count;
    const float *row[K_MAX], *taps[K_MAX];
};

SIMD_INLINE void add_source(struct sources *s, const float *row, const float *taps)
{
    s->row[s->count] = row;
    s->taps[s->count++] = taps;
}

SIMD_INLINE void load_taps(int k, const float *taps, vec *w)
{
    SPELL_OUT
    for (int kx = 0; kx < k; kx++) {
        w[kx] = load(taps + kx * SIMD_BLOCK);
    }
}

// TILE sums, of windows that start at `at` floats into the rows.
SIMD_INLINE void tile_sums(int k, int stride, const struct sources *s, size_t at, vec *sums)
{
    for (int i = 0; i < s->count; i++) {
        vec w[K_MAX];
        load_taps(k, s->taps[i], w);
        const float *row = s->row[i] + at;
        SPELL_OUT
        for (int j = 0; j < (TILE - 1) * stride + k; j++) {
            vec v = load(row + j * SIMD_BLOCK);
            SPELL_OUT
            for (int t = 0; t < TILE; t++) {
                int kx = j - t * stride;
                if (kx >= 0 && kx < k) {
                    sums[t] = multiply_add(sums[t], v, w[kx]);
                }
            }
        }
    }
}

SIMD_INLINE void make_row(int k, int stride, const struct sources *s, int width, vec start,
                          bool add, float *y)
{
    for (int first = 0; first < width; first += TILE) {
        vec sums[TILE];
        SPELL_OUT
        for (int t = 0; t < TILE; t++) {
            sums[t] = start;
        }
        tile_sums(k, stride, s, (size_t)(first * stride) * SIMD_BLOCK, sums);
        SPELL_OUT
        for (int t = 0; t < TILE; t++) {
            if (first + t < width) {
                store_or_add(y + (size_t)(first + t) * SIMD_BLOCK, sums[t], add);
            }
        }
    }
}

// ---- forward ------------------------------------------------------------------------------------

SIMD_INLINE void filter(int k, int stride, const struct simd_plane *g, const float *room,
                        const float *weights, vec start, float *y)
{
    struct framed f = framed_x(g);
    for (int oy = 0; oy < g->oh; oy++, y += (size_t)g->ow * SIMD_BLOCK) {
        struct sources s = {0};
        for (int ky = 0; ky < k; ky++) {
            int iy = oy * stride - g->window.pad_before[0] + ky;
            if (iy >= 0 && iy < g->h) {
                add_source(&s, framed_row(f, room, iy), weights + ky * k * SIMD_BLOCK);
            }
        }
        make_row(k, stride, &s, g->ow, start, false, y);
    }
}

void SIMD_NAME(depthwise_wide)(const struct simd_plane *g, const float *x, const float *weights,
                               const float *bias, float *room, float *y)
{
    frame(framed_x(g), x, room);
    vec start = load(bias);
    BY_WINDOW(g, filter, room, weights, start, y);
}

// ---- input gradient -----------------------------------------------------------------------------

// Sums of PAIRS pairs of columns: even ones meet the even taps, odd ones the others. Taps are in
// reverse.
SIMD_INLINE void pair_sums(int k, const struct sources *s, size_t at, vec *even, vec *odd)
{
    for (int i = 0; i < s->count; i++) {
        vec w[K_MAX];
        load_taps(k, s->taps[i], w);
        const float *row = s->row[i] + at;
        SPELL_OUT
        for (int j = 0; j < PAIRS + (k - 1) / 2; j++) {
            vec v = load(row + j * SIMD_BLOCK);
            SPELL_OUT
            for (int t = 0; t < PAIRS; t++) {
                int tap = 2 * (j - t);
                if (tap >= 0 && tap < k) {
                    even[t] = multiply_add(even[t], v, w[tap]);
                }
                if (tap >= 1 && tap <= k) {
                    odd[t] = multiply_add(odd[t], v, w[tap - 1]);
                }
            }
        }
    }
}

SIMD_INLINE void make_pairs(int k, const struct sources *s, const struct simd_plane *g, bool add,
                            float *dx)
{
    int pairs = pair_count(g), column = 2 * first_pair(g) - g->window.pad_before[1];
    for (int first = 0; first < pairs; first += PAIRS, column += 2 * PAIRS) {
        vec even[PAIRS] = {0}, odd[PAIRS] = {0};
        pair_sums(k, s, (size_t)first * SIMD_BLOCK, even, odd);
        SPELL_OUT
        for (int t = 0; t < 2 * PAIRS; t++) {
            if (column + t >= 0 && column + t < g->w) {
                store_or_add(dx + (column + t) * SIMD_BLOCK, t % 2 ? odd[t / 2] : even[t / 2], add);
            }
        }
    }
}

SIMD_INLINE void unfilter(int k, int stride, const struct simd_plane *g, const float *room,
                          const float *reversed, bool add, float *dx)
{
    struct framed f = framed_dy(g);
    for (int iy = 0; iy < g->h; iy++, dx += (size_t)g->w * SIMD_BLOCK) {
        struct sources s = {0};
        int shifted = iy + g->window.pad_before[0];
        for (int ky = shifted % stride; ky < k && ky <= shifted; ky += stride) {
            int oy = (shifted - ky) / stride;
            if (oy < g->oh) {
                add_source(&s, framed_row(f, room, oy), reversed + ky * k * SIMD_BLOCK);
            }
        }
        if (stride == 1) {
            make_row(k, 1, &s, g->w, zero(), add, dx);
        } else {
            make_pairs(k, &s, g, add, dx);
        }
    }
}

void SIMD_NAME(depthwise_wide_data)(const struct simd_plane *g, const float *dy,
                                    const float *weights, bool add, float *room, float *dx)
{
    int k = g->window.size[0];
    float reversed[K_MAX * K_MAX * SIMD_BLOCK];
    for (int tap = 0; tap < k * k; tap++) {
        int mirror = tap / k * k + k - 1 - tap % k;
        store(reversed + tap * SIMD_BLOCK, load(weights + mirror * SIMD_BLOCK));
    }
    frame(framed_dy(g), dy, room);
    BY_WINDOW(g, unfilter, room, reversed, add, dx);
}

// ---- weight gradient ----------------------------------------------------------------------------

// Sums are kept twice where registers suffice: chains of additions of half the length.
enum { WAYS_MAX = 2 };

SIMD_INLINE void correlate_pixels(int k, int stride, int ways, const float *x, const float *dy,
                                  vec sums[WAYS_MAX][K_MAX])
{
    if (ways > 1) {
        // GCC would carry vectors of x over to the next pixels and run out of registers for sums.
        __asm__("" : "+r"(x));
    }
    vec d[WAYS_MAX];
    SPELL_OUT
    for (int t = 0; t < ways; t++) {
        d[t] = load(dy + t * SIMD_BLOCK);
    }
    SPELL_OUT
    for (int j = 0; j < (ways - 1) * stride + k; j++) {
        vec v = load(x + j * SIMD_BLOCK);
        SPELL_OUT
        for (int t = 0; t < ways; t++) {
            int kx = j - t * stride;
            if (kx >= 0 && kx < k) {
                sums[t][kx] = multiply_add(sums[t][kx], d[t], v);
            }
        }
    }
}

// One row of taps, over the whole plane.
SIMD_INLINE void correlate_taps(int k, int stride, const struct simd_plane *g, const float *room,
                                const float *dy, int ky, float *dw)
{
    struct framed f = framed_x(g);
    vec sums[WAYS_MAX][K_MAX] = {0};
    const int ways = k == 5 ? 2 : 1;
    for (int oy = 0; oy < g->oh; oy++, dy += (size_t)g->ow * SIMD_BLOCK) {
        int iy = oy * stride - g->window.pad_before[0] + ky;
        if (iy < 0 || iy >= g->h) {
            continue;
        }
        const float *x = framed_row(f, room, iy);
        int ox = 0;
        for (; ox + ways <= g->ow; ox += ways) {
            correlate_pixels(k, stride, ways, x + (size_t)(ox * stride) * SIMD_BLOCK,
                             dy + (size_t)ox * SIMD_BLOCK, sums);
        }
        for (; ox < g->ow; ox++) {
            correlate_pixels(k, stride, 1, x + (size_t)(ox * stride) * SIMD_BLOCK,
                             dy + (size_t)ox * SIMD_BLOCK, sums);
        }
    }
    SPELL_OUT
    for (int kx = 0; kx < k; kx++) {
        store(dw + kx * SIMD_BLOCK, sums[0][kx] + sums[1][kx]);
    }
}

SIMD_INLINE void correlate(int k, int stride, const struct simd_plane *g, const float *room,
                           const float *dy, float *dw)
{
    for (int ky = 0; ky < k; ky++) {
        correlate_taps(k, stride, g, room, dy, ky, dw + ky * k * SIMD_BLOCK);
    }
}

void SIMD_NAME(depthwise_wide_weights)(const struct simd_plane *g, const float *x, const float *dy,
                                       float *room, float *dw)
{
    frame(framed_x(g), x, room);
    BY_WINDOW(g, correlate, room, dy, dw);
}
