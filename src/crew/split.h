// SPDX-License-Identifier: Apache-2.0
// --split and --policy: how many micro-batches of a step each node computes. Pure but for messages.
#ifndef CREW_SPLIT_H
#define CREW_SPLIT_H

#include <stdint.h>

#include "crew/nodes.h"
#include "plan/policy.h"
#include "stannis/status.h"
#include "stannis/train.h"

// Splits that take turns: step s uses number s mod count.
struct crew_splits {
    int *values; // [count][nodes]
    int count, nodes;
};

// "12,4,4,4" or "5,2,1;6,1,1"; ':' may stand for ','. Each must have `nodes` numbers that add up to
// `micro_batches` (0: to anything, but all alike).
STN_MUST_CHECK enum stn_status crew_splits_parse(const char *text, int nodes, int micro_batches,
                                                 struct crew_splits *out);
// Makes one split, by the policy.
STN_MUST_CHECK enum stn_status crew_splits_plan(const struct plan_request *request,
                                                enum stn_policy policy, struct crew_splits *out);
// Makes one split of numbers that are known.
STN_MUST_CHECK enum stn_status crew_splits_copy(const int split[], int nodes,
                                                struct crew_splits *out);
// The first node that some split gives more than its cap, or −1.
int crew_splits_over_cap(const struct crew_splits *splits, const struct plan_cluster *cluster);
// All nodes get node 0's split and batch: unlike CPUs may have rounded to others.
STN_MUST_CHECK enum stn_status crew_splits_spread(struct crew *nodes, struct crew_splits *splits,
                                                  int *batch);
void crew_splits_fini(struct crew_splits *splits);
const int *crew_splits_at(const struct crew_splits *splits, int64_t step);
// Micro-batches of a step, the sum of any of the splits.
int crew_splits_sum(const struct crew_splits *splits);

#endif
