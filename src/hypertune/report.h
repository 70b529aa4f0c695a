// SPDX-License-Identifier: Apache-2.0
// What a node tells after each step about the step it just did, and whether that can be believed.
// Everything HyperTune knows comes from here: it has no clock and reads no file. Pure.
//
// Seconds are of this step alone, except clock_s. What a node cannot find out it leaves at 0.
#ifndef HYPERTUNE_REPORT_H
#define HYPERTUNE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct hypertune_report {
    int64_t step;      // the step this is about; any other than the current one: it is missing
    int micro_batches; // done
    double compute_s;  // from the start of the step until the node was ready to exchange
    double wait_s;     // from then on until all were
    double io_s;       // part of compute_s: waited for data
    double cpu_s;      // processor time of this process, all threads
    // Ready to run, but another ran (/proc/self/schedstat); being throttled counts here too.
    double queue_s;
    double throttled_s; // by the quota of the node's control group
    double share_cpu_s; // processor time of all processes in the node's share; 0: not known
    double clock_s;     // at the end of the step, since the node's start
};

static const int64_t hypertune_no_step = -1; // the step of a report that did not come

enum hypertune_report_state {
    HYPERTUNE_REPORT_USABLE,
    HYPERTUNE_REPORT_MISSING, // did not come, or late
    HYPERTUNE_REPORT_IDLE,    // no micro-batch, nothing measured
    HYPERTUNE_REPORT_BROKEN,  // no numbers a working clock could give
};

// What is remembered of a node's last report; zero-initialise.
struct hypertune_clock {
    int64_t step;
    double at_s;
    bool seen;
};

// A clock that runs backwards, or in which the compute time does not fit between two reports, has
// jumped: that report is broken, and the next is measured against the new time. (A jump forwards
// inside the compute time looks like one slow step, which hypertune/detect ignores as it does any.)
enum hypertune_report_state hypertune_report_check(const struct hypertune_report *report,
                                                   int64_t step, struct hypertune_clock *clock);

#endif
