// SPDX-License-Identifier: Apache-2.0
// What planning knows of a cluster: its nodes' speeds and limits, and what adding up gradients
// costs. Filled by the tuner from measurements, by the simulator from device profiles. Pure.
#ifndef PLAN_NODE_H
#define PLAN_NODE_H

#include <stdint.h>

#include "plan/curve.h"

struct plan_node {
    const char *name; // for refusals; NULL: by its number
    // Which device it is: the number of the first node that is the same one, its own if none is.
    int kind;
    struct plan_curve curve;
    int floor; // micro-batches of a step that it must compute: private data
    int cap;   // and at most may: memory, max_batch
};

// Adding up the gradients of a step, the same for all nodes.
struct plan_reduction {
    double total_s;  // alone, from the first byte to the last
    double hidden_s; // of it, behind the backward pass
    double uneven_s; // waiting before it for the node that is late this time
};

struct plan_objective; // plan/energy.h

struct plan_cluster {
    const struct plan_node *nodes;
    int count;
    int micro_batch; // samples, g
    struct plan_reduction reduction;
    const struct plan_objective *objective; // NULL: short steps, whatever energy they take
};

// A ring over `nodes`: each sends 2·(n−1)/n of `bytes` in 2·(n−1) messages. What fits into
// `window_s` of computing is hidden.
struct plan_reduction plan_reduction_ring(int nodes, double bytes, double bytes_per_s,
                                          double latency_s, double window_s);
// What of it a step takes beyond computing.
double plan_reduction_exposed_s(const struct plan_reduction *reduction);

// ⌈private/(steps·g)⌉: what a node must compute of every step to get through its private samples in
// an epoch of `steps`.
int plan_node_floor(int64_t private_samples, int64_t steps, int micro_batch);

#endif
