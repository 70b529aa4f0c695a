// SPDX-License-Identifier: Apache-2.0
// What a split promises: how long a step takes, how fast the cluster is, and which nodes wait. Of
// any split, whichever policy made it. Pure.
#ifndef PLAN_OUTLOOK_H
#define PLAN_OUTLOOK_H

#include <stdbool.h>

#include "plan/node.h"

struct plan_outlook {
    double compute_s;     // of the slowest node
    double step_s;        // and what is seen of the reduction
    double samples_per_s; // of the cluster
    double ceiling; // samples a second if every node that may compute did so all the time: Σ g/c_i
    double efficiency; // samples_per_s / ceiling
};

struct plan_outlook_node {
    double compute_s;
    double busy; // part of the step that it computes
    // It has no work, as one micro-batch of its would take longer than the others need for all.
    bool too_slow;
};

// `nodes` [cluster->count] may be NULL. The split has at least one micro-batch.
struct plan_outlook plan_outlook_of(const struct plan_cluster *cluster, const int split[],
                                    struct plan_outlook_node nodes[]);

#endif
