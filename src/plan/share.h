// SPDX-License-Identifier: Apache-2.0
// Who computes what of one step: positions of the public order, and the private samples that belong
// to each node, laid out in micro-batches. Pure, no memory of its own.
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
};

// Fills shares[nodes]. Public samples are handed out in whole micro-batches, in rank order, in the
// proportion of `split` (exactly `split` in a full step without private data; a short last step is
// shared in the same proportion). Private samples stay with their node, and take the place of
// public ones there; a node with more of them than its part of the split gets just these.
void plan_share_step(const struct plan_step *step, struct plan_share shares[]);

#endif
