// SPDX-License-Identifier: Apache-2.0
// The data of a training on several nodes: the public set, which every node can read, and each
// node's private set, which only that node opens. The others learn how many samples of each class
// it has, and nothing else.
#ifndef CREW_SETS_H
#define CREW_SETS_H

#include "crew/nodes.h"
#include "stannis/dataset.h"

struct crew_sets {
    struct stn_dataset *public_set;
    struct stn_dataset *private_set; // NULL: this node has none
    // [1 + nodes] samples of an epoch: public, then each node's private ones, repeated ones counted
    // as often as they come.
    int64_t *counts[STN_SUBSET_COUNT];
    int64_t private_samples; // of all nodes, for training, each counted once
};

// `options` names the public set. `out` is to be closed whatever happens.
STN_MUST_CHECK enum stn_status crew_sets_open(struct crew *nodes,
                                              const struct stn_dataset_options *options,
                                              enum settings_fill fill, struct crew_sets *out);
void crew_sets_close(struct crew_sets *sets);
// Samples of an epoch: public and private ones of all nodes, repetitions included.
int64_t crew_sets_total(const struct crew_sets *sets, const struct crew *nodes,
                        enum stn_subset subset);

#endif
