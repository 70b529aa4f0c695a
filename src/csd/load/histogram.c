// SPDX-License-Identifier: Apache-2.0
#include "csd/load/histogram.h"

enum { STEP_BITS = 5 };

static int bucket_of(uint64_t ns)
{
    if (ns < HISTOGRAM_STEPS) {
        return (int)ns;
    }
    int top = 63 - __builtin_clzll(ns);
    int step = (int)(ns >> (top - STEP_BITS)) & (HISTOGRAM_STEPS - 1);
    return (top - STEP_BITS + 1) * HISTOGRAM_STEPS + step;
}

// The largest time of a bucket.
static uint64_t end_of(int bucket)
{
    if (bucket < HISTOGRAM_STEPS) {
        return (uint64_t)bucket;
    }
    int shift = bucket / HISTOGRAM_STEPS - 1;
    uint64_t step = (uint64_t)(bucket % HISTOGRAM_STEPS) + HISTOGRAM_STEPS;
    return ((step + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
    histogram->counts[bucket_of(ns)]++;
    histogram->total++;
    histogram->max_ns = ns > histogram->max_ns ? ns : histogram->max_ns;
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
    double wanted = (double)histogram->total * percent / 100;
    uint64_t seen = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS && histogram->total > 0; i++) {
        seen += histogram->counts[i];
        if (seen > 0 && (double)seen >= wanted) {
            uint64_t end = end_of(i);
            return end < histogram->max_ns ? end : histogram->max_ns;
        }
    }
    return histogram->max_ns;
}
