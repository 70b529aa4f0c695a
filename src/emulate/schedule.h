// SPDX-License-Identifier: Apache-2.0
// The text of --interfere: which other programs run beside which node, and when, as
// "NODE@FROM-TO:LOAD[,…]". Steps count from 1, and both ends are included. Items of the same node
// and step add up. Pure.
#ifndef EMULATE_SCHEDULE_H
#define EMULATE_SCHEDULE_H

#include <stdint.h>

#include "stannis/status.h"

enum emulate_load_kind {
    EMULATE_LOAD_GZIP, // gzip of endless zeros, as in the papers: computes and copies
    EMULATE_LOAD_BUSY, // a loop that computes and touches no memory
};
enum { EMULATE_PROCESSES_MAX = 64 };

struct emulate_load {
    const char *node; // its name
    int64_t from, to;
    enum emulate_load_kind kind;
    double
        processes; // of busy ones the last may be a fraction: it computes for that part of the time
};

struct emulate_schedule {
    struct emulate_load *loads;
    int count;
    char *text; // keeps the names
};

// On failure there is nothing to free.
STN_MUST_CHECK enum stn_status emulate_schedule_parse(const char *text,
                                                      struct emulate_schedule *out);
void emulate_schedule_fini(struct emulate_schedule *schedule);

#endif
