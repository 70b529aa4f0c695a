// SPDX-License-Identifier: Apache-2.0
// Which elements a dropout keeps: the one place that says it, so that backends agree bit for bit.
// Pure; any thread.
#ifndef KERNEL_DROPOUT_RULE_H
#define KERNEL_DROPOUT_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

// The draws of one sample in one dropout.
static inline uint64_t kernel_dropout_stream(uint64_t row_key, uint64_t salt)
{
    return base_key(row_key, salt);
}

// `element` is (c·height + h)·width + w of the sample, whatever the layout. 24 bits are what a
// float holds exactly.
static inline bool kernel_dropout_keep(uint64_t stream, uint64_t element, float rate)
{
    return (float)(base_random_at(stream, element) >> 40) * 0x1p-24f >= rate;
}

#endif
