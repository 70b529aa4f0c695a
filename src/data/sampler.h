// SPDX-License-Identifier: Apache-2.0
// The order of an epoch: which sample stands at which position. Every sample exactly once, in a
// keyed permutation of (seed, epoch); a share of a step is a slice of positions. Pure.
//
// Positions beyond the last sample begin a further pass over the same samples within the epoch: in
// another order, and with other randomness.
#ifndef DATA_SAMPLER_H
#define DATA_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct data_sampler {
    uint64_t seed;
    uint64_t count; // samples in the subset, of a pass
    bool shuffled;  // false: position is sample (evaluation)
};

struct data_draw {
    uint64_t sample;
    uint64_t key; // of all that is random about the sample this time: augmentation, dropout
};

struct data_draw data_sampler_at(const struct data_sampler *sampler, uint64_t epoch,
                                 uint64_t position);

#endif
