// SPDX-License-Identifier: Apache-2.0
// Which pieces an array is cut into, and who adds up which. Pure.
#ifndef EXCHANGE_BUCKETS_H
#define EXCHANGE_BUCKETS_H

#include <stddef.h>

// How many of `left` elements the next bucket takes: at most `largest`, and towards the end ever
// fewer, for what the last bucket holds is ready last, and nobody computes while it travels.
size_t exchange_bucket_next(size_t left, size_t largest);
// How many buckets `count` elements make.
size_t exchange_buckets(size_t count, size_t largest);
// Shares buckets out among nodes as their weights say (NULL or no weight above 0: all alike), by
// their sizes [buckets], and so that neighbours differ where they can. `owners` is [buckets];
// `scratch` is [nodes].
void exchange_owners(size_t buckets, const size_t *sizes, const double *weights, int nodes,
                     double *scratch, int *owners);

#endif
