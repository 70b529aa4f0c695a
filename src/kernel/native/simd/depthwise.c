// SPDX-License-Identifier: Apache-2.0
// Depthwise 3×3 convolution of one plane of a channel block, forward and backward. Away from the
// borders every loop has its nine taps spelled out by the compiler; weights and sums stay in
// registers.
#include "kernel/native/simd/vector.h"

enum { K = 3 };

// What part of the taps 0 … K−1 a window that starts at `start` has inside 0 … extent−1.
struct span {
    int first, last; // last is one beyond
};

// Inside, and at the two borders where the padding is 1: short loops with these constant bounds are
// unrolled. Other spans are right too, only slower.
#define WHOLE  ((struct span){0, K})
#define BEFORE ((struct span){1, K})
#define AFTER  ((struct span){0, K - 1})

SIMD_INLINE bool is_span(struct span s, struct span other)
{
    return s.first == other.first && s.last == other.last;
}

// Calls `function` with the span as one of the constants if it is one.
#define BY_SPAN(taps, function, ...)                                                               \
    do {                                                                                           \
        if (is_span(taps, WHOLE)) {                                                                \
            function(WHOLE, __VA_ARGS__);                                                          \
        } else if (is_span(taps, BEFORE)) {                                                        \
            function(BEFORE, __VA_ARGS__);                                                         \
        } else if (is_span(taps, AFTER)) {                                                         \
            function(AFTER, __VA_ARGS__);                                                          \
        } else {                                                                                   \
            function(taps, __VA_ARGS__);                                                           \
        }                                                                                          \
    } while (0)

SIMD_INLINE struct span span_at(int start, int extent)
{
    return (struct span){start < 0 ? -start : 0, start + K > extent ? extent - start : K};
}

// Outputs first … last−1 whose windows lie inside the extent.
SIMD_INLINE struct span interior(int pad, int stride, int extent, int outputs)
{
    int first = (pad + stride - 1) / stride;
    int last = extent + pad >= K ? (extent + pad - K) / stride + 1 : 0;
    last = last < outputs ? last : outputs;
    return (struct span){first < last ? first : last, last > 0 ? last : 0};
}

// How an output row is made from the rows of x that its windows cover.
struct filter {
    vec start;
    const float *x;
    ptrdiff_t corner, row, step; // offset of the first window, of the next row, of the next window
    const vec *w;
    bool flip; // weights in reverse: a convolution instead of a correlation
    bool add;
    float *y;
};

SIMD_INLINE void filter_pixel(struct span xs, struct span ys, const struct filter *f, int ox)
{
    vec sum = f->start;
    for (int ky = ys.first; ky < ys.last; ky++) {
        for (int kx = xs.first; kx < xs.last; kx++) {
            int tap = ky * K + kx;
            vec x = load(f->x + (f->corner + ox * f->step + ky * f->row + kx * SIMD_BLOCK));
            sum += x * f->w[f->flip ? K * K - 1 - tap : tap];
        }
    }
    store_or_add(f->y + (size_t)ox * SIMD_BLOCK, sum, f->add);
}

// Outputs at a border: most often one, whose span is `likely`.
SIMD_INLINE void filter_border(struct span likely, struct span ys, const struct simd_plane *g,
                               const struct filter *f, int stride, struct span outputs)
{
    for (int ox = outputs.first; ox < outputs.last; ox++) {
        struct span xs = span_at(ox * stride - g->window.pad_before[1], g->w);
        if (is_span(xs, likely)) {
            filter_pixel(likely, ys, f, ox);
        } else {
            filter_pixel(xs, ys, f, ox);
        }
    }
}

SIMD_INLINE void filter_columns(struct span ys, const struct simd_plane *g, const struct filter *f,
                                int stride)
{
    struct span inner = interior(g->window.pad_before[1], stride, g->w, g->ow);
    filter_border(BEFORE, ys, g, f, stride, (struct span){0, inner.first});
    for (int ox = inner.first; ox < inner.last; ox++) {
        filter_pixel(WHOLE, ys, f, ox);
    }
    filter_border(AFTER, ys, g, f, stride, (struct span){inner.last, g->ow});
}

SIMD_INLINE void filter_row(const struct simd_plane *g, struct filter f, int stride, int oy)
{
    int top = oy * stride - g->window.pad_before[0];
    f.row = (ptrdiff_t)g->w * SIMD_BLOCK;
    f.step = (ptrdiff_t)stride * SIMD_BLOCK;
    f.corner = top * f.row - g->window.pad_before[1] * SIMD_BLOCK;
    f.y += (size_t)oy * (size_t)g->ow * SIMD_BLOCK;
    struct span ys = span_at(top, g->h);
    BY_SPAN(ys, filter_columns, g, &f, stride);
}

