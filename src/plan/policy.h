// SPDX-License-Identifier: Apache-2.0
// The ways to make a split, which the policies of hypertune/policy.h begin with. The papers' two
// make the global batch too; asked for a certain one, they keep the proportions of their own. All
// keep floors and caps, and all are judged by plan/outlook.h. Pure.
#ifndef PLAN_POLICY_H
#define PLAN_POLICY_H

#include <stdint.h>

#include "plan/batch.h"
#include "plan/greedy.h"
#include "plan/node.h"

struct plan_policy_options {
    struct plan_batch_options batch;
    // The papers' ways. What "best batch" means: it reaches this part of the node's best speed.
    double knee;
    double adjust_s; // C: the larger, the finer the steps; 0: twice the slowest node's step time
    double margin;   // E: the others may take 1/E longer than the slowest node
};

// 95 %; 95 %, C as is right for any speed, E = 5.
extern const struct plan_policy_options plan_policy_defaults;

struct plan_request {
    struct plan_cluster cluster;
    // M of a step; 0: the policy's choice. Then `balanced`, `static` and `uniform` take that of
    // plan/batch.h, which raises floors with the batch; the papers' ways take floors as they are.
    int micro_batches;
    struct plan_policy_options options;
};

// Each of [cluster.count].
struct plan_scratch {
    struct plan_node *nodes;
    struct plan_offer *offers;
};

// Fills split[cluster.count].
typedef enum stn_status plan_policy_split(const struct plan_request *request,
                                          const struct plan_scratch *scratch, int split[]);

plan_policy_split plan_split_balanced;  // all nodes done at the same time
plan_policy_split plan_split_uniform;   // equal batches
plan_policy_split plan_split_stannis;   // Algorithm 1 of the first paper
plan_policy_split plan_split_hypertune; // equal step times, by the most influencing device

// Equation 1 of both papers, D_i = D·b_i/Σb_j: data[nodes], to the sample, with D as its sum.
// Returns the steps of an epoch, ⌈D/Σb⌉.
int64_t plan_policy_data(const int split[], int nodes, int micro_batch, int64_t samples,
                         int64_t data[]);

#endif
