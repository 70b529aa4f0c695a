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

enum { CREW_VITALS_THREADS = 256 }; // of more the rest is not asked

// What has added up since the process began.
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
    int64_t links; // of the folder, when the threads were looked up: it changes with their number
    double opened_s;
    struct crew_vitals_reading begun;
    struct hypertune_report report;
};

void crew_vitals_open(struct crew_vitals *out);
// A zeroed one may be closed too.
void crew_vitals_close(struct crew_vitals *vitals);

// `io_s`: waiting for data so far, of the whole run.
void crew_vitals_begin(struct crew_vitals *vitals, double io_s);
// `idle_s`: of the time since, waiting for other nodes.
void crew_vitals_computed(struct crew_vitals *vitals, double io_s, double idle_s);
// Everybody has computed, and gradients are exchanged. `micro_batches` 0: not to be judged.
struct hypertune_report crew_vitals_exchanged(struct crew_vitals *vitals, int64_t step,
                                              int micro_batches);

#endif