SIMD_INLINE void load_weights(const float *weights, vec *w)
{
    for (int tap = 0; tap < K * K; tap++) {
        w[tap] = load(weights + tap * SIMD_BLOCK);
    }
}

void SIMD_NAME(depthwise)(const struct simd_plane *g, const float *x, const float *weights,
                          const float *bias, float *y)
{
    vec w[K * K];
    load_weights(weights, w);
    struct filter f = {.x = x, .w = w, .start = load(bias), .y = y};
    if (g->window.stride[0] == 1) {
        for (int oy = 0; oy < g->oh; oy++) {
            filter_row(g, f, 1, oy);
        }
    } else {
        for (int oy = 0; oy < g->oh; oy++) {
            filter_row(g, f, 2, oy);
        }
    }
}

// ---- input gradient ----------------------------------------------------------------------------

// Stride 1: the convolution of dy with the same weights, padded the other way round.
SIMD_INLINE void unfilter_dense(const struct simd_plane *g, const float *dy, const vec *w, bool add,
                                float *dx)
{
    struct simd_plane back = {.h = g->oh, .w = g->ow, .oh = g->h, .ow = g->w};
    for (int axis = 0; axis < 2; axis++) {
        back.window.pad_before[axis] = K - 1 - g->window.pad_before[axis];
    }
    struct filter f = {.x = dy, .w = w, .flip = true, .start = zero(), .add = add, .y = dx};
    for (int iy = 0; iy < g->h; iy++) {
        filter_row(&back, f, 1, iy);
    }
}

// Rows of dy (and of the weights) that an input row takes part in, for stride 2: at most two.
struct sources {
    int count;
    const float *dy[2];
    const vec *w[2];
};

SIMD_INLINE struct sources sources_of(const struct simd_plane *g, const float *dy, const vec *w,
                                      int iy)
{
    struct sources s = {0};
    int shifted = iy + g->window.pad_before[0];
    for (int ky = shifted % 2; ky < K; ky += 2) {
        int oy = (shifted - ky) / 2;
        if (shifted >= ky && oy < g->oh) {
            s.dy[s.count] = dy + (size_t)oy * (size_t)g->ow * SIMD_BLOCK;
            s.w[s.count++] = w + ky * K;
        }
    }
    return s;
}

// dx of one pixel; shifted = column + padding: even columns meet taps 0 and 2, odd ones tap 1.
SIMD_INLINE vec sparse_pixel(const struct sources *s, int count, int shifted, int ow)
{
    vec sum = zero();
    for (int i = 0; i < count; i++) {
        for (int kx = shifted % 2; kx < K; kx += 2) {
            int ox = (shifted - kx) / 2;
            if (shifted >= kx && ox < ow) {
                sum += load(s->dy[i] + (size_t)ox * SIMD_BLOCK) * s->w[i][kx];
            }
        }
    }
    return sum;
}

// Columns first … last−1 in pairs (even, odd), all of whose taps are inside.
SIMD_INLINE void sparse_pairs(const struct sources *s, int count, int pad, struct span pairs,
                              bool add, float *dx)
{
    for (int m = pairs.first; m < pairs.last; m++) {
        vec even = zero(), odd = zero();
        for (int i = 0; i < count; i++) {
            vec here = load(s->dy[i] + (size_t)m * SIMD_BLOCK),
                before = load(s->dy[i] + (size_t)(m - 1) * SIMD_BLOCK);
            even += here * s->w[i][0] + before * s->w[i][2];
            odd += here * s->w[i][1];
        }
        float *at = dx + (2 * m - pad) * SIMD_BLOCK;
        store_or_add(at, even, add);
        store_or_add(at + SIMD_BLOCK, odd, add);
    }
}

SIMD_INLINE void unfilter_sparse(const struct simd_plane *g, const float *dy, const vec *w,
                                 bool add, float *dx)
{
    int pad = g->window.pad_before[1];
    // Pair m is the columns 2m − pad and 2m − pad + 1; it reads dy at m − 1 and m.
    struct span pairs = {pad / 2 + 1, (g->w + pad) / 2};
    pairs.last = pairs.last < g->ow ? pairs.last : g->ow;
    pairs.last = pairs.last > pairs.first ? pairs.last : pairs.first;
    for (int iy = 0; iy < g->h; iy++, dx += (size_t)g->w * SIMD_BLOCK) {
        struct sources s = sources_of(g, dy, w, iy);
        if (s.count == 2) {
            sparse_pairs(&s, 2, pad, pairs, add, dx);
        } else {
            sparse_pairs(&s, s.count, pad, pairs, add, dx);
        }
        for (int ix = 0; ix < g->w; ix++) {
            if (ix == 2 * pairs.first - pad) {
                ix = 2 * pairs.last - pad;
                if (ix >= g->w) {
                    break;
                }
            }
            store_or_add(dx + ix * SIMD_BLOCK, sparse_pixel(&s, s.count, ix + pad, g->ow), add);
        }
    }
}

