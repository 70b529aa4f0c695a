// SPDX-License-Identifier: Apache-2.0
// An observer that keeps what it is told of moved work, for tests of trainings on three nodes.
#ifndef TESTS_TRAIN_HEARD_H
#define TESTS_TRAIN_HEARD_H

#include "stannis/train.h"

enum { NODES = 3, HEARD_MAX = 64 };

struct heard {
    struct stn_train_change changes[HEARD_MAX];
    int splits[HEARD_MAX][NODES]; // after
    int count;
    int64_t images;       // of all steps
    int most[NODES];      // micro-batches in a step
    double slowdown;      // of node 1, the most that was believed
    double lr, lr_begin;  // of the last step, of the first
    int batch_last_epoch; // largest step there
    int epoch;
};

// Members of an observer; `context` is a struct heard, zeroed to begin with.
void hear_change(void *context, const struct stn_train_change *change);
void hear_step(void *context, const struct stn_train_step *step);
// How many changes of a kind there were, and the first of them, which there must be.
int heard_kind(const struct heard *heard, enum stn_train_change_kind kind);
const struct stn_train_change *heard_first(const struct heard *heard,
                                           enum stn_train_change_kind kind);

#endif
