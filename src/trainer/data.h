// SPDX-License-Identifier: Apache-2.0
// The data of a training: the sets that its nodes have, and this node's feeds from them.
#ifndef TRAINER_DATA_H
#define TRAINER_DATA_H

#include "checkpoint/checkpoint.h"
#include "crew/feed.h"
#include "crew/nodes.h"
#include "crew/sets.h"
#include "crew/split.h"

struct trainer_data {
    struct crew_sets sets;
    char *class_list;            // a JSON array of the names
    struct crew_feed train;      // the training subset, epoch after epoch
    int loader_threads;          // of each feed
    struct crew_feed validation; // its loader is NULL where there is nothing to validate with
};

// Opens the sets, and writes into `meta`, whose settings are there, what they are like. Those that
// a resumed training goes on with must be like its own.
STN_MUST_CHECK enum stn_status trainer_data_open(struct crew *nodes,
                                                 const struct checkpoint *resumed,
                                                 struct checkpoint_meta *meta,
                                                 struct trainer_data *out);
// A zeroed one may be closed too.
void trainer_data_close(struct trainer_data *data);

// How this node reads a subset.
struct trainer_reading {
    const struct crew *nodes;
    const struct settings *settings;
    const struct crew_splits *splits;
    int threads; // that compute
    int abreast; // micro-batches held at once in training
};
struct crew_feed_config trainer_data_feed(const struct trainer_data *data,
                                          const struct trainer_reading *reading,
                                          enum stn_subset subset);
// Opens both feeds.
STN_MUST_CHECK enum stn_status trainer_data_read(struct trainer_data *data,
                                                 const struct trainer_reading *reading);
// Images that could not be read so far.
int64_t trainer_data_skipped(const struct trainer_data *data);

#endif
