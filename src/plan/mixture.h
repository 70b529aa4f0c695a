// SPDX-License-Identifier: Apache-2.0
// How an epoch mixes its sources: the public set and each node's private one. All of them are spread
// evenly over the epoch, so that every step holds its share of each, and every sample comes exactly
// once. A function of the counts alone: every node computes the same without a message. Pure.
#ifndef PLAN_MIXTURE_H
#define PLAN_MIXTURE_H

#include <stdint.h>

// Of the first `position` samples of the epoch, how many come from each source: taken[i] of
// counts[i]. Their sum is `position` (at most the sum of counts), and none ever falls as `position`
// grows.
void plan_mixture_at(const int64_t counts[], int sources, int64_t position, int64_t taken[]);

#endif
