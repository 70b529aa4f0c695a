// SPDX-License-Identifier: Apache-2.0
// Into which buckets an array is cut, and which node adds up which of them. Pure.
#ifndef EXCHANGE_BUCKETS_H
#define EXCHANGE_BUCKETS_H

#include <stddef.h>

// How many of `left` elements the next bucket takes: at most `largest`, and ever fewer towards the
// end. The last bucket is ready when computing is over, and all nodes wait while it travels.
size_t exchange_bucket_next(size_t left, size_t largest);
// How many buckets `count` elements make.
size_t exchange_buckets(size_t count, size_t largest);
// Shares out buckets of `sizes` [buckets] among nodes by their weights [nodes] (NULL or no weight
// above 0: all alike), so that neighbouring buckets have different owners where possible. `owners`
// is [buckets]; `scratch` is [nodes].
void exchange_owners(size_t buckets, const size_t *sizes, const double *weights, int nodes,
                     double *scratch, int *owners);

#endif
