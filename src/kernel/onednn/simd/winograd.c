// SPDX-License-Identifier: Apache-2.0
// Winograd's transforms F(4×4, 3×3) of one plane of a channel block. A tile of 4×4 outputs comes from
// 6×6 inputs; transformed, both are 36 positions that no longer mix, and the weights 36 factors.
// The lines below evaluate a polynomial at 0, ±√½, ±√2 and ∞, or go back; a tile is done line by line
// in both directions. docs/decisions/0010 says why these points.
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "kernel/onednn/simd/vector.h"

enum { IN = SIMD_TILE_IN, OUT = SIMD_TILE_OUT, TAPS = SIMD_TILE_TAPS };

static const float ROOT_HALF = 0.70710678118654752f, ROOT_TWO = 1.41421356237309505f;

// ---- lines --------------------------------------------------------------------------------------
// Positions 1 and 2 of inputs, and 3 and 4 of output gradients, are half of what the textbook has: so
// each is one multiply-add. The weights make up for it.

// Six inputs to six positions.
SIMD_INLINE void line_cut(const vec *d, vec *t)
{
    vec even_half = 0.5f * d[4] - d[2], odd_half = 0.5f * d[3] - d[1];
    vec even_two = d[4] - 0.5f * d[2], odd_two = d[3] - 0.5f * d[1];
    t[0] = d[0] - 2.5f * d[2] + d[4];
    t[1] = even_half + ROOT_HALF * odd_half;
    t[2] = even_half - ROOT_HALF * odd_half;
    t[3] = even_two + ROOT_TWO * odd_two;
    t[4] = even_two - ROOT_TWO * odd_two;
    t[5] = d[1] - 2.5f * d[3] + d[5];
}

// Six positions to four outputs.
SIMD_INLINE void line_put(const vec *m, vec *y)
{
    vec sum_half = m[1] + m[2], difference_half = ROOT_HALF * (m[1] - m[2]);
    vec sum_two = m[3] + m[4], difference_two = ROOT_TWO * (m[3] - m[4]);
    y[0] = m[0] + sum_half + sum_two;
    y[1] = difference_half + difference_two;
    y[2] = 0.5f * sum_half + 2.0f * sum_two;
    y[3] = m[5] + 0.5f * difference_half + 2.0f * difference_two;
}

// Four output gradients to six positions: line_put the other way round.
SIMD_INLINE void line_cut_gradient(const vec *d, vec *t)
{
    vec even_half = d[0] + 0.5f * d[2], odd_half = d[1] + 0.5f * d[3];
    vec even_two = 0.5f * d[0] + d[2], odd_two = 0.5f * d[1] + d[3];
    t[0] = d[0];
    t[1] = even_half + ROOT_HALF * odd_half;
    t[2] = even_half - ROOT_HALF * odd_half;
    t[3] = even_two + ROOT_TWO * odd_two;
    t[4] = even_two - ROOT_TWO * odd_two;
    t[5] = d[3];
}

// Three weights to six factors. −2/3 and 1/6 are what the interpolation divides by.
SIMD_INLINE void line_weigh(const vec *g, vec *u)
{
    const float half = 2.0f * (-2.0f / 3.0f), two = 1.0f / 6.0f;
    vec even_half = half * (g[0] + 0.5f * g[2]), odd_half = half * ROOT_HALF * g[1];
    vec even_two = two * (g[0] + 2.0f * g[2]), odd_two = two * ROOT_TWO * g[1];
    u[0] = g[0];
    u[1] = even_half + odd_half;
    u[2] = even_half - odd_half;
    u[3] = even_two + odd_two;
    u[4] = even_two - odd_two;
    u[5] = g[2];
}

// Six gradients of factors to three of weights: line_weigh the other way round.
SIMD_INLINE void line_weigh_gradient(const vec *m, vec *g)
{
    const float half = 2.0f * (-2.0f / 3.0f), two = 2.0f * (1.0f / 6.0f);
    vec sum_half = half * (m[1] + m[2]), difference_half = half * ROOT_HALF * (m[1] - m[2]);
    vec sum_two = two * (m[3] + m[4]), difference_two = two * ROOT_TWO * (m[3] - m[4]);
    g[0] = m[0] + sum_half + sum_two;
    g[1] = difference_half + difference_two;
    g[2] = m[5] + 0.5f * sum_half + 2.0f * sum_two;
}

