// SPDX-License-Identifier: Apache-2.0
// Hands out micro-batches one by one, each to the node that would be done with one more first
// (ties: the lower number). Times rise with m, so the k given first are the k least of all times
// t_i(m) above the floors; any other k contain a larger one. So after every single one the slowest
// node is as fast as can be. Pure; memory is the caller's.
#ifndef PLAN_GREEDY_H
#define PLAN_GREEDY_H

#include <stdbool.h>

#include "plan/node.h"

// "With one more, node would need so many seconds."
struct plan_offer {
    double seconds;
    int node;
};

struct plan_greedy {
    const struct plan_node *nodes;
    int *split;              // [count] what each has
    struct plan_offer *heap; // [count] of which `open` are in use, the best first
    int open;
};

// From `split` on. Nodes at their cap make no offer.
struct plan_greedy plan_greedy_start(const struct plan_cluster *cluster, int split[],
                                     struct plan_offer heap[]);
// One more. False: all are at their caps.
bool plan_greedy_give(struct plan_greedy *greedy);

#endif
