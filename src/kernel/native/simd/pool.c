// SPDX-License-Identifier: Apache-2.0
// Max and average pooling of one plane of a channel block, forward and backward. Both directions
// walk the output; the gradient is scattered with additions to rows that were cleared just before.
// Windows of up to 3×3 have loops of constant length where they lie inside the plane; averages also
// where they reach over its upper or lower edge.
#include "kernel/native/simd/vector.h"

struct span {
    int first, end;
};

SIMD_INLINE int smaller(int a, int b)
{
    return a < b ? a : b;
}

SIMD_INLINE int larger(int a, int b)
{
    return a > b ? a : b;
}

// The first row (d = 0) or column (d = 1) of window `o`; it may lie outside. Adaptive windows
// differ in size and all lie inside.
SIMD_INLINE int window_begin(const struct simd_plane *g, int d, int o)
{
    const struct kernel_window *w = &g->window;
    return g->adaptive ? o * (d ? g->w : g->h) / (d ? g->ow : g->oh)
                       : o * w->stride[d] - w->pad_before[d];
}

// Taps of window `o` that lie inside the plane.
SIMD_INLINE struct span taps_of(const struct simd_plane *g, int d, int o)
{
    const struct kernel_window *w = &g->window;
    int begin = window_begin(g, d, o), extent = d ? g->w : g->h, count = d ? g->ow : g->oh;
    if (g->adaptive) {
        return (struct span){0, ((o + 1) * extent + count - 1) / count - begin};
    }
    return (struct span){larger(0, -begin), smaller(w->size[d], extent - begin)};
}

// Windows whose columns are all inside the plane and as many.
SIMD_INLINE struct span whole_columns(const struct simd_plane *g)
{
    const struct kernel_window *w = &g->window;
    if (g->adaptive) {
        return (struct span){0, 0};
    }
    int stride = w->stride[1], room = g->w - w->size[1] + w->pad_before[1];
    int first = larger(0, (w->pad_before[1] + stride - 1) / stride);
    int end = room < 0 ? 0 : smaller(g->ow, room / stride + 1);
    return (struct span){smaller(first, g->ow), larger(smaller(first, g->ow), end)};
}

// The edge of a square window of 2×2 or 3×3 whose rows are all inside, else 0.
SIMD_INLINE int whole_size(const struct simd_plane *g, struct span rows)
{
    const int *size = g->window.size;
    bool whole = !g->adaptive && rows.first == 0 && rows.end == size[0] && size[0] == size[1];
    return whole && (size[0] == 2 || size[0] == 3) ? size[0] : 0;
}

// Where tap (0, 0) of a window is; it may lie outside.
SIMD_INLINE ptrdiff_t window_at(const struct simd_plane *g, int oy, int ox)
{
    return ((ptrdiff_t)window_begin(g, 0, oy) * g->w + window_begin(g, 1, ox)) * SIMD_BLOCK;
}

SIMD_INLINE ptrdiff_t tap_at(const struct simd_plane *g, int ky, int kx)
{
    return ((ptrdiff_t)ky * g->w + kx) * SIMD_BLOCK;
}

// ---- maximum -----------------------------------------------------------------------------------

