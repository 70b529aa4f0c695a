// SPDX-License-Identifier: Apache-2.0
#include "data/sampler.h"

#include "base/random.h"

// Keeps the order of an epoch and the randomness of its samples apart, though both come from (seed,
// epoch).
enum purpose { PURPOSE_ORDER = 1, PURPOSE_SAMPLE = 2 };

static uint64_t epoch_key(const struct data_sampler *sampler, enum purpose purpose, uint64_t epoch)
{
    return base_key(base_key(sampler->seed, purpose), epoch);
}

uint64_t data_sampler_at(const struct data_sampler *sampler, uint64_t epoch, uint64_t position)
{
    if (!sampler->shuffled) {
        return position;
    }
    return base_permute(epoch_key(sampler, PURPOSE_ORDER, epoch), sampler->count, position);
}

uint64_t data_sampler_key(const struct data_sampler *sampler, uint64_t epoch, uint64_t sample)
{
    return base_key(epoch_key(sampler, PURPOSE_SAMPLE, epoch), sample);
}
