// SPDX-License-Identifier: Apache-2.0
// --batch auto: the smallest global batch at which the cluster is predicted to be efficient enough.
// Larger ones waste less on what a step costs whatever its size (fixed times, reduction, rounding
// to micro-batches), but learn less from an epoch; hence the smallest, and limits. Pure.
#ifndef PLAN_BATCH_H
#define PLAN_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/greedy.h"
#include "plan/node.h"

// Where the defaults come from. Up to 8192 linear scaling with warm-up loses no accuracy (Goyal et
// al., ImageNet). A small set must still give an epoch some steps, or the schedule has nothing to
// work with: 50. And fewer than 32 samples make a noisy gradient dear, as each step costs a
// reduction.
enum { PLAN_BATCH_MOST = 8192, PLAN_BATCH_STEPS_LEAST = 50, PLAN_BATCH_LEAST = 32 };

struct plan_batch_options {
    double efficiency;   // wanted, of the sum of all nodes' speeds
    int64_t least, most; // samples of a step; 0: by default
    int64_t samples;     // of an epoch, private ones included; 0: unknown
    // [nodes] private ones of each, which make floors that depend on the batch (together with the
    // nodes' own); NULL: none. Needs `samples`.
    const int64_t *private_samples;
};

extern const struct plan_batch_options plan_batch_defaults; // 95 %

struct plan_batch {
    int micro_batches;
    double efficiency; // predicted
    bool reached;      // else it is the most efficient within the limits
};

// Limits that are 0 filled in, both rounded to whole micro-batches (the lower up, the upper down),
// in micro-batches.
void plan_batch_limits(const struct plan_batch_options *options, int micro_batch, int *least,
                       int *most);

// Fills split[cluster->count] too, with `heap` of as many as scratch, and `nodes`: those of the
// cluster with the floors that private samples make at this batch. Refused: limits that no split
// can keep.
STN_MUST_CHECK enum stn_status plan_batch_find(const struct plan_cluster *cluster,
                                               const struct plan_batch_options *options,
                                               struct plan_node nodes[], struct plan_offer heap[],
                                               int split[], struct plan_batch *out);

#endif