// The first of equals wins. `x` is the window's tap (0, 0).
SIMD_INLINE void max_pixel(int width, const struct simd_plane *g, struct span rows,
                           struct span columns, const float *x, float *y, uint8_t *taken)
{
    vec best = load(x + tap_at(g, rows.first, columns.first));
    ivec winner = (ivec){0} + (rows.first * width + columns.first);
    for (int ky = rows.first; ky < rows.end; ky++) {
        for (int kx = columns.first; kx < columns.end; kx++) {
            vec v = load(x + tap_at(g, ky, kx));
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

// A run of windows that are all inside.
SIMD_INLINE void max_run(int size, const struct simd_plane *g, int count, const float *x, float *y,
                         uint8_t *taken)
{
    const struct span all = {0, size};
    ptrdiff_t step = (ptrdiff_t)g->window.stride[1] * SIMD_BLOCK;
    for (int i = 0; i < count; i++) {
        max_pixel(size, g, all, all, x + i * step, y + i * SIMD_BLOCK,
                  taken ? taken + i * SIMD_BLOCK : NULL);
    }
}

SIMD_INLINE void max_edge(const struct simd_plane *g, int oy, struct span windows, const float *x,
                          float *y, uint8_t *taken)
{
    for (int ox = windows.first; ox < windows.end; ox++) {
        max_pixel(g->window.size[1], g, taps_of(g, 0, oy), taps_of(g, 1, ox),
                  x + window_at(g, oy, ox), y + ox * SIMD_BLOCK,
                  taken ? taken + ox * SIMD_BLOCK : NULL);
    }
}

void SIMD_NAME(max_pool)(const struct simd_plane *g, const float *x, float *y, uint8_t *taken)
{
    struct span inside = whole_columns(g);
    int count = inside.end - inside.first;
    size_t row = (size_t)g->ow * SIMD_BLOCK, at = (size_t)inside.first * SIMD_BLOCK;
    for (int oy = 0; oy < g->oh; oy++, y += row, taken = taken ? taken + row : NULL) {
        int size = whole_size(g, taps_of(g, 0, oy));
        if (size == 0) {
            max_edge(g, oy, (struct span){0, g->ow}, x, y, taken);
            continue;
        }
        const float *first = x + window_at(g, oy, inside.first);
        uint8_t *winners = taken ? taken + at : NULL;
        max_edge(g, oy, (struct span){0, inside.first}, x, y, taken);
        if (size == 3) {
            max_run(3, g, count, first, y + at, winners);
        } else {
            max_run(2, g, count, first, y + at, winners);
        }
        max_edge(g, oy, (struct span){inside.end, g->ow}, x, y, taken);
    }
}

// Clears the rows up to `end` that were not cleared before, unless the gradient is added.
SIMD_INLINE int clear_rows(const struct simd_plane *g, bool add, int cleared, int end, float *dx)
{
    end = smaller(end, g->h);
    if (add || cleared >= end) {
        return cleared;
    }
    size_t row = (size_t)g->w * SIMD_BLOCK;
    memset(dx + (size_t)cleared * row, 0, (size_t)(end - cleared) * row * sizeof(float));
    return end;
}

// The first row below window row `oy`.
SIMD_INLINE int rows_until(const struct simd_plane *g, int oy)
{
    return window_begin(g, 0, oy) + taps_of(g, 0, oy).end;
}

// `dx` is the window's tap (0, 0).
SIMD_INLINE void max_spread(int width, const struct simd_plane *g, struct span rows,
                            struct span columns, const float *dy, const uint8_t *taken, float *dx)
{
    bvec narrow;
    memcpy(&narrow, taken, sizeof(narrow));
    ivec winner = __builtin_convertvector(narrow, ivec);
    vec gradient = load(dy);
    for (int ky = rows.first; ky < rows.end; ky++) {
        for (int kx = columns.first; kx < columns.end; kx++) {
            ivec here = winner == (ivec){0} + (ky * width + kx);
            store_or_add(dx + tap_at(g, ky, kx), keep(gradient, here), true);
        }
    }
}

SIMD_INLINE void max_spread_run(int size, const struct simd_plane *g, int count, const float *dy,
                                const uint8_t *taken, float *dx)
{
    const struct span all = {0, size};
    ptrdiff_t step = (ptrdiff_t)g->window.stride[1] * SIMD_BLOCK;
    for (int i = 0; i < count; i++) {
        max_spread(size, g, all, all, dy + i * SIMD_BLOCK, taken + i * SIMD_BLOCK, dx + i * step);
    }
}

SIMD_INLINE void max_spread_edge(const struct simd_plane *g, int oy, struct span windows,
                                 const float *dy, const uint8_t *taken, float *dx)
{
    for (int ox = windows.first; ox < windows.end; ox++) {
        max_spread(g->window.size[1], g, taps_of(g, 0, oy), taps_of(g, 1, ox), dy + ox * SIMD_BLOCK,
                   taken + ox * SIMD_BLOCK, dx + window_at(g, oy, ox));
    }
}

void SIMD_NAME(max_pool_gradient)(const struct simd_plane *g, const float *dy, const uint8_t *taken,
                                  bool add, float *dx)
{
    struct span inside = whole_columns(g);
    int count = inside.end - inside.first, cleared = 0;
    size_t row = (size_t)g->ow * SIMD_BLOCK, at = (size_t)inside.first * SIMD_BLOCK;
    for (int oy = 0; oy < g->oh; oy++, dy += row, taken += row) {
        int size = whole_size(g, taps_of(g, 0, oy));
        cleared = clear_rows(g, add, cleared, rows_until(g, oy), dx);
        if (size == 0) {
            max_spread_edge(g, oy, (struct span){0, g->ow}, dy, taken, dx);
            continue;
        }
        float *first = dx + window_at(g, oy, inside.first);
        max_spread_edge(g, oy, (struct span){0, inside.first}, dy, taken, dx);
        if (size == 3) {
            max_spread_run(3, g, count, dy + at, taken + at, first);
        } else {
            max_spread_run(2, g, count, dy + at, taken + at, first);
        }
        max_spread_edge(g, oy, (struct span){inside.end, g->ow}, dy, taken, dx);
    }
    clear_rows(g, add, cleared, g->h, dx);
}

// ---- average -----------------------------------------------------------------------------------

// One over the number of taps that count.
SIMD_INLINE float share_of(const struct simd_plane *g, struct span rows, struct span columns)
{
    int count = g->count_padding ? g->window.size[0] * g->window.size[1]
                                 : (rows.end - rows.first) * (columns.end - columns.first);
    return 1.0f / (float)count;
}

SIMD_INLINE void average_edge(const struct simd_plane *g, int oy, struct span windows,
                              const float *x, float *y)
{
    struct span rows = taps_of(g, 0, oy);
    for (int ox = windows.first; ox < windows.end; ox++) {
        struct span columns = taps_of(g, 1, ox);
        const float *from = x + window_at(g, oy, ox);
        vec sum = zero();
        for (int ky = rows.first; ky < rows.end; ky++) {
            for (int kx = columns.first; kx < columns.end; kx++) {
                sum += load(from + tap_at(g, ky, kx));
            }
        }
        store(y + ox * SIMD_BLOCK, sum * share_of(g, rows, columns));
    }
}

// A run of windows of one row with the same taps inside: rows × columns of them, from x on.
struct average_run {
    struct span windows;
    int rows, columns;
    float share;
    ptrdiff_t at; // of the first tap
};

SIMD_INLINE struct average_run average_run_of(const struct simd_plane *g, int oy)
{
    struct span rows = taps_of(g, 0, oy), windows = whole_columns(g), all = {0, g->window.size[1]};
    return (struct average_run){
        .windows = windows,
        .rows = rows.end - rows.first,
        .columns = all.end,
        .share = share_of(g, rows, all),
        .at = window_at(g, oy, windows.first) + tap_at(g, rows.first, 0),
    };
}

// Calls `function` with the numbers of rows and columns as constants. Where there is no such loop,
// the run becomes empty and all windows are left to the edge.
#define BY_TAPS(run, function, ...)                                                                \
    do {                                                                                           \
        if ((run)->columns == 3 && (run)->rows == 3) {                                             \
            function(3, 3, run, __VA_ARGS__);                                                      \
        } else if ((run)->columns == 3 && (run)->rows == 2) {                                      \
            function(2, 3, run, __VA_ARGS__);                                                      \
        } else if ((run)->columns == 2 && (run)->rows == 2) {                                      \
            function(2, 2, run, __VA_ARGS__);                                                      \
        } else if ((run)->columns == 1 && (run)->rows == 1) {                                      \
            function(1, 1, run, __VA_ARGS__);                                                      \
        } else {                                                                                   \
            (run)->windows.end = (run)->windows.first;                                             \
        }                                                                                          \
    } while (0)

SIMD_INLINE vec column_sum(int rows, const struct simd_plane *g, const float *x)
{
    vec sum = load(x);
    for (int ky = 1; ky < rows; ky++) {
        sum += load(x + tap_at(g, ky, 0));
    }
    return sum;
}

// Three columns, stride 1: a column is summed once for its three windows.
SIMD_INLINE void average_sliding(int rows, const struct average_run *run,
                                 const struct simd_plane *g, const float *x, float *y)
{
    vec left = column_sum(rows, g, x), middle = column_sum(rows, g, x + SIMD_BLOCK);
    x += (ptrdiff_t)2 * SIMD_BLOCK;
    for (int ox = run->windows.first; ox < run->windows.end; ox++, x += SIMD_BLOCK) {
        vec right = column_sum(rows, g, x);
        store(y + ox * SIMD_BLOCK, (left + middle + right) * run->share);
        left = middle;
        middle = right;
    }
}

SIMD_INLINE void average_inside(int rows, int columns, const struct average_run *run,
                                const struct simd_plane *g, const float *x, float *y)
{
    ptrdiff_t step = (ptrdiff_t)g->window.stride[1] * SIMD_BLOCK;
    x += run->at;
    if (columns == 3 && g->window.stride[1] == 1 && run->windows.first < run->windows.end) {
        average_sliding(rows, run, g, x, y);
        return;
    }
    for (int ox = run->windows.first; ox < run->windows.end; ox++, x += step) {
        vec sum = zero();
        for (int ky = 0; ky < rows; ky++) {
            for (int kx = 0; kx < columns; kx++) {
                sum += load(x + tap_at(g, ky, kx));
            }
        }
        store(y + ox * SIMD_BLOCK, sum * run->share);
    }
}

void SIMD_NAME(average_pool)(const struct simd_plane *g, const float *x, float *y)
{
    for (int oy = 0; oy < g->oh; oy++, y += (size_t)g->ow * SIMD_BLOCK) {
        struct average_run run = average_run_of(g, oy);
        BY_TAPS(&run, average_inside, g, x, y);
        average_edge(g, oy, (struct span){0, run.windows.first}, x, y);
        average_edge(g, oy, (struct span){run.windows.end, g->ow}, x, y);
    }
}

SIMD_INLINE void average_spread(const struct simd_plane *g, struct span rows, struct span columns,
                                vec share, float *dx)
{
    for (int ky = rows.first; ky < rows.end; ky++) {
        for (int kx = columns.first; kx < columns.end; kx++) {
            store_or_add(dx + tap_at(g, ky, kx), share, true);
        }
    }
}

SIMD_INLINE void column_add(int rows, const struct simd_plane *g, vec sum, float *dx)
{
    for (int ky = 0; ky < rows; ky++) {
        store_or_add(dx + tap_at(g, ky, 0), sum, true);
    }
}

// Three columns, stride 1: what three windows give a column is summed first.
SIMD_INLINE void average_spread_sliding(int rows, const struct average_run *run,
                                        const struct simd_plane *g, const float *dy, float *dx)
{
    vec left = zero(), middle = zero();
    for (int ox = run->windows.first; ox < run->windows.end; ox++, dx += SIMD_BLOCK) {
        vec right = load(dy + ox * SIMD_BLOCK) * run->share;
        column_add(rows, g, left + middle + right, dx);
        left = middle;
        middle = right;
    }
    column_add(rows, g, left + middle, dx);
    column_add(rows, g, middle, dx + SIMD_BLOCK);
}

SIMD_INLINE void average_spread_inside(int rows, int columns, const struct average_run *run,
                                       const struct simd_plane *g, const float *dy, float *dx)
{
    ptrdiff_t step = (ptrdiff_t)g->window.stride[1] * SIMD_BLOCK;
    dx += run->at;
    if (columns == 3 && g->window.stride[1] == 1 && run->windows.first < run->windows.end) {
        average_spread_sliding(rows, run, g, dy, dx);
        return;
    }
    for (int ox = run->windows.first; ox < run->windows.end; ox++, dx += step) {
        average_spread(g, (struct span){0, rows}, (struct span){0, columns},
                       load(dy + ox * SIMD_BLOCK) * run->share, dx);
    }
}

SIMD_INLINE void average_spread_edge(const struct simd_plane *g, int oy, struct span windows,
                                     const float *dy, float *dx)
{
    struct span rows = taps_of(g, 0, oy);
    for (int ox = windows.first; ox < windows.end; ox++) {
        struct span columns = taps_of(g, 1, ox);
        average_spread(g, rows, columns, load(dy + ox * SIMD_BLOCK) * share_of(g, rows, columns),
                       dx + window_at(g, oy, ox));
    }
}

void SIMD_NAME(average_pool_gradient)(const struct simd_plane *g, const float *dy, bool add,
                                      float *dx)
{
    int cleared = 0;
    for (int oy = 0; oy < g->oh; oy++, dy += (size_t)g->ow * SIMD_BLOCK) {
        struct average_run run = average_run_of(g, oy);
        cleared = clear_rows(g, add, cleared, rows_until(g, oy), dx);
        BY_TAPS(&run, average_spread_inside, g, dy, dx);
        average_spread_edge(g, oy, (struct span){0, run.windows.first}, dy, dx);
        average_spread_edge(g, oy, (struct span){run.windows.end, g->ow}, dy, dx);
    }
    clear_rows(g, add, cleared, g->h, dx);
}
