// SPDX-License-Identifier: Apache-2.0
// Which pieces an array is cut into, and who adds up which. Pure.
#ifndef EXCHANGE_BUCKETS_H
#define EXCHANGE_BUCKETS_H

#include <stddef.h>

// How many buckets of at most bucket_count elements `count` elements make.
size_t exchange_buckets(size_t count, size_t bucket_count);
// Shares `buckets` out among nodes as their weights say (NULL or no weight above 0: all alike), to
// the nearest whole number, and so that neighbours differ where they can. `owners` is [buckets];
// `scratch` is [nodes].
void exchange_owners(size_t buckets, const double *weights, int nodes, double *scratch,
                     int *owners);

#endif
