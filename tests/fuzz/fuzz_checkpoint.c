// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as a checkpoint: what is opened has a network of ours, its classes by name, and
// is somewhere in its training; a training with the default settings goes on from it with that
// network or is refused.
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "target.h"

static void check_meta(const struct checkpoint_meta *meta)
{
    const struct checkpoint_progress *progress = &meta->progress;
    fuzz_check(meta->channels > 0 && meta->classes > 0 && meta->train_samples >= 0);
    fuzz_check(progress->epoch >= 0 && progress->position >= 0 && progress->step >= 0 &&
               progress->samples_seen >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[PATH_MAX];
    struct checkpoint *checkpoint;
    fuzz_quiet();
    fuzz_file("checkpoint", data, size);
    snprintf(path, sizeof(path), "%s/checkpoint", fuzz_folder());
    if (checkpoint_open(path, &checkpoint) == STN_OK) {
        const struct checkpoint_meta *meta = checkpoint_meta(checkpoint);
        check_meta(meta);
        for (int i = 0; i < meta->classes; i++) {
            fuzz_check(checkpoint_class_names(checkpoint)[i] != NULL);
        }
        struct settings settings = settings_defaults(STN_VERB_TRAIN);
        if (checkpoint_merge(checkpoint, &settings) == STN_OK) {
            fuzz_check(strcmp(settings.net, meta->settings->net) == 0);
        }
        checkpoint_close(checkpoint);
    }
    return 0;
}
