// SPDX-License-Identifier: Apache-2.0
// Which elements a dropout keeps: the one place that says it, so that backends agree bit for bit.
// Pure; any thread.
#ifndef KERNEL_DROPOUT_RULE_H
#define KERNEL_DROPOUT_RULE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

// The draws of one sample in one dropout.
static inline uint64_t kernel_dropout_stream(uint64_t row_key, uint64_t salt)
{
    return base_key(row_key, salt);
}

// Words below this are dropped: a share of `rate` of all 24-bit numbers, which a float holds
// exactly.
static inline uint64_t kernel_dropout_threshold(float rate)
{
    return (uint64_t)ceilf(rate * 0x1p24f) << 40;
}

// `element` is (c·height + h)·width + w of the sample, whatever the layout.
static inline bool kernel_dropout_keep(uint64_t stream, uint64_t element, uint64_t threshold)
{
    return base_random_at(stream, element) >= threshold;
}

#endif
