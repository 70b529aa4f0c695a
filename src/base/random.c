// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <assert.h>
#include <math.h>

static const uint64_t golden = 0x9e3779b97f4a7c15u;

uint64_t base_key(uint64_t key, uint64_t value)
{
    return base_mix(base_mix(key + golden) ^ (value * golden + 0x632be59bd9b4e019u));
}

struct base_random base_random_from(uint64_t key)
{
    return (struct base_random){.key = key, .next = 0};
}

uint64_t base_random_u64(struct base_random *r)
{
    return base_random_at(r->key, r->next++);
}

uint64_t base_random_below(struct base_random *r, uint64_t bound)
{
    assert(bound >= 1);
    // Reject the few words that would favour small results.
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t word;
    do {
        word = base_random_u64(r);
    } while (word >= limit);
    return word % bound;
}

double base_random_unit(struct base_random *r)
{
    return (double)(base_random_u64(r) >> 11) * 0x1p-53;
}

double base_random_normal(struct base_random *r)
{
    const double two_pi = 6.283185307179586;
    double u = 1.0 - base_random_unit(r); // (0, 1]: the logarithm is finite
    double v = base_random_unit(r);
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}

// A four-round Feistel network permutes 0 … 4^k−1; values beyond count walk on along their cycle
// until they fall inside.
uint64_t base_permute(uint64_t key, uint64_t count, uint64_t position)
{
    assert(position < count);
    unsigned half_bits = 1;
    while (half_bits < 32 && (UINT64_C(1) << (2 * half_bits)) < count) {
        half_bits++;
    }
    uint64_t mask = (UINT64_C(1) << half_bits) - 1;
    uint64_t value = position;
    do {
        uint64_t left = value >> half_bits, right = value & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (base_random_at(base_key(key, round), right) & mask);
            left = right;
            right = next;
        }
        value = (left << half_bits) | right;
    } while (value >= count);
    return value;
}
