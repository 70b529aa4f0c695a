// SPDX-License-Identifier: Apache-2.0
// The table of one instruction set.
#include "kernel/onednn/simd/vector.h"

extern const struct simd_kernels SIMD_NAME(kernels);

const struct simd_kernels SIMD_NAME(kernels) = {.block = SIMD_BLOCK,
#ifdef __FMA__
                                                .fused = true,
#endif
#define X(name) .name = SIMD_NAME(name),
                                                SIMD_TABLE_ENTRIES(X)
#undef X
};
