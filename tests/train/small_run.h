// SPDX-License-Identifier: Apache-2.0
// A training small enough for a test, and ways to stop it.
#ifndef TESTS_TRAIN_SMALL_RUN_H
#define TESTS_TRAIN_SMALL_RUN_H

#include "settings/settings.h"
#include "stannis/train.h"

// lenet on 200 synthetic pictures of 4 classes, 7 steps an epoch of which the last is ragged, 2
// epochs.
struct settings small_settings(const char *out);

// Asks to stop once `step` steps are done; 0: never.
struct stop_at {
    int64_t step;
    int64_t seen;
};

// An observer that counts steps, and stops.
struct stn_train_observer stop_at_observer(struct stop_at *stop);

#endif
