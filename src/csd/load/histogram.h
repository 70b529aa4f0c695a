// SPDX-License-Identifier: Apache-2.0
// Times in buckets whose width is a thirty-second of their value.
#ifndef CSD_LOAD_HISTOGRAM_H
#define CSD_LOAD_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 32, HISTOGRAM_BUCKETS = 64 * HISTOGRAM_STEPS };

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS], total, max_ns;
};

void histogram_add(struct histogram *histogram, uint64_t ns);
// The time that `percent` of all were not above; 0 of none.
uint64_t histogram_percentile(const struct histogram *histogram, double percent);

#endif