// ---- tiles --------------------------------------------------------------------------------------

typedef void line_fn(const vec *from, vec *to);

// `from` [count][count] with a row every `pitch` floats to IN × IN positions, one every `step` floats.
SIMD_INLINE void tile_spread(line_fn *line, int count, const float *from, size_t pitch, float *to,
                             size_t step)
{
    vec half[IN][IN]; // [column][row]
    for (int x = 0; x < count; x++) {
        vec column[IN];
        for (int y = 0; y < count; y++) {
            column[y] = load(from + (size_t)y * pitch + (size_t)x * SIMD_BLOCK);
        }
        line(column, half[x]);
    }
    for (int y = 0; y < IN; y++) {
        vec row[IN], done[IN];
        for (int x = 0; x < count; x++) {
            row[x] = half[x][y];
        }
        line(row, done);
        for (int x = 0; x < IN; x++) {
            store(to + (size_t)(y * IN + x) * step, done[x]);
        }
    }
}

// IN × IN positions to `count` × `count` values.
SIMD_INLINE void tile_gather(line_fn *line, int count, const float *from, size_t step, vec *to)
{
    vec half[IN][IN]; // [column][row]
    for (int x = 0; x < IN; x++) {
        vec column[IN];
        for (int y = 0; y < IN; y++) {
            column[y] = load(from + (size_t)(y * IN + x) * step);
        }
        line(column, half[x]);
    }
    for (int y = 0; y < count; y++) {
        vec row[IN];
        for (int x = 0; x < IN; x++) {
            row[x] = half[x][y];
        }
        line(row, to + y * count);
    }
}

// A tile's place.
struct place {
    size_t sample; // floats before its plane
    int y, x;      // tiles before it in the plane
};

static struct place place_of(const struct simd_tiling *g, int i)
{
    int plane = g->down * g->across;
    return (struct place){.sample = (size_t)(i / plane) * g->sample_step,
                          .y = i % plane / g->across,
                          .x = i % g->across};
}

SIMD_INLINE void place_next(const struct simd_tiling *g, struct place *p)
{
    if (++p->x < g->across) {
        return;
    }
    p->x = 0;
    if (++p->y < g->down) {
        return;
    }
    p->y = 0;
    p->sample += g->sample_step;
}

// What of 0 … extent − 1 lies in `size` places from `start` on, counted from `start`.
struct span {
    int first, last; // last is one beyond
};

static struct span span_of(int start, int size, int extent)
{
    struct span s = {start < 0 ? -start : 0, extent - start < size ? extent - start : size};
    return s;
}

// Copies the part of a tile that lies in the plane, zeros around it.
static void tile_fetch(const struct simd_tiling *g, const float *plane, int top, int left, int size,
                       float *tile)
{
    struct span ys = span_of(top, size, g->h), xs = span_of(left, size, g->w);
    memset(tile, 0, (size_t)(size * size) * SIMD_BLOCK * sizeof(float));
    for (int y = ys.first; y < ys.last && xs.first < xs.last; y++) {
        ptrdiff_t at = ((ptrdiff_t)(top + y) * g->w + left + xs.first) * SIMD_BLOCK;
        memcpy(tile + (y * size + xs.first) * SIMD_BLOCK, plane + at,
               (size_t)(xs.last - xs.first) * SIMD_BLOCK * sizeof(float));
    }
}

