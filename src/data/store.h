// SPDX-License-Identifier: Apache-2.0
// For implementers of a kind of data set. A kind is one file and one row of STN_DATASET_LIST: it
// opens what a spec names, says what is there, and reads one sample at a time as bytes. Everything
// after that (view, resampling, normalisation, whose class list the labels follow) is the same for
// all kinds and is not the store's business.
//
// Threads: after open a store is read-only; read is called by many threads at once, each with its
// own workspace.
#ifndef DATA_STORE_H
#define DATA_STORE_H

#include <stdint.h>

#include "data/image.h"
#include "data/spec.h"
#include "data/workspace.h"
#include "stannis/dataset.h"
#include "stannis/status.h"

struct data_store_kind;

// An implementation's own struct begins with it.
struct data_store {
    const struct data_store_kind *kind;
    // class_names is NULL where classes are only numbered. `kind` and names are completed by
    // stn_dataset_open.
    struct stn_dataset_info info;
};

struct data_sample {
    struct data_picture picture; // valid until the workspace is used again
    int32_t label;               // by the store's own class list
};

struct data_store_kind {
    const char *name; // as its spec begins: "folder"
    enum data_spec_argument argument;
    enum data_fit fit;
    // Reports failures through the log.
    enum stn_status (*open)(const struct data_spec *spec, const struct stn_dataset_options *options,
                            struct data_store **out);
    void (*close)(struct data_store *store);
    // By the store's own class list.
    int32_t (*label)(const struct data_store *store, enum stn_subset subset, uint64_t index);
    // Leaves the text of a failure in the workspace.
    enum stn_status (*read)(const struct data_store *store, enum stn_subset subset, uint64_t index,
                            const struct data_view_rule *rule, struct data_workspace *workspace,
                            struct data_sample *out);
};

#define DATA_STORE_DECLARE(name, usage) extern const struct data_store_kind data_##name;
STN_DATASET_LIST(DATA_STORE_DECLARE)
#undef DATA_STORE_DECLARE

// A node's private pictures, see stn_dataset_open_private: a store of the kind data_folder.
STN_MUST_CHECK enum stn_status data_folder_open_private(const char *dir, struct data_store **out);

#endif