void SIMD_NAME(depthwise_data)(const struct simd_plane *g, const float *dy, const float *weights,
                               bool add, float *dx)
{
    vec w[K * K];
    load_weights(weights, w);
    bool dense = g->window.stride[0] == 1;
    if (dense && add) {
        unfilter_dense(g, dy, w, true, dx);
    } else if (dense) {
        unfilter_dense(g, dy, w, false, dx);
    } else if (add) {
        unfilter_sparse(g, dy, w, true, dx);
    } else {
        unfilter_sparse(g, dy, w, false, dx);
    }
}

// ---- weight gradient ---------------------------------------------------------------------------

// What a row of dy adds to the weight gradient.
struct correlation {
    const float *x, *dy;
    ptrdiff_t corner, row, step; // as above
};

SIMD_INLINE void correlate_pixel(struct span xs, struct span ys, const struct correlation *c,
                                 int ox, vec *sums)
{
    vec dy = load(c->dy + (size_t)ox * SIMD_BLOCK);
    for (int ky = ys.first; ky < ys.last; ky++) {
        for (int kx = xs.first; kx < xs.last; kx++) {
            vec x = load(c->x + (c->corner + ox * c->step + ky * c->row + kx * SIMD_BLOCK));
            sums[ky * K + kx] += dy * x;
        }
    }
}

SIMD_INLINE void correlate_border(struct span likely, struct span ys, const struct simd_plane *g,
                                  const struct correlation *c, int stride, struct span outputs,
                                  vec *sums)
{
    for (int ox = outputs.first; ox < outputs.last; ox++) {
        struct span xs = span_at(ox * stride - g->window.pad_before[1], g->w);
        if (is_span(xs, likely)) {
            correlate_pixel(likely, ys, c, ox, sums);
        } else {
            correlate_pixel(xs, ys, c, ox, sums);
        }
    }
}

// The sums of a row are kept in registers and join the others at its end.
SIMD_INLINE void correlate_columns(struct span ys, const struct simd_plane *g,
                                   const struct correlation *c, int stride, vec *sums)
{
    struct span inner = interior(g->window.pad_before[1], stride, g->w, g->ow);
    correlate_border(BEFORE, ys, g, c, stride, (struct span){0, inner.first}, sums);
    vec inside[K * K] = {0};
    for (int ox = inner.first; ox < inner.last; ox++) {
        correlate_pixel(WHOLE, ys, c, ox, inside);
    }
    for (int tap = ys.first * K; tap < ys.last * K; tap++) {
        sums[tap] += inside[tap];
    }
    correlate_border(AFTER, ys, g, c, stride, (struct span){inner.last, g->ow}, sums);
}

SIMD_INLINE void correlate_row(const struct simd_plane *g, const float *x, const float *dy,
                               int stride, int oy, vec *sums)
{
    int top = oy * stride - g->window.pad_before[0];
    struct correlation c = {
        .x = x,
        .dy = dy + (size_t)oy * (size_t)g->ow * SIMD_BLOCK,
        .row = (ptrdiff_t)g->w * SIMD_BLOCK,
        .step = (ptrdiff_t)stride * SIMD_BLOCK,
    };
    c.corner = top * c.row - g->window.pad_before[1] * SIMD_BLOCK;
    struct span ys = span_at(top, g->h);
    BY_SPAN(ys, correlate_columns, g, &c, stride, sums);
}

void SIMD_NAME(depthwise_weights)(const struct simd_plane *g, const float *x, const float *dy,
                                  float *dw)
{
    vec sums[K * K] = {0};
    for (int oy = 0; oy < g->oh; oy++) {
        if (g->window.stride[0] == 1) {
            correlate_row(g, x, dy, 1, oy, sums);
        } else {
            correlate_row(g, x, dy, 2, oy, sums);
        }
    }
    for (int tap = 0; tap < K * K; tap++) {
        store(dw + tap * SIMD_BLOCK, sums[tap]);
    }
}
