// SPDX-License-Identifier: Apache-2.0
#include "data/sample.h"

enum stn_status data_sample_load(const struct stn_dataset *dataset, enum stn_subset subset,
                                 uint64_t sample, enum data_augment augment, uint64_t key,
                                 struct data_workspace *workspace, float *out, int32_t *label)
{
    const struct data_store *store = dataset->store;
    struct data_view_rule rule = {
        .fit = dataset->fit,
        .crop = augment == DATA_AUGMENT_CROP || augment == DATA_AUGMENT_FULL,
        .flip = augment == DATA_AUGMENT_FLIP || augment == DATA_AUGMENT_FULL,
        .key = key,
        .size = dataset->info.image_size,
    };
    struct data_sample found;
    enum stn_status status = store->kind->read(store, subset, sample, &rule, workspace, &found);
    if (status != STN_OK) {
        return status;
    }
    *label = dataset->labels[found.label];
    return data_resample(workspace, &found.picture, rule.size, &dataset->levels, out);
}
