// SPDX-License-Identifier: Apache-2.0
// Activations and their masks, sums, fills and channel gathers of one channel block.
#include "kernel/dropout_rule.h"
#include "kernel/native/simd/vector.h"

SIMD_INLINE void activate(enum kernel_activation activation, const float *x, const float *other,
                          size_t pixels, float *y)
{
    if (other) {
        for (size_t i = 0; i < pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
            store(y + i, apply(load(x + i) + load(other + i), activation));
        }
    } else {
        for (size_t i = 0; i < pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
            store(y + i, apply(load(x + i), activation));
        }
    }
}

void SIMD_NAME(activate)(const float *x, const float *other, enum kernel_activation activation,
                         size_t pixels, float *y)
{
    SIMD_BY_ACTIVATION(activation, activate, x, other, pixels, y);
}

SIMD_INLINE void mask(enum kernel_activation activation, bool add, const float *dy, const float *y,
                      size_t pixels, float *dx)
{
    for (size_t i = 0; i < pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
        vec z = activation == KERNEL_LINEAR ? zero() : load(y + i);
        store_or_add(dx + i, masked(load(dy + i), z, activation), add);
    }
}

void SIMD_NAME(mask)(const float *dy, const float *y, enum kernel_activation activation,
                     size_t pixels, bool add, float *dx)
{
    if (add) {
        SIMD_BY_ACTIVATION(activation, mask, true, dy, y, pixels, dx);
    } else {
        SIMD_BY_ACTIVATION(activation, mask, false, dy, y, pixels, dx);
    }
}

SIMD_INLINE void mask_sum(enum kernel_activation activation, float *dy, const float *y,
                          size_t pixels, double *sum)
{
    for (size_t p = 0; p < pixels; p += SIMD_RUN) {
        vec total = zero();
        size_t last = pixels - p < SIMD_RUN ? pixels : p + SIMD_RUN;
        for (size_t i = p * SIMD_BLOCK; i < last * SIMD_BLOCK; i += SIMD_BLOCK) {
            vec dz = masked(load(dy + i), load(y + i), activation);
            store(dy + i, dz);
            total += dz;
        }
        add_to_doubles(total, sum);
    }
}

void SIMD_NAME(mask_sum)(float *dy, const float *y, enum kernel_activation activation,
                         size_t pixels, double *sum)
{
    SIMD_BY_ACTIVATION(activation, mask_sum, dy, y, pixels, sum);
}

void SIMD_NAME(sum)(const float *x, size_t pixels, double *sum)
{
    for (size_t p = 0; p < pixels; p += SIMD_RUN) {
        vec s0 = zero(), s1 = zero();
        size_t i = p * SIMD_BLOCK,
               end = (pixels - p < SIMD_RUN ? pixels : p + SIMD_RUN) * SIMD_BLOCK;
        for (; i + SIMD_BLOCK < end; i += 2 * SIMD_BLOCK) {
            s0 += load(x + i);
            s1 += load(x + i + SIMD_BLOCK);
        }
        if (i < end) {
            s0 += load(x + i);
        }
        add_to_doubles(s0 + s1, sum);
    }
}

void SIMD_NAME(fill)(const float *value, size_t pixels, bool add, float *dx)
{
    vec v = load(value);
    for (size_t i = 0; i < pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
        store_or_add(dx + i, v, add);
    }
}

void SIMD_NAME(drop)(const float *x, const uint8_t *kept, float scale, size_t pixels, bool add,
                     float *y)
{
    for (size_t i = 0; i < pixels * SIMD_BLOCK; i += SIMD_BLOCK) {
        bvec narrow;
        memcpy(&narrow, kept + i, sizeof(narrow));
        ivec open = -__builtin_convertvector(narrow, ivec);
        store_or_add(y + i, keep(load(x + i) * scale, open), add);
    }
}

void SIMD_NAME(draw)(uint64_t stream, uint64_t first, uint64_t threshold, int lanes, size_t pixels,
                     uint8_t *kept)
{
    uint8_t real[SIMD_BLOCK];
    for (int l = 0; l < SIMD_BLOCK; l++) {
        real[l] = l < lanes;
    }
    for (size_t p = 0; p < pixels; p++, kept += SIMD_BLOCK) {
        for (int l = 0; l < SIMD_BLOCK; l++) {
            uint64_t element = first + (uint64_t)l * pixels + p;
            kept[l] = real[l] & kernel_dropout_keep(stream, element, threshold);
        }
    }
}

void SIMD_NAME(gather)(const float *const *lanes, size_t stride, size_t pixels, bool add,
                       float *dst)
{
    static const float nothing;
    const float *from[SIMD_BLOCK];
    size_t step[SIMD_BLOCK];
    for (int l = 0; l < SIMD_BLOCK; l++) {
        from[l] = lanes[l] ? lanes[l] : &nothing;
        step[l] = lanes[l] ? stride : 0;
    }
    for (size_t p = 0; p < pixels; p++) {
        vec v = zero();
        for (int l = 0; l < SIMD_BLOCK; l++) {
            v[l] = from[l][p * step[l]];
        }
        store_or_add(dst + p * SIMD_BLOCK, v, add);
    }
}
