// SPDX-License-Identifier: Apache-2.0
// Winograd's transforms F(4×4, 3×3) of one plane of a channel block. A tile of 4×4 outputs comes
// from 6×6 inputs; transformed, both are 36 positions that no longer mix, and the weights 36
// factors. The lines below evaluate a polynomial at 0, ±√½, ±√2 and ∞, or go back; a tile is done
// line by line in both directions. docs/decisions/0013 says why these points.
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "kernel/native/simd/vector.h"

enum { IN = SIMD_TILE_IN, OUT = SIMD_TILE_OUT, TAPS = SIMD_TILE_TAPS };

static const float ROOT_HALF = 0.70710678118654752f, ROOT_TWO = 1.41421356237309505f;

// ---- lines -------------------------------------------------------------------------------------
// Positions 1 and 2 of inputs, and 3 and 4 of output gradients, are half of what the textbook has:
// so each is one multiply-add. The weights make up for it.

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

// ---- tiles -------------------------------------------------------------------------------------

typedef void line_fn(const vec *from, vec *to);

// Places first … last − 1 of a tile's edge.
struct span {
    int first, last;
};

// Where a tile's values come from: [y][x] is at `corner` + y·pitch + x·SIMD_BLOCK floats, and zero
// outside the spans.
struct source {
    const float *base;
    ptrdiff_t corner, pitch;
    struct span ys, xs;
};

// `count` × `count` values to IN × IN positions, one every `step` floats.
SIMD_INLINE void tile_spread(line_fn *line, int count, const struct source *s, float *to,
                             size_t step)
{
    vec half[IN][IN]; // [column][row]
    for (int x = 0; x < count; x++) {
        vec column[IN] = {0};
        if (x >= s->xs.first && x < s->xs.last) {
            const float *from = s->base + (s->corner + x * SIMD_BLOCK + s->ys.first * s->pitch);
            for (int y = 0; y < count; y++) {
                if (y >= s->ys.first && y < s->ys.last) {
                    column[y] = load(from);
                    from += s->pitch;
                }
            }
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

// What of `size` places from `start` on lies in 0 … extent − 1, counted from `start`.
SIMD_INLINE struct span span_of(int start, int size, int extent)
{
    return (struct span){start < 0 ? -start : 0, extent - start < size ? extent - start : size};
}

// Tiles inside get their own copy of the code, without a question.
SIMD_INLINE void tiles_spread(line_fn *line, int size, const struct simd_tiling *g,
                              const float *planes, struct simd_tile_range range, float *to,
                              size_t step)
{
    struct place at = place_of(g, range.first);
    for (int i = 0; i < range.count; i++, place_next(g, &at), to += SIMD_BLOCK) {
        int top = at.y * OUT - g->pad[0], left = at.x * OUT - g->pad[1];
        struct source s = {
            .base = planes + at.sample,
            .corner = ((ptrdiff_t)top * g->w + left) * SIMD_BLOCK,
            .pitch = (ptrdiff_t)g->w * SIMD_BLOCK,
            .ys = {0, size},
            .xs = {0, size},
        };
        if (top >= 0 && left >= 0 && top + size <= g->h && left + size <= g->w) {
            tile_spread(line, size, &s, to, step);
        } else {
            s.ys = span_of(top, size, g->h);
            s.xs = span_of(left, size, g->w);
            tile_spread(line, size, &s, to, step);
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

SIMD_INLINE void tile_store(int rows, int columns, enum kernel_activation activation,
                            const vec *tile, vec shift, bool add, float *to, size_t pitch)
{
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < columns; x++) {
            vec value = apply(tile[y * OUT + x] + shift, activation);
            store_or_add(to + (size_t)y * pitch + (size_t)x * SIMD_BLOCK, value, add);
        }
    }
}

SIMD_INLINE void tiles_put(enum kernel_activation activation, const struct simd_tiling *g,
                           const float *from, size_t step, struct simd_tile_range range,
                           const float *bias, bool add, float *planes)
{
    vec shift = bias ? load(bias) : zero();
    size_t pitch = (size_t)g->w * SIMD_BLOCK;
    struct place at = place_of(g, range.first);
    for (int i = 0; i < range.count; i++, place_next(g, &at), from += SIMD_BLOCK) {
        vec tile[OUT * OUT];
        tile_gather(line_put, OUT, from, step, tile);
        int top = at.y * OUT, left = at.x * OUT;
        int rows = g->h - top < OUT ? g->h - top : OUT;
        int columns = g->w - left < OUT ? g->w - left : OUT;
        float *to = planes + at.sample + (size_t)top * pitch + (size_t)left * SIMD_BLOCK;
        if (rows == OUT && columns == OUT) {
            tile_store(OUT, OUT, activation, tile, shift, add, to, pitch);
        } else {
            tile_store(rows, columns, activation, tile, shift, add, to, pitch);
        }
    }
}

void SIMD_NAME(winograd_put)(const struct simd_tiling *g, const float *from, size_t step,
                             struct simd_tile_range range, const float *bias,
                             enum kernel_activation activation, bool add, float *planes)
{
    SIMD_BY_ACTIVATION(activation, tiles_put, g, from, step, range, bias, add, planes);
}

// ---- weights -----------------------------------------------------------------------------------

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
        const struct source s = {.base = taps,
                                 .corner = i * TAPS * TAPS * SIMD_BLOCK,
                                 .pitch = TAPS * SIMD_BLOCK,
                                 .ys = {0, TAPS},
                                 .xs = {0, TAPS}};
        tile_spread(line_weigh, TAPS, &s, (float *)(done + i), SIMD_WEIGH_MAX * SIMD_BLOCK);
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
