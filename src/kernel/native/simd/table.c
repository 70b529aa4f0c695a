// SPDX-License-Identifier: Apache-2.0
// The table of one instruction set.
#include "kernel/native/simd/vector.h"

extern const struct simd_kernels SIMD_NAME(kernels);

#if defined(__FMA__)
enum { FUSED = true };
#else
enum { FUSED = false };
#endif

const struct simd_kernels SIMD_NAME(kernels) = {.block = SIMD_BLOCK,
                                                .fused = FUSED,
#define X(name) .name = SIMD_NAME(name),
                                                SIMD_TABLE_ENTRIES(X)
#undef X
};
