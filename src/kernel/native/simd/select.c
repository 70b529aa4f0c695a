// SPDX-License-Identifier: Apache-2.0
// Which of the tables built in this CPU can run.
#include <assert.h>

#include "kernel/native/simd/simd.h"

extern const struct simd_kernels simd_kernels_plain, simd_kernels_generic8;
#ifdef __x86_64__
extern const struct simd_kernels simd_kernels_avx2, simd_kernels_avx512;

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool simd_has_blocks_of_16(void)
{
    return has_avx512();
}

// Blocks of 16 are there for AVX-512 alone: oneDNN asks for them where it finds what we find here.
const struct simd_kernels *simd_kernels_for(int block)
{
    switch (block) {
    case 8: return has_avx2() ? &simd_kernels_avx2 : &simd_kernels_generic8;
    case 16: assert(has_avx512()); return &simd_kernels_avx512;
    default: assert(block == 1); return &simd_kernels_plain;
    }
}
#else
bool simd_has_blocks_of_16(void)
{
    return false;
}

const struct simd_kernels *simd_kernels_for(int block)
{
    assert(block == 1 || block == 8);
    return block == 8 ? &simd_kernels_generic8 : &simd_kernels_plain;
}
#endif
