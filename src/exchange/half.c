// SPDX-License-Identifier: Apache-2.0
#include "exchange/half.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { TOP_EXPONENT = 15, SCALE_EXPONENT_MAX = 126 };

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

int exchange_half_exponent(const float *x, size_t count)
{
    int32_t top_bits = 0; // magnitudes are ordered as their bits are; a NaN is above all
    for (size_t i = 0; i < count; i++) {
        int32_t magnitude = (int32_t)(bits_of(x[i]) & 0x7fffffff);
        top_bits = magnitude > top_bits ? magnitude : top_bits;
    }
    float top = float_of((uint32_t)top_bits);
    if (top == 0 || !isfinite(top)) {
        return 0;
    }
    int exponent;
    (void)frexpf(top, &exponent);
    exponent = TOP_EXPONENT - exponent;
    return exponent < SCALE_EXPONENT_MAX ? exponent : SCALE_EXPONENT_MAX;
}

// All three cases are computed and one is chosen, so that the compiler can do it for many at once.
static inline uint16_t encode_one(float x)
{
    uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    uint32_t odd = magnitude >> 13 & 1;
    uint32_t normal = (magnitude - (112U << 23) + 0xfff + odd) >> 13;
    // Beside 0.5 a float has as many fraction bits as a subnormal half: the addition rounds.
    uint32_t tiny = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
    uint32_t half = magnitude < 113U << 23 ? tiny : magnitude < 143U << 23 ? normal : special;
    return (uint16_t)(sign | half);
}

static inline float decode_one(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    uint32_t normal = (magnitude << 13) + (112U << 23);
    uint32_t tiny = bits_of(float_of((magnitude << 13) + (113U << 23)) - float_of(113U << 23));
    uint32_t special = normal + (112U << 23);
    uint32_t bits = magnitude < 0x400 ? tiny : magnitude < 0x7c00 ? normal : special;
    return float_of(sign | bits);
}

void exchange_half_encode_plain(const float *x, size_t count, int exponent, uint16_t *out)
{
    float scale = ldexpf(1, exponent);
    for (size_t i = 0; i < count; i++) {
        out[i] = encode_one(x[i] * scale);
    }
}

void exchange_half_decode_plain(const uint16_t *half, size_t count, int exponent, float *out)
{
    float scale = ldexpf(1, -exponent);
    for (size_t i = 0; i < count; i++) {
        out[i] = decode_one(half[i]) * scale;
    }
}

static void add_plain(const uint16_t *half, size_t count, int exponent, float *sum)
{
    float scale = ldexpf(1, -exponent);
    for (size_t i = 0; i < count; i++) {
        sum[i] += decode_one(half[i]) * scale;
    }
}

#ifdef __x86_64__
#define F16C __attribute__((target("avx,f16c")))

// CPUs with AVX2 have F16C too; clang 14 cannot ask for that itself.
static bool has_f16c(void)
{
    return __builtin_cpu_supports("avx2");
}

// These do whole eights and return how many elements that was.
F16C static size_t encode_eights(const float *x, size_t count, int exponent, uint16_t *out)
{
    __m256 scale = _mm256_set1_ps(ldexpf(1, exponent));
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x + i), scale);
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(scaled, _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}

F16C static __m256 decode_eight(const uint16_t *half, __m256 scale)
{
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)half)), scale);
}

F16C static size_t decode_eights(const uint16_t *half, size_t count, int exponent, float *out)
{
    __m256 scale = _mm256_set1_ps(ldexpf(1, -exponent));
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        _mm256_storeu_ps(out + i, decode_eight(half + i, scale));
    }
    return i;
}

F16C static size_t add_eights(const uint16_t *half, size_t count, int exponent, float *sum)
{
    __m256 scale = _mm256_set1_ps(ldexpf(1, -exponent));
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 before = _mm256_loadu_ps(sum + i);
        _mm256_storeu_ps(sum + i, _mm256_add_ps(before, decode_eight(half + i, scale)));
    }
    return i;
}
#else
static bool has_f16c(void)
{
    return false;
}
#define encode_eights(x, count, exponent, out)    0
#define decode_eights(half, count, exponent, out) 0
#define add_eights(half, count, exponent, sum)    0
#endif

void exchange_half_encode(const float *x, size_t count, int exponent, uint16_t *out)
{
    size_t done = has_f16c() ? encode_eights(x, count, exponent, out) : 0;
    exchange_half_encode_plain(x + done, count - done, exponent, out + done);
}

void exchange_half_decode(const uint16_t *half, size_t count, int exponent, float *out)
{
    size_t done = has_f16c() ? decode_eights(half, count, exponent, out) : 0;
    exchange_half_decode_plain(half + done, count - done, exponent, out + done);
}

void exchange_half_add(const uint16_t *half, size_t count, int exponent, float *sum)
{
    size_t done = has_f16c() ? add_eights(half, count, exponent, sum) : 0;
    add_plain(half + done, count - done, exponent, sum + done);
}
