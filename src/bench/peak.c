// SPDX-License-Identifier: Apache-2.0
// One loop an instruction set, chosen at run time. An FMA unit takes ~4 cycles and there are two of
// them, so eight independent sums at least must be under way; twelve leave some slack and still fit
// the registers.
#include "bench/peak.h"

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { SUMS = 12, TRIES = 5 };

static const int64_t rounds = 4 * 1000 * 1000; // ~10 ms

// Runs `count` rounds of SUMS vector multiply-adds; the result only keeps the compiler from
// dropping them.
typedef float burn_fn(int64_t count);

// The body of each: the sums stay in registers because the loops over them are unrolled whole.
// clang-format off
#define BURN_BODY(vector, splat, fma, lane)                                     \
    vector sums[SUMS];                                                          \
    const vector a = splat(0.999f), b = splat(0.01f);                           \
    for (int i = 0; i < SUMS; i++) { sums[i] = splat((float)i); }               \
    for (int64_t n = 0; n < count; n++) {                                       \
        _Pragma("GCC unroll 12")                                                \
        for (int i = 0; i < SUMS; i++) { sums[i] = fma(sums[i], a, b); }        \
    }                                                                           \
    vector total = sums[0];                                                     \
    for (int i = 1; i < SUMS; i++) { total = fma(sums[i], a, total); }          \
    return lane(total);
// clang-format on

#if defined(__x86_64__)

__attribute__((target("avx512f"))) static float burn_avx512(int64_t count)
{
    BURN_BODY(__m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_cvtss_f32)
}

__attribute__((target("avx2,fma"))) static float burn_avx2(int64_t count)
{
    BURN_BODY(__m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_cvtss_f32)
}

static __m128 multiply_add_sse(__m128 x, __m128 a, __m128 b)
{
    return _mm_add_ps(_mm_mul_ps(x, a), b);
}

static float burn_plain(int64_t count)
{
    BURN_BODY(__m128, _mm_set1_ps, multiply_add_sse, _mm_cvtss_f32)
}

static burn_fn *burn_choose(int *lanes)
{
    if (__builtin_cpu_supports("avx512f")) {
        *lanes = 16;
        return burn_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *lanes = 8;
        return burn_avx2;
    }
    *lanes = 4;
    return burn_plain;
}

#elif defined(__aarch64__)

static float32x4_t multiply_add_neon(float32x4_t x, float32x4_t a, float32x4_t b)
{
    return vfmaq_f32(b, x, a);
}

static float first_lane_neon(float32x4_t x)
{
    return vgetq_lane_f32(x, 0);
}

static float burn_neon(int64_t count)
{
    BURN_BODY(float32x4_t, vdupq_n_f32, multiply_add_neon, first_lane_neon)
}

static burn_fn *burn_choose(int *lanes)
{
    *lanes = 4;
    return burn_neon;
}

#else

static float same(float x)
{
    return x;
}

static float multiply_add(float x, float a, float b)
{
    return x * a + b;
}

static float burn_plain(int64_t count)
{
    BURN_BODY(float, same, multiply_add, same)
}

static burn_fn *burn_choose(int *lanes)
{
    *lanes = 1;
    return burn_plain;
}

#endif

double bench_peak_gflops(int threads)
{
    int lanes;
    burn_fn *burn = burn_choose(&lanes);
    double flops = 2.0 * lanes * SUMS * (double)rounds * threads, best = 0.0;
    volatile float kept = 0.0f;
    for (int try = 0; try < TRIES; try++) {
        float sum = 0.0f;
        double begin = base_clock_seconds();
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        sum += burn(rounds);
        double seconds = base_clock_seconds() - begin;
        kept = kept + sum;
        double gflops = flops / seconds * 1e-9;
        best = gflops > best ? gflops : best;
    }
    return best;
}
