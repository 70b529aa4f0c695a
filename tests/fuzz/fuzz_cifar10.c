// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as the batches of CIFAR-10 and as their list of names: each sample of what is
// accepted has a label of the list and pixels that were in the file.
#include <stdio.h>
#include <string.h>

#include "data/sample.h"
#include "target.h"

static void check_sample(const struct stn_dataset *set, enum stn_subset subset, uint64_t index,
                         const uint8_t *record)
{
    float image[3 * 32 * 32];
    int32_t label = -1;
    struct data_workspace workspace;
    data_workspace_init(&workspace);
    fuzz_check(data_sample_load(set, subset, index, DATA_AUGMENT_NONE, 0, &workspace, image,
                                &label) == STN_OK);
    data_workspace_fini(&workspace);
    fuzz_check(label == record[0] && label < stn_dataset_info(set)->classes);
}

static void check_set(const struct stn_dataset *set, const uint8_t *data, size_t size)
{
    enum { RECORD = 1 + 3 * 32 * 32 };
    const struct stn_dataset_info *info = stn_dataset_info(set);
    fuzz_check(info->classes == 10 && info->channels == 3);
    for (int subset = 0; subset < STN_SUBSET_COUNT; subset++) {
        fuzz_check((size_t)info->count[subset] * RECORD == size);
        size_t last = (size_t)info->count[subset] - 1;
        check_sample(set, (enum stn_subset)subset, 0, data);
        check_sample(set, (enum stn_subset)subset, last, data + last * RECORD);
    }
    for (int i = 0; i < info->classes; i++) {
        fuzz_check(info->class_names[i] && *info->class_names[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char spec[64];
    struct stn_dataset *set;
    fuzz_quiet();
    fuzz_file("data_batch_1.bin", data, size);
    fuzz_file("test_batch.bin", data, size);
    fuzz_file("batches.meta.txt", data, size);
    snprintf(spec, sizeof(spec), "cifar10:%s", fuzz_folder());
    const struct stn_dataset_options options = {.spec = spec};
    if (stn_dataset_open(&options, &set) == STN_OK) {
        check_set(set, data, size);
        stn_dataset_close(set);
    }
    return 0;
}
