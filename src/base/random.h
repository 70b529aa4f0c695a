// SPDX-License-Identifier: Apache-2.0
// Randomness without state that travels: every draw is a function of what it is for (seed, epoch,
// sample, …), so it does not matter which node, thread or step makes it. Pure; any thread.
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

// Mixes a value into a key; chain it: base_key(base_key(seed, epoch), sample).
uint64_t base_key(uint64_t key, uint64_t value);
// The finaliser of SplitMix64: every input bit reaches every output bit.
static inline uint64_t base_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// The index-th random word of a key. Here, so that loops over it become vector code.
static inline uint64_t base_random_at(uint64_t key, uint64_t index)
{
    return base_mix(key + (index + 1) * 0x9e3779b97f4a7c15u);
}

// A stream of draws from one key.
struct base_random {
    uint64_t key, next;
};

struct base_random base_random_from(uint64_t key);
uint64_t base_random_u64(struct base_random *r);
// Uniform in [0, bound); bound ≥ 1.
uint64_t base_random_below(struct base_random *r, uint64_t bound);
double base_random_unit(struct base_random *r);   // uniform in [0, 1)
double base_random_normal(struct base_random *r); // mean 0, variance 1

// Position → element of a keyed permutation of 0 … count−1: constant memory, constant expected
// time.
uint64_t base_permute(uint64_t key, uint64_t count, uint64_t position);

#endif
