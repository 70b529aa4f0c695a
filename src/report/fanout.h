// SPDX-License-Identifier: Apache-2.0
// One observer that passes everything on to several, in the order they were added.
#ifndef REPORT_FANOUT_H
#define REPORT_FANOUT_H

#include "stannis/train.h"

enum { REPORT_FANOUT_MAX = 4 };

// Zero-initialise. Must outlive the observer made of it.
struct report_fanout {
    struct stn_train_observer observers[REPORT_FANOUT_MAX];
    int count;
};

void report_fanout_add(struct report_fanout *fanout, struct stn_train_observer observer);
struct stn_train_observer report_fanout_observer(struct report_fanout *fanout);

#endif