SIMD_INLINE void tiles_spread(line_fn *line, int size, const struct simd_tiling *g,
                              const float *planes, struct simd_tile_range range, float *to,
                              size_t step)
{
    struct place at = place_of(g, range.first);
    for (int i = 0; i < range.count; i++, place_next(g, &at), to += SIMD_BLOCK) {
        const float *plane = planes + at.sample;
        int top = at.y * OUT - g->pad[0], left = at.x * OUT - g->pad[1];
        if (top >= 0 && left >= 0 && top + size <= g->h && left + size <= g->w) {
            const float *from = plane + ((size_t)top * (size_t)g->w + (size_t)left) * SIMD_BLOCK;
            tile_spread(line, size, from, (size_t)g->w * SIMD_BLOCK, to, step);
        } else {
            float tile[IN * IN * SIMD_BLOCK];
            tile_fetch(g, plane, top, left, size, tile);
            tile_spread(line, size, tile, (size_t)size * SIMD_BLOCK, to, step);
        }
    }
}

void SIMD_NAME(winograd_cut)(const struct simd_tiling *g, const float *planes,
                             struct simd_tile_range range, float *to, size_t step)
{
    tiles_spread(line_cut, IN, g, planes, range, to, step);
}

void SIMD_NAME(winograd_cut_gradient)(const struct simd_tiling *g, const float *planes,
                                      struct simd_tile_range range, float *to, size_t step)
{
    tiles_spread(line_cut_gradient, OUT, g, planes, range, to, step);
}

SIMD_INLINE void tiles_put(enum kernel_activation activation, const struct simd_tiling *g,
                           const float *from, size_t step, struct simd_tile_range range,
                           const float *bias, bool add, float *planes)
{
    vec shift = bias ? load(bias) : zero();
    struct place at = place_of(g, range.first);
    for (int i = 0; i < range.count; i++, place_next(g, &at), from += SIMD_BLOCK) {
        vec tile[OUT * OUT];
        int top = at.y * OUT, left = at.x * OUT;
        float *to = planes + at.sample + ((size_t)top * (size_t)g->w + (size_t)left) * SIMD_BLOCK;
        tile_gather(line_put, OUT, from, step, tile);
        int rows = g->h - top < OUT ? g->h - top : OUT;
        int columns = g->w - left < OUT ? g->w - left : OUT;
        for (int y = 0; y < rows; y++, to += (size_t)g->w * SIMD_BLOCK) {
            for (int x = 0; x < columns; x++) {
                vec value = apply(tile[y * OUT + x] + shift, activation);
                store_or_add(to + x * SIMD_BLOCK, value, add);
            }
        }
    }
}

void SIMD_NAME(winograd_put)(const struct simd_tiling *g, const float *from, size_t step,
                             struct simd_tile_range range, const float *bias,
                             enum kernel_activation activation, bool add, float *planes)
{
    SIMD_BY_ACTIVATION(activation, tiles_put, g, from, step, range, bias, add, planes);
}

// Past the caches: what is written is read only when they have long been filled by something else.
SIMD_INLINE void stream(float *p, vec v)
{
#if defined(__AVX512F__) && SIMD_BLOCK == 16
    _mm512_stream_ps(p, v);
#elif defined(__AVX__) && SIMD_BLOCK == 8
    _mm256_stream_ps(p, v);
#else
    store(p, v);
#endif
}

SIMD_INLINE void stream_end(void)
{
#ifdef __AVX__
    _mm_sfence();
#endif
}

// Streams must come in whole cache lines, so a few sets of taps are collected first.
void SIMD_NAME(winograd_weigh)(const float *taps, int count, float *to, size_t step)
{
    vec done[IN * IN * SIMD_WEIGH_MAX];
    for (int i = 0; i < count; i++) {
        tile_spread(line_weigh, TAPS, taps + i * TAPS * TAPS * SIMD_BLOCK, TAPS * SIMD_BLOCK,
                    (float *)(done + i), SIMD_WEIGH_MAX * SIMD_BLOCK);
    }
    for (int position = 0; position < IN * IN; position++, to += step) {
        for (int i = 0; i < count; i++) {
            stream(to + i * SIMD_BLOCK, done[position * SIMD_WEIGH_MAX + i]);
        }
    }
    stream_end();
}

void SIMD_NAME(winograd_weigh_gradient)(const float *from, size_t step, float *taps)
{
    vec done[TAPS * TAPS];
    tile_gather(line_weigh_gradient, TAPS, from, step, done);
    memcpy(taps, done, sizeof(done));
}
