// SPDX-License-Identifier: Apache-2.0
// Sums of floats in double. A float has 24 bits and a double 53: as long as no addend is 2^23 times
// smaller than another, a sum of 64 of them is exact, in any order and grouping. Otherwise the
// double is wrong in its last bit, 2^-29 of the float's, which hardly ever shows in the float.
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

// ---- loops -------------------------------------------------------------------------------------

// Nothing but additions and conversions happens, so all CPUs get the same bits.
enum act { FIRST, TAKE, GIVE };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void run_loop(enum act act, double *restrict sums, float *restrict array,
                            size_t count)
{
    for (size_t i = 0; act == FIRST && i < count; i++) {
        sums[i] = array[i];
        array[i] = 0.0F;
    }
    for (size_t i = 0; act == TAKE && i < count; i++) {
        sums[i] += array[i];
        array[i] = 0.0F;
    }
    for (size_t i = 0; act == GIVE && i < count; i++) {
        array[i] = (float)(sums[i] + array[i]);
    }
}

typedef void loop(enum act act, double *restrict sums, float *restrict array, size_t count);

static void run_plain(enum act act, double *restrict sums, float *restrict array, size_t count)
{
    run_loop(act, sums, array, count);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void run_avx2(enum act act, double *restrict sums,
                                                     float *restrict array, size_t count)
{
    run_loop(act, sums, array, count);
}
#endif

static loop *choose(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        return run_avx2;
    }
#endif
    return run_plain;
}

static void run(const struct exchange_carry *carry, enum act act, size_t from, size_t end)
{
    choose()(act, carry->sums + from, carry->array + from, end - from);
}

void exchange_carry_take(const struct exchange_carry *carry, size_t from, size_t end, bool first)
{
    run(carry, first ? FIRST : TAKE, from, end);
}

void exchange_carry_give(const struct exchange_carry *carry, size_t from, size_t end)
{
    run(carry, GIVE, from, end);
}
