// SPDX-License-Identifier: Apache-2.0
// Depthwise 5×5 and 7×7 convolution of one plane of a channel block, forward and backward. Where
// windows reach over the left or right border, rows are first copied between zeros, so that no
// inner loop knows of borders; what lies above and below the plane is left out row by row. A tile
// of neighbouring outputs stays in registers while all rows of taps pass over it.
#include "kernel/native/simd/vector.h"

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

// ---- segments ----------------------------------------------------------------------------------

// How a row of results meets the rows of a plane: result i sees `size` columns from i·step − left
// on.
struct walk {
    int results, tile, step, size, left;
    int height, width; // of the plane
};

// Neighbouring results, and the rows that they are made from.
struct segment {
    int first, count;
    bool framed;     // some windows are not inside the plane: its rows are copies between zeros
    int pitch;       // columns from one row to the next
    const float *at; // where the first result's window begins in row 0
};

enum { SEGMENTS_MAX = 3, WIDE = 112 };

static struct walk walk_x(const struct simd_plane *g)
{
    return (struct walk){.results = g->ow,
                         .tile = TILE,
                         .step = g->window.stride[1],
                         .size = g->window.size[1],
                         .left = g->window.pad_before[1],
                         .height = g->h,
                         .width = g->w};
}

// With stride 2, dx is made in pairs of columns (counted with the padding); the first that is not
// all padding, and how many there are.
static int first_pair(const struct simd_plane *g)
{
    return g->window.pad_before[1] / 2;
}

static int pair_count(const struct simd_plane *g)
{
    return (g->window.pad_before[1] + g->w - 1) / 2 - first_pair(g) + 1;
}

// The input gradient's way over dy.
static struct walk walk_dy(const struct simd_plane *g)
{
    int k = g->window.size[1];
    struct walk walk = {.step = 1, .height = g->oh, .width = g->ow};
    if (g->window.stride[1] == 1) {
        walk.results = g->w;
        walk.tile = TILE;
        walk.size = k;
        walk.left = k - 1 - g->window.pad_before[1];
    } else {
        walk.results = pair_count(g);
        walk.tile = PAIRS;
        walk.size = (k + 1) / 2;
        walk.left = walk.size - 1 - first_pair(g);
    }
    return walk;
}

static int framed_pitch(const struct walk *w, int results)
{
    return ((results + w->tile - 1) / w->tile * w->tile - 1) * w->step + w->size;
}

// Wide planes are read where they are, but for a few results at their borders. Narrow ones are
// faster in one piece; the limit is from timing both on Zen 3. Returns how many segments there are.
static int cut(const struct walk *w, struct segment *out)
{
    int first = w->left > 0 ? w->tile : 0, inside = (w->width + w->left - w->size) / w->step + 1;
    inside = inside < w->results ? inside : w->results;
    int count = (inside - first) / w->tile * w->tile;
    if (count <= 0 || w->width * w->step < WIDE) {
        out[0] = (struct segment){
            .count = w->results, .framed = true, .pitch = framed_pitch(w, w->results)};
        return 1;
    }
    int segments = 0, rest = w->results - first - count;
    if (first > 0) {
        out[segments++] =
            (struct segment){.count = first, .framed = true, .pitch = framed_pitch(w, first)};
    }
    out[segments++] = (struct segment){.first = first, .count = count, .pitch = w->width};
    if (rest > 0) {
        out[segments++] = (struct segment){
            .first = first + count, .count = rest, .framed = true, .pitch = framed_pitch(w, rest)};
    }
    return segments;
}

// Puts a segment's rows into the room if they must be framed.
static void lay_out(const struct walk *w, struct segment *s, const float *plane, float *room)
{
    int begin = s->first * w->step - w->left, from = begin > 0 ? begin : 0,
        to = begin + s->pitch < w->width ? begin + s->pitch : w->width;
    if (!s->framed) {
        s->at = plane + begin * SIMD_BLOCK;
        return;
    }
    size_t before = (size_t)(from - begin) * SIMD_BLOCK, kept = (size_t)(to - from) * SIMD_BLOCK,
           after = (size_t)s->pitch * SIMD_BLOCK - before - kept;
    s->at = room;
    plane += from * SIMD_BLOCK;
    for (int row = 0; row < w->height; row++, plane += (size_t)w->width * SIMD_BLOCK) {
        memset(room, 0, before * sizeof(float));
        memcpy(room + before, plane, kept * sizeof(float));
        memset(room + before + kept, 0, after * sizeof(float));
        room += before + kept + after;
    }
}

static const float *row_of(const struct segment *s, int row)
{
    return s->at + (size_t)row * (size_t)s->pitch * SIMD_BLOCK;
}

static size_t walk_room(const struct walk *w)
{
    struct segment segments[SEGMENTS_MAX];
    size_t most = 0;
    for (int i = cut(w, segments) - 1; i >= 0; i--) {
        size_t floats = (size_t)w->height * (size_t)segments[i].pitch * SIMD_BLOCK;
        most = segments[i].framed && floats > most ? floats : most;
    }
    return most;
}

size_t SIMD_NAME(depthwise_wide_room)(const struct simd_plane *g)
{
    struct walk x = walk_x(g), dy = walk_dy(g);
    size_t for_x = walk_room(&x), for_dy = walk_room(&dy);
    return for_x > for_dy ? for_x : for_dy;
}

