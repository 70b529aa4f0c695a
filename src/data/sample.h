// SPDX-License-Identifier: Apache-2.0
// One sample of an open data set, from storage to what the network sees. Any thread, each with its
// own workspace.
#ifndef DATA_SAMPLE_H
#define DATA_SAMPLE_H

#include "base/arena.h"
#include "data/loader.h"
#include "data/resample.h"
#include "data/store.h"

struct stn_dataset {
    struct stn_dataset_info info;
    struct data_store *store; // owned
    struct data_levels levels;
    enum data_fit fit;
    const int32_t *labels;   // [store's classes] → info's classes
    struct base_arena arena; // names and labels
};

// `out` is [channels][size][size]. The text of a failure is left in the workspace.
STN_MUST_CHECK enum stn_status data_sample_load(const struct stn_dataset *dataset,
                                                enum stn_subset subset, uint64_t sample,
                                                enum data_augment augment, uint64_t key,
                                                struct data_workspace *workspace, float *out,
                                                int32_t *label);

#endif
