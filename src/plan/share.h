// SPDX-License-Identifier: Apache-2.0
// What each node computes of one step: positions of the public order, and the private samples that
// belong to each node, laid out in micro-batches. Pure, no memory of its own.
//
// Which samples a step holds follows from its place in the epoch alone (plan/mixture.h); the split
// only says who computes them:
//
// 1. The step's ⌈n/g⌉ micro-batches are handed out in the proportion of the split: exactly as it
//    says in a full step, by largest remainder (ties to the lower rank) in a short one. A node
//    whose split is 0 gets none.
// 2. A node that holds more private samples than its micro-batches have room for keeps these and
//    gets nothing else; what is left of the step is handed out again to the others, as in 1.
// 3. Public samples fill the others' micro-batches in rank order. All are full but the last filled.
//
// So in a full step no node has more than max(split·g, its private samples), and without private
// data micro-batch k of the step is positions [begin + k·g, begin + k·g + g) of the epoch,
// whichever node computes it: training does not depend on the split.
#ifndef PLAN_SHARE_H
#define PLAN_SHARE_H

#include <stdint.h>

// One step of B samples at most, from the epoch's position `begin` to `end`.
struct plan_step {
    int64_t begin, end;
    int micro_batch; // g
    // [nodes] micro-batches the plan gives each node in a full step; the sum is ⌈B/g⌉.
    const int *split;
    const int64_t *counts; // [1 + nodes] samples in an epoch: public, then each node's private ones
    int nodes;
};

struct plan_range {
    int64_t begin, end;
};

struct plan_share {
    struct plan_range public_range;  // positions of the public order
    struct plan_range private_range; // positions of the node's own order
    int micro_batches;               // that they make
};

// Fills shares[nodes].
void plan_share_step(const struct plan_step *step, struct plan_share shares[]);

// The k-th of a share's micro-batches. Without private samples all but the last are full; with them
// all are equally large, within one, and each has its part of the private ones (a batch norm over
// the pictures of one clinic alone would see another world).
struct plan_share plan_share_micro_batch(const struct plan_share *share, int micro_batch, int k);

int64_t plan_share_samples(const struct plan_share *share);

#endif
