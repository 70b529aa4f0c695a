// SPDX-License-Identifier: Apache-2.0
// When to ask a node without work whether it has become faster. Such a node measures nothing, so
// its load could end unnoticed; one micro-batch from time to time tells. A probe that finds nothing
// new doubles the time to the next. Pure; constant time and memory.
#ifndef HYPERTUNE_PROBE_H
#define HYPERTUNE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct hypertune_probe_options {
    int64_t first_steps; // without work before the first probe
    int64_t most_steps;  // the doubling ends here
    // Of the run's time that the probes of one node may cost: the micro-batch of a very slow node
    // makes all others wait, so it is asked less often from the start.
    double budget;
};

struct hypertune_probe_options hypertune_probe_defaults(void);

// Zero-initialise.
struct hypertune_probe {
    bool resting;
    int64_t due_step, interval_steps;
};

// The node has no work now; a probe would make a step longer by this part of it.
void hypertune_probe_rest(struct hypertune_probe *probe,
                          const struct hypertune_probe_options *options, int64_t step,
                          double excess);
void hypertune_probe_wake(struct hypertune_probe *probe); // it has
bool hypertune_probe_is_due(const struct hypertune_probe *probe, int64_t step);
// A probe in this step found the node as slow as before, or its report did not come.
void hypertune_probe_failed(struct hypertune_probe *probe,
                            const struct hypertune_probe_options *options, int64_t step);

#endif
