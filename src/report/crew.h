// SPDX-License-Identifier: Apache-2.0
// What there is to say about every node while a training runs, put together from what an observer
// is told: share, speed, how much of the time it computes, what happened to it last. Allocates
// once, at the start. One thread.
#ifndef REPORT_CREW_H
#define REPORT_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "stannis/train.h"

enum { REPORT_CAUSE_BYTES = 80 };

struct report_crew_node {
    const char *name;           // borrowed from the run
    int micro_batches;          // of a step, now
    int moved;                  // by which that changed last; 0: never
    int64_t moved_step;         // when
    double compute, wait, work; // seconds and micro-batches of a step, recent ones most
    double slowdown;            // 1: as fast as ever; 0: the policy does not watch
    // The last time it was slow:
    bool slow; // it still is
    int64_t since_step;
    int64_t recovered_step; // 0: it never was slow, or still is
    int before, least;      // micro-batches: before, and the least it had meanwhile
    char cause[REPORT_CAUSE_BYTES];
};

// Zero-initialise.
struct report_crew {
    struct report_crew_node *nodes;
    int count, batch, micro_batch;
    int64_t step; // the last one told
};

// False: no memory; there are no nodes then.
bool report_crew_start(struct report_crew *crew, const struct stn_train_start *start);
void report_crew_step(struct report_crew *crew, const struct stn_train_step *step);
void report_crew_change(struct report_crew *crew, const struct stn_train_change *change);
void report_crew_fini(struct report_crew *crew);

// Images a second while it computes; 0: it has computed nothing yet.
double report_crew_speed(const struct report_crew *crew, int node);
// Part of the time that it computes, 0 … 1.
double report_crew_busy(const struct report_crew *crew, int node);
// "-3 at step 41: another process in its share"; "" where nothing happened.
void report_crew_news(const struct report_crew *crew, int node, char *out, size_t size);

#endif
