// SPDX-License-Identifier: Apache-2.0
#include "data/moments.h"

#include <math.h>

void data_moments_add(struct data_moments *moments, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        moments->counts[bytes[i]]++;
    }
}

void data_moments_get(const struct data_moments *moments, float *mean, float *std)
{
    double n = 0, sum = 0, squares = 0;
    for (int value = 0; value < 256; value++) {
        double count = (double)moments->counts[value];
        n += count;
        sum += count * value;
        squares += count * value * value;
    }
    double average = n > 0 ? sum / n : 0;
    double variance = n > 0 ? squares / n - average * average : 0;
    *mean = (float)(average / 255);
    *std = variance > 1e-6 ? (float)(sqrt(variance) / 255) : 1.0f;
}
