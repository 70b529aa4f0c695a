// SPDX-License-Identifier: Apache-2.0
// What a node measures about itself in a step: how long it computed and waited, and where the time
// of computing went. Files are opened once and read twice a step, some 20 µs; what the kernel does
// not tell is 0. One thread.
//
//     open → { begin → computed → exchanged } × steps → close
#ifndef CREW_VITALS_H
#define CREW_VITALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cgroup_meter.h"
#include "hypertune/report.h"

enum { CREW_VITALS_THREADS = 256 }; // of a process with more threads the rest is not read

// Sums since the process began.
struct crew_vitals_reading {
    double clock_s, cpu_s, queue_s, throttled_s, share_cpu_s;
    double io_s;
};

struct crew_vitals {
    bool is_open;
    struct base_cgroup_meter group;
    int tasks; // the folder of this process's threads
    int threads[CREW_VITALS_THREADS];
    int thread_count;
    int64_t links; // of that folder when threads were looked up; changes with their number
    double opened_s;
    struct crew_vitals_reading begun;
    struct hypertune_report report;
};

void crew_vitals_open(struct crew_vitals *out);
// A zeroed one may be closed too.
void crew_vitals_close(struct crew_vitals *vitals);

// A step begins. `io_s`: seconds waited for data so far, in the whole run.
void crew_vitals_begin(struct crew_vitals *vitals, double io_s);
// This node has computed. `idle_s`: seconds since the step began in which it waited for other
// nodes.
void crew_vitals_computed(struct crew_vitals *vitals, double io_s, double idle_s);
// All nodes have computed, and gradients are exchanged. `micro_batches` 0: this step says nothing
// about the node's speed.
struct hypertune_report crew_vitals_exchanged(struct crew_vitals *vitals, int64_t step,
                                              int micro_batches);

#endif
