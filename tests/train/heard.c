// SPDX-License-Identifier: Apache-2.0
#include "heard.h"

#include <math.h>
#include <string.h>

#include "cmocka_all.h"

void hear_change(void *context, const struct stn_train_change *change)
{
    struct heard *heard = context;
    assert_true(heard->count < HEARD_MAX);
    heard->changes[heard->count] = *change;
    memcpy(heard->splits[heard->count], change->after, NODES * sizeof(int));
    heard->count++;
}

void hear_step(void *context, const struct stn_train_step *step)
{
    struct heard *heard = context;
    assert_int_equal(step->nodes, NODES);
    heard->images += step->images;
    if (heard->epoch != step->epoch) {
        heard->batch_last_epoch = 0;
    }
    heard->epoch = step->epoch;
    heard->batch_last_epoch =
        step->images > heard->batch_last_epoch ? step->images : heard->batch_last_epoch;
    heard->lr_begin = step->step == 1 ? step->lr : heard->lr_begin;
    heard->lr = step->lr;
    for (int i = 0; i < NODES; i++) {
        int m = step->node[i].micro_batches;
        heard->most[i] = m > heard->most[i] ? m : heard->most[i];
    }
    heard->slowdown = fmax(heard->slowdown, step->node[1].slowdown);
}

int heard_kind(const struct heard *heard, enum stn_train_change_kind kind)
{
    int count = 0;
    for (int i = 0; i < heard->count; i++) {
        count += heard->changes[i].kind == kind;
    }
    return count;
}

const struct stn_train_change *heard_first(const struct heard *heard,
                                           enum stn_train_change_kind kind)
{
    for (int i = 0; i < heard->count; i++) {
        if (heard->changes[i].kind == kind) {
            return &heard->changes[i];
        }
    }
    fail_msg("there should be a change of kind %d", (int)kind);
    return NULL;
}
