// SPDX-License-Identifier: Apache-2.0
// A line of JSON for every step, epoch and change of a cluster, for programs that watch a training.
// With several nodes a step has arrays with a figure a node, in the order of the start line's
// "nodes". Each line is written and flushed at once; steps without allocating. A stream that fails
// (full disk, closed pipe) is reported once and then left alone: the training is worth more than
// its log.
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/crew.h"
#include "stannis/status.h"
#include "stannis/train.h"

struct report_events {
    FILE *stream;
    const char *name; // for messages
    bool all;         // also eval and saved, and with one node start
    bool failed;
    int64_t last_step;
    int eval_percent;
    struct report_crew crew; // for names
    char buffer[4096];       // the stream's
};

// Opens a file: truncated, or appended to when a run is resumed. `path` is kept until close.
STN_MUST_CHECK enum stn_status report_events_open(struct report_events *events, const char *path,
                                                  bool append);
// Everything a progress display would show, on a duplicate of an open descriptor.
STN_MUST_CHECK enum stn_status report_events_attach(struct report_events *events, int fd,
                                                    const char *name);
void report_events_close(struct report_events *events);
struct stn_train_observer report_events_observer(struct report_events *events);

#endif
