// SPDX-License-Identifier: Apache-2.0
// Who reads what: the order of an epoch. Every sample exactly once, in a keyed permutation of
// (seed, epoch); a share of a step is a slice of positions. Pure.
#ifndef DATA_SAMPLER_H
#define DATA_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct data_sampler {
    uint64_t seed;
    uint64_t count; // samples in the split
    bool shuffled;  // false: position is sample (evaluation)
};

uint64_t data_sampler_at(const struct data_sampler *sampler, uint64_t epoch, uint64_t position);
// The key of all that is random about a sample in an epoch: augmentation, dropout.
uint64_t data_sampler_key(const struct data_sampler *sampler, uint64_t epoch, uint64_t sample);

#endif
