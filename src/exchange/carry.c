// SPDX-License-Identifier: Apache-2.0
// Sums of floats in double. A float has 24 bits and a double 53: as long as no addend is 2^23 times
// smaller than another, sums of 64 of them are exact, in any order and grouping. Where one is, the
// double's last bit is 2^-29 of the float's, and hardly ever shows in it.
#include <string.h>

#include "base/arena.h"
#include "exchange/state.h"

bool exchange_carry_alloc(struct exchange_carry *carry, float *array, size_t count)
{
    size_t bytes = (count ? count : 1) * sizeof(*carry->sums);
    *carry = (struct exchange_carry){.array = array, .count = count};
    carry->sums = base_pages_alloc(bytes);
    if (carry->sums) {
        memset(carry->sums, 0, bytes); // or the first step would wait for its pages
    }
    return carry->sums != NULL;
}

void exchange_carry_free(struct exchange_carry *carry)
{
    if (carry->sums) {
        base_pages_free(carry->sums, (carry->count ? carry->count : 1) * sizeof(*carry->sums));
    }
    carry->sums = NULL;
}

void exchange_carry_take(const struct exchange_carry *carry, size_t from, size_t end, bool first,
                         int threads)
{
    double *restrict sums = carry->sums;
    float *restrict array = carry->array;
    if (first) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
        for (size_t i = from; i < end; i++) {
            sums[i] = array[i];
            array[i] = 0.0F;
        }
        return;
    }
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (size_t i = from; i < end; i++) {
        sums[i] += array[i];
        array[i] = 0.0F;
    }
}

void exchange_carry_give(const struct exchange_carry *carry, int threads)
{
    const double *restrict sums = carry->sums;
    float *restrict array = carry->array;
    const size_t count = carry->count;
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (size_t i = 0; i < count; i++) {
        array[i] = (float)(sums[i] + array[i]);
    }
}
