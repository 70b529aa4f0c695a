// SPDX-License-Identifier: Apache-2.0
// Trainings on several nodes inside one process, a thread each, and comparing what they made.
#ifndef TESTS_TRAIN_CLUSTER_RUN_H
#define TESTS_TRAIN_CLUSTER_RUN_H

#include "stannis/train.h"
#include "train/run.h"

enum { CLUSTER_RUN_NODES_MAX = 8 };

// Every node gets `config`; `change` (may be NULL) alters a node's own before it starts. Statuses
// go to statuses[nodes], node 0's result to *result (may be NULL).
void cluster_run(int nodes, const struct settings *config,
                 void (*change)(int node, struct settings *config),
                 const struct stn_train_observer *observer, enum stn_status statuses[],
                 struct stn_train_result *result);

// The same, and `hooks` (may be NULL) says what the nodes measure; it is called on their threads.
void cluster_run_hooked(int nodes, const struct settings *config,
                        void (*change)(int node, struct settings *config),
                        const struct stn_train_observer *observer, const struct crew_hooks *hooks,
                        enum stn_status statuses[], struct stn_train_result *result);

// The largest |a − b| of any tensor over the largest |b| of that tensor, weights and statistics of
// two checkpoints. Statistics count, momentum does not.
double checkpoint_distance(const char *a, const char *b);

#endif
