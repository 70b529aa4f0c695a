// SPDX-License-Identifier: Apache-2.0
#include "data/sampler.h"

#include "base/random.h"

// Keeps the order of an epoch and the randomness of its samples apart, though both come from (seed,
// epoch).
enum purpose { PURPOSE_ORDER = 1, PURPOSE_SAMPLE = 2 };

static uint64_t pass_key(const struct data_sampler *sampler, enum purpose purpose, uint64_t epoch,
                         uint64_t pass)
{
    uint64_t key = base_key(base_key(sampler->seed, purpose), epoch);
    return pass == 0 ? key : base_key(key, pass);
}

struct data_draw data_sampler_at(const struct data_sampler *sampler, uint64_t epoch,
                                 uint64_t position)
{
    uint64_t pass = position / sampler->count, sample = position % sampler->count;
    if (sampler->shuffled) {
        sample =
            base_permute(pass_key(sampler, PURPOSE_ORDER, epoch, pass), sampler->count, sample);
    }
    return (struct data_draw){
        .sample = sample,
        .key = base_key(pass_key(sampler, PURPOSE_SAMPLE, epoch, pass), sample),
    };
}
