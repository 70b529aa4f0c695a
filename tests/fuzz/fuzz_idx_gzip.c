// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as the four files of idx:DIR, gzipped or not: the first byte says how many of
// them are the labels', the rest is the images'. What is accepted can be read to its last sample.
#include <stdio.h>
#include <stdlib.h>

#include "data/sample.h"
#include "target.h"

static void check_sample(const struct stn_dataset *set, enum stn_subset subset, uint64_t index)
{
    const struct stn_dataset_info *info = stn_dataset_info(set);
    struct data_workspace workspace;
    size_t pixels = (size_t)info->image_size * (size_t)info->image_size;
    float *image = malloc(pixels * sizeof(*image));
    int32_t label = -1;
    fuzz_check(image != NULL);
    data_workspace_init(&workspace);
    if (data_sample_load(set, subset, index, DATA_AUGMENT_FULL, 1, &workspace, image, &label) ==
        STN_OK) {
        fuzz_check(label >= 0 && label < info->classes);
    }
    data_workspace_fini(&workspace);
    free(image);
}

static void check_set(const struct stn_dataset *set)
{
    const struct stn_dataset_info *info = stn_dataset_info(set);
    enum { EDGE_MAX = 512 }; // a larger picture takes the time of many small ones
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        if (info->count[subset] > 0 && info->image_size <= EDGE_MAX) {
            check_sample(set, (enum stn_subset)subset, 0);
            check_sample(set, (enum stn_subset)subset, (uint64_t)info->count[subset] - 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char spec[64];
    struct stn_dataset *set;
    if (size == 0) {
        return 0;
    }
    fuzz_quiet();
    size_t labels = data[0] < size ? data[0] : size - 1;
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        const char *prefix = subset == STN_SUBSET_TRAIN ? "train" : "t10k";
        char name[64];
        snprintf(name, sizeof(name), "%s-labels-idx1-ubyte.gz", prefix);
        fuzz_file(name, data + 1, labels);
        snprintf(name, sizeof(name), "%s-images-idx3-ubyte.gz", prefix);
        fuzz_file(name, data + 1 + labels, size - 1 - labels);
    }
    snprintf(spec, sizeof(spec), "idx:%s", fuzz_folder());
    const struct stn_dataset_options options = {.spec = spec};
    if (stn_dataset_open(&options, &set) == STN_OK) {
        check_set(set);
        stn_dataset_close(set);
    }
    return 0;
}
