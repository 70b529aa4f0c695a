// SPDX-License-Identifier: Apache-2.0
// Batch normalisation of one channel block, forward and backward.
#include "kernel/native/simd/vector.h"

SIMD_INLINE size_t run_length(size_t from, size_t pixels)
{
    return pixels - from < SIMD_RUN ? pixels - from : SIMD_RUN;
}

SIMD_INLINE vec run_sum(const float *x, size_t pixels)
{
    vec s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
    size_t p = 0;
    for (; p + 4 <= pixels; p += 4, x += 4 * SIMD_BLOCK) {
        s0 += load(x);
        s1 += load(x + SIMD_BLOCK);
        s2 += load(x + 2 * SIMD_BLOCK);
        s3 += load(x + 3 * SIMD_BLOCK);
    }
    for (; p < pixels; p++, x += SIMD_BLOCK) {
        s0 += load(x);
    }
    return (s0 + s1) + (s2 + s3);
}

SIMD_INLINE vec run_squares(const float *x, vec mean, size_t pixels)
{
    vec s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
    size_t p = 0;
    for (; p + 4 <= pixels; p += 4, x += 4 * SIMD_BLOCK) {
        vec d0 = load(x) - mean, d1 = load(x + SIMD_BLOCK) - mean;
        vec d2 = load(x + 2 * SIMD_BLOCK) - mean, d3 = load(x + 3 * SIMD_BLOCK) - mean;
        s0 += d0 * d0;
        s1 += d1 * d1;
        s2 += d2 * d2;
        s3 += d3 * d3;
    }
    for (; p < pixels; p++, x += SIMD_BLOCK) {
        vec d = load(x) - mean;
        s0 += d * d;
    }
    return (s0 + s1) + (s2 + s3);
}

// Runs of pixels that stay in the first-level cache are swept twice (mean, then squares about it)
// and merged.
void SIMD_NAME(moments)(const float *x, size_t pixels, double *mean, double *m2)
{
    dvec all_mean = {0}, all_m2 = {0};
    for (size_t p = 0; p < pixels;) {
        size_t count = run_length(p, pixels);
        vec run_mean = run_sum(x + p * SIMD_BLOCK, count) / (float)count;
        vec run_m2 = run_squares(x + p * SIMD_BLOCK, run_mean, count);
        double share = (double)count / (double)(p + count), weight = share * (double)p;
        dvec delta = widen(run_mean) - all_mean;
        all_mean += delta * share;
        all_m2 += widen(run_m2) + delta * delta * weight;
        p += count;
    }
    store_doubles(mean, all_mean);
    store_doubles(m2, all_m2);
}

SIMD_INLINE void normalise(enum kernel_activation activation, const float *x, const float *residual,
                           const float *scale, const float *shift, size_t pixels, float *y)
{
    vec a = load(scale), b = load(shift);
    for (size_t i = 0; i < pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
        vec z = load(x + i) * a + b;
        store(y + i, apply(residual ? z + load(residual + i) : z, activation));
    }
}

void SIMD_NAME(normalise)(const float *x, const float *residual, const float *scale,
                          const float *shift, enum kernel_activation activation, size_t pixels,
                          float *y)
{
    SIMD_BY_ACTIVATION(activation, normalise, x, residual, scale, shift, pixels, y);
}

// dz of one pixel at offset i.
SIMD_INLINE vec masked_at(enum kernel_activation activation, bool from_y, const float *dy, vec x,
                          const float *y, vec scale, vec shift, size_t i)
{
    if (activation == KERNEL_LINEAR) {
        return load(dy + i);
    }
    return masked(load(dy + i), from_y ? load(y + i) : x * scale + shift, activation);
}

SIMD_INLINE void sums(enum kernel_activation activation, bool from_y, const float *dy,
                      const float *x, vec mean, const struct simd_mask *m, size_t pixels,
                      double *sum_dz, double *sum_dz_x)
{
    vec scale = load(m->scale), shift = load(m->shift);
    for (size_t p = 0; p < pixels;) {
        size_t i = p * SIMD_BLOCK, count = run_length(p, pixels), end = i + count * SIMD_BLOCK;
        vec s0 = zero(), s1 = zero(), t0 = zero(), t1 = zero();
        for (; i + SIMD_BLOCK < end; i += 2 * SIMD_BLOCK) {
            vec x0 = load(x + i), x1 = load(x + i + SIMD_BLOCK);
            vec d0 = masked_at(activation, from_y, dy, x0, m->y, scale, shift, i);
            vec d1 = masked_at(activation, from_y, dy, x1, m->y, scale, shift, i + SIMD_BLOCK);
            s0 += d0;
            s1 += d1;
            t0 += d0 * (x0 - mean);
            t1 += d1 * (x1 - mean);
        }
        if (i < end) {
            vec x0 = load(x + i), d0 = masked_at(activation, from_y, dy, x0, m->y, scale, shift, i);
            s0 += d0;
            t0 += d0 * (x0 - mean);
        }
        add_to_doubles(s0 + s1, sum_dz);
        add_to_doubles(t0 + t1, sum_dz_x);
        p += count;
    }
}

void SIMD_NAME(normalise_sums)(const float *dy, const float *x, const float *mean,
                               struct simd_mask mask, size_t pixels, double *sum_dz,
                               double *sum_dz_x)
{
    vec centre = load(mean);
    if (mask.y) {
        SIMD_BY_ACTIVATION(mask.activation, sums, true, dy, x, centre, &mask, pixels, sum_dz,
                           sum_dz_x);
    } else {
        SIMD_BY_ACTIVATION(mask.activation, sums, false, dy, x, centre, &mask, pixels, sum_dz,
                           sum_dz_x);
    }
}

SIMD_INLINE void gradient(enum kernel_activation activation, bool from_y, bool add, const float *dy,
                          const float *x, const struct simd_line *line, const struct simd_mask *m,
                          size_t pixels, float *dx)
{
    vec scale = load(m->scale), shift = load(m->shift);
    vec mean = load(line->mean), a = load(line->a), b = load(line->b), c = load(line->c);
    for (size_t i = 0; i < pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
        vec value = load(x + i);
        vec dz = masked_at(activation, from_y, dy, value, m->y, scale, shift, i);
        store_or_add(dx + i, a * dz + (b * (value - mean) + c), add);
    }
}

void SIMD_NAME(normalise_gradient)(const float *dy, const float *x, struct simd_line line,
                                   struct simd_mask mask, size_t pixels, bool add, float *dx)
{
    enum kernel_activation act = mask.activation;
    if (mask.y && add) {
        SIMD_BY_ACTIVATION(act, gradient, true, true, dy, x, &line, &mask, pixels, dx);
    } else if (mask.y) {
        SIMD_BY_ACTIVATION(act, gradient, true, false, dy, x, &line, &mask, pixels, dx);
    } else if (add) {
        SIMD_BY_ACTIVATION(act, gradient, false, true, dy, x, &line, &mask, pixels, dx);
    } else {
        SIMD_BY_ACTIVATION(act, gradient, false, false, dy, x, &line, &mask, pixels, dx);
    }
}
