// SPDX-License-Identifier: Apache-2.0
// Mean and standard deviation of byte values, exactly: whatever the order of adding, the result is
// the same.
#ifndef DATA_MOMENTS_H
#define DATA_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

// Zero-initialise.
struct data_moments {
    uint64_t counts[256]; // of each byte value
};

void data_moments_add(struct data_moments *moments, const uint8_t *bytes, size_t count);
// Of values scaled to 0…1. Where all values are alike the deviation is 1, so that dividing by it is
// harmless.
void data_moments_get(const struct data_moments *moments, float *mean, float *std);

#endif
