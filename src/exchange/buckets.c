// SPDX-License-Identifier: Apache-2.0
#include "exchange/buckets.h"

enum {
    SMALLEST_SHARE = 16
}; // of the largest bucket: in a smaller one the message costs more than its numbers

size_t exchange_bucket_next(size_t left, size_t largest)
{
    size_t smallest = (largest + SMALLEST_SHARE - 1) / SMALLEST_SHARE, size = (left + 1) / 2;
    size = size > largest ? largest : size < smallest ? smallest : size;
    return size < left ? size : left;
}

size_t exchange_buckets(size_t count, size_t largest)
{
    size_t buckets = 0;
    for (; count > 0; buckets++) {
        count -= exchange_bucket_next(count, largest);
    }
    return buckets;
}

static double weight_of(const double *weights, int node)
{
    return !weights ? 1 : weights[node] > 0 ? weights[node] : 0;
}

// For every bucket each node's claim grows by its share of the bucket, and the node with the
// largest claim takes it. The node that took the bucket before must be ahead by half a bucket to
// take this one, too.
void exchange_owners(size_t buckets, const size_t *sizes, const double *weights, int nodes,
                     double *scratch, int *owners)
{
    double total = 0;
    for (int i = 0; i < nodes; i++) {
        scratch[i] = 0;
        total += weight_of(weights, i);
    }
    if (!(total > 0)) {
        weights = NULL;
        total = nodes;
    }
    int last = -1;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        int best = -1;
        double best_claim = 0, size = (double)sizes[bucket];
        for (int i = 0; i < nodes; i++) {
            scratch[i] += size * weight_of(weights, i) / total;
            double claim = scratch[i] - (i == last ? 0.5 * size : 0);
            if (weight_of(weights, i) > 0 && (best < 0 || claim > best_claim)) {
                best = i;
                best_claim = claim;
            }
        }
        scratch[best] -= size;
        owners[bucket] = last = best;
    }
}
