// SPDX-License-Identifier: Apache-2.0
// What is known of the nodes' speeds before the first step: each node's t(m) = a + c·m, floors and
// caps, and what the reduction costs. Guessed from CPUs here; train/tune.h measures it, a plan file
// keeps it. The same on every node. The first split and every later one are planned from it.
#ifndef TRAIN_PROFILE_H
#define TRAIN_PROFILE_H

#include <stdbool.h>

#include "cluster/cluster.h"
#include "plan/node.h"

struct train_profile {
    struct plan_cluster cluster; // its nodes are `nodes`
    struct plan_node *nodes;     // [cluster.count]; names are borrowed from the cluster
    bool measured;               // else only proportions are right, not seconds
};

// `cpus` [cluster->count]: a node with twice the CPUs is twice as fast. Caps come from max_batch: refused where it is
// less than a micro-batch.
STN_MUST_CHECK enum stn_status train_profile_guess(const struct cluster *cluster,
                                                   const double *cpus, int micro_batch,
                                                   int micro_batches, struct train_profile *out);
// A zeroed one may be finished too.
void train_profile_fini(struct train_profile *profile);

#endif
