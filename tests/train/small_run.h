// SPDX-License-Identifier: Apache-2.0
// A training small enough for a test, and ways to stop it.
#ifndef TESTS_TRAIN_SMALL_RUN_H
#define TESTS_TRAIN_SMALL_RUN_H

#include "stannis/train.h"

// lenet on 200 synthetic pictures of 4 classes, 7 steps an epoch of which the last is ragged, 2
// epochs.
struct stn_train_config small_config(const char *out_dir);

// Asks to stop once `step` steps are done; 0: never.
struct stop_at {
    int64_t step;
    int64_t seen;
};

// Sets the config's stop and returns an observer that counts steps.
struct stn_train_observer stop_at_install(struct stop_at *stop, struct stn_train_config *config);

#endif
