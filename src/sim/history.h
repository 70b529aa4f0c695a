// SPDX-License-Identifier: Apache-2.0
// Speed over the steps of a run of any length in constant memory: when it is full, neighbours are
// taken together. Pure.
#ifndef SIM_HISTORY_H
#define SIM_HISTORY_H

#include <stdint.h>

#include "sim/sim.h"

enum { SIM_HISTORY_MOST = 1024 };

struct sim_history_span {
    int64_t first_step, last_step;
    int64_t images;
    double seconds;
};

// Zero-initialise.
struct sim_history {
    struct sim_history_span spans[SIM_HISTORY_MOST];
    int count;
    int64_t steps_each; // of a span
};

void sim_history_add(struct sim_history *history, const struct sim_step *step);
// Middles of the spans and images a second, [count].
void sim_history_speeds(const struct sim_history *history, double steps[], double speeds[]);

#endif
