// SPDX-License-Identifier: Apache-2.0
// How an epoch mixes its sources: the public set and each node's private one. All of them are
// spread evenly over the epoch, so that every step holds its share of each, and every sample comes
// exactly once. A function of the counts alone: every node computes the same without a message.
// Pure.
//
// Sample k of a source of c has its place at (2k+1)/2c of the epoch, which runs from 0 to 1; the
// epoch is all of them in the order of their places, a tie going to the lower source. So a source
// is never more than half a sample away from count·time, and with S sources that are not empty
//
//     |taken − position·count/total|  ≤  ½ + (S − 2)/2 · count/total
//
// Counts are at most 2^40 each.
#ifndef PLAN_MIXTURE_H
#define PLAN_MIXTURE_H

#include <stdint.h>

__extension__ typedef unsigned __int128 plan_wide;

// Of the first `position` samples of the epoch, how many come from each source: taken[i] of
// counts[i]. Their sum is `position` (at most the sum of counts), and none ever falls as `position`
// grows.
void plan_mixture_at(const int64_t counts[], int sources, int64_t position, int64_t taken[]);

// plan_mixture_at for callers that keep the result elsewhere: find the cut, then ask for the
// sources one after the other, from the first to the last.
struct plan_mixture_cut {
    int bits;       // time is in units of 2^−bits
    plan_wide time; // all places before it are taken
    int64_t ties;   // and so many of those at it
};
struct plan_mixture_cut plan_mixture_find(const int64_t counts[], int sources, int64_t position);
int64_t plan_mixture_next(struct plan_mixture_cut *cut, int64_t count);

#endif
