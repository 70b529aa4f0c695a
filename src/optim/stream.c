// SPDX-License-Identifier: Apache-2.0
#include "optim/stream.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE__
#include <xmmintrin.h>

enum { LANES = 4 };

void optim_stream(const float *from, size_t count, float *restrict to)
{
    size_t i = 0;
    for (; i < count && (uintptr_t)(to + i) % sizeof(__m128) != 0; i++) {
        to[i] = from[i];
    }
    for (; i + LANES <= count; i += LANES) {
        _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
    }
    for (; i < count; i++) {
        to[i] = from[i];
    }
}

void optim_stream_end(void)
{
    _mm_sfence();
}

#else

void optim_stream(const float *from, size_t count, float *restrict to)
{
    memcpy(to, from, count * sizeof(float));
}

void optim_stream_end(void)
{
}

#endif
