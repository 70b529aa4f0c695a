// SPDX-License-Identifier: Apache-2.0
// A cluster in made-up time, for tests: nodes with true times a + c·m that loads slow down, noise,
// and the decisions applied from the next step on.
#ifndef TESTS_HYPERTUNE_CLUSTER_H
#define TESTS_HYPERTUNE_CLUSTER_H

#include "base/random.h"
#include "hypertune/decide.h"

enum { CLUSTER_NODES_MAX = 1024 };

struct cluster {
    int nodes, total;
    double fixed_s[CLUSTER_NODES_MAX], each_s[CLUSTER_NODES_MAX]; // undisturbed
    double slowdown[CLUSTER_NODES_MAX];                           // true, now
    int least[CLUSTER_NODES_MAX], most[CLUSTER_NODES_MAX];
    bool silent[CLUSTER_NODES_MAX]; // reports are lost
    double noise, exchange_s;
    struct base_random random;
    struct hypertune_report reports[CLUSTER_NODES_MAX];
    struct plan_node known[CLUSTER_NODES_MAX]; // what the decisions are told: without slowdowns
    struct hypertune_decide *decide;
    struct hypertune_decision decision; // of the last step
    double clock_s[CLUSTER_NODES_MAX];
    int64_t step;
    int replans, probes;
};

// Equal nodes: a = 0, c = 10 ms, M = 16 a node, noise of 2 %; change what is to differ, then begin.
void cluster_init(struct cluster *cluster, int nodes, uint64_t seed);
void cluster_begin(struct cluster *cluster);
void cluster_begin_with(struct cluster *cluster, const struct hypertune_decide_options *options);
// The nodes as the decisions are told of them.
struct plan_cluster cluster_known(struct cluster *cluster);
void cluster_end(struct cluster *cluster);

// Computes a step, reports it, decides. The two halves, for tests that spoil reports in between:
void cluster_compute(struct cluster *cluster);
void cluster_decide(struct cluster *cluster);
void cluster_step(struct cluster *cluster);
void cluster_steps(struct cluster *cluster, int steps);

// What the split in force reaches of the water level: the best that the nodes could do as they are
// now if work came in any fraction.
double cluster_efficiency(const struct cluster *cluster);
void cluster_assert_efficiency(const struct cluster *cluster, double least);

#endif