// ---- what a row of results is made from --------------------------------------------------------

// Rows of a segment, each with the row of taps that meets it.
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

// ---- forward -----------------------------------------------------------------------------------

SIMD_INLINE void filter(int k, int stride, const struct simd_plane *g,
                        const struct segment *segment, const float *weights, vec start, float *y)
{
    y += (size_t)segment->first * SIMD_BLOCK;
    for (int oy = 0; oy < g->oh; oy++, y += (size_t)g->ow * SIMD_BLOCK) {
        struct sources s = {0};
        for (int ky = 0; ky < k; ky++) {
            int iy = oy * stride - g->window.pad_before[0] + ky;
            if (iy >= 0 && iy < g->h) {
                add_source(&s, row_of(segment, iy), weights + ky * k * SIMD_BLOCK);
            }
        }
        make_row(k, stride, &s, segment->count, start, false, y);
    }
}

void SIMD_NAME(depthwise_wide)(const struct simd_plane *g, const float *x, const float *weights,
                               const float *bias, float *room, float *y)
{
    struct walk walk = walk_x(g);
    struct segment segments[SEGMENTS_MAX];
    vec start = load(bias);
    for (int i = 0, count = cut(&walk, segments); i < count; i++) {
        lay_out(&walk, &segments[i], x, room);
        BY_WINDOW(g, filter, &segments[i], weights, start, y);
    }
}

// ---- input gradient ----------------------------------------------------------------------------

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

SIMD_INLINE void make_pairs(int k, const struct sources *s, const struct simd_plane *g,
                            const struct segment *segment, bool add, float *dx)
{
    int column = 2 * (first_pair(g) + segment->first) - g->window.pad_before[1];
    for (int first = 0; first < segment->count; first += PAIRS, column += 2 * PAIRS) {
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

SIMD_INLINE void unfilter(int k, int stride, const struct simd_plane *g,
                          const struct segment *segment, const float *reversed, bool add, float *dx)
{
    for (int iy = 0; iy < g->h; iy++, dx += (size_t)g->w * SIMD_BLOCK) {
        struct sources s = {0};
        int shifted = iy + g->window.pad_before[0];
        for (int ky = shifted % stride; ky < k && ky <= shifted; ky += stride) {
            int oy = (shifted - ky) / stride;
            if (oy < g->oh) {
                add_source(&s, row_of(segment, oy), reversed + ky * k * SIMD_BLOCK);
            }
        }
        if (stride == 1) {
            make_row(k, 1, &s, segment->count, zero(), add,
                     dx + (size_t)segment->first * SIMD_BLOCK);
        } else {
            make_pairs(k, &s, g, segment, add, dx);
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
    struct walk walk = walk_dy(g);
    struct segment segments[SEGMENTS_MAX];
    for (int i = 0, count = cut(&walk, segments); i < count; i++) {
        lay_out(&walk, &segments[i], dy, room);
        BY_WINDOW(g, unfilter, &segments[i], reversed, add, dx);
    }
}

// ---- weight gradient ---------------------------------------------------------------------------

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

// One row of taps, over all rows of a segment.
SIMD_INLINE void correlate_taps(int k, int stride, const struct simd_plane *g,
                                const struct segment *segment, const float *dy, int ky, float *dw)
{
    vec sums[WAYS_MAX][K_MAX] = {0};
    const int ways = k == 5 ? 2 : 1;
    for (int oy = 0; oy < g->oh; oy++, dy += (size_t)g->ow * SIMD_BLOCK) {
        int iy = oy * stride - g->window.pad_before[0] + ky;
        if (iy < 0 || iy >= g->h) {
            continue;
        }
        const float *x = row_of(segment, iy);
        int ox = 0;
        for (; ox + ways <= segment->count; ox += ways) {
            correlate_pixels(k, stride, ways, x + (size_t)(ox * stride) * SIMD_BLOCK,
                             dy + (size_t)ox * SIMD_BLOCK, sums);
        }
        for (; ox < segment->count; ox++) {
            correlate_pixels(k, stride, 1, x + (size_t)(ox * stride) * SIMD_BLOCK,
                             dy + (size_t)ox * SIMD_BLOCK, sums);
        }
    }
    SPELL_OUT
    for (int kx = 0; kx < k; kx++) {
        store_or_add(dw + kx * SIMD_BLOCK, sums[0][kx] + sums[1][kx], true);
    }
}

SIMD_INLINE void correlate(int k, int stride, const struct simd_plane *g,
                           const struct segment *segment, const float *dy, float *dw)
{
    for (int ky = 0; ky < k; ky++) {
        correlate_taps(k, stride, g, segment, dy + (size_t)segment->first * SIMD_BLOCK, ky,
                       dw + ky * k * SIMD_BLOCK);
    }
}

void SIMD_NAME(depthwise_wide_weights)(const struct simd_plane *g, const float *x, const float *dy,
                                       float *room, float *dw)
{
    struct walk walk = walk_x(g);
    struct segment segments[SEGMENTS_MAX];
    memset(dw, 0, (size_t)(walk.size * walk.size) * SIMD_BLOCK * sizeof(float));
    for (int i = 0, count = cut(&walk, segments); i < count; i++) {
        lay_out(&walk, &segments[i], x, room);
        BY_WINDOW(g, correlate, &segments[i], dy, dw);
    }
}
