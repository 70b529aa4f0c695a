// SPDX-License-Identifier: Apache-2.0
#include "hypertune/probe.h"

struct hypertune_probe_options hypertune_probe_defaults(void)
{
    return (struct hypertune_probe_options){.first_steps = 4, .most_steps = 512, .budget = 0.05};
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

void hypertune_probe_rest(struct hypertune_probe *probe,
                          const struct hypertune_probe_options *options, int64_t step,
                          double excess)
{
    if (probe->resting) {
        return;
    }
    double affordable = excess / options->budget;
    int64_t wait = options->most_steps;
    if (affordable < (double)wait) {
        wait =
            (int64_t)affordable > options->first_steps ? (int64_t)affordable : options->first_steps;
    }
    *probe =
        (struct hypertune_probe){.resting = true, .due_step = step + wait, .interval_steps = wait};
}

void hypertune_probe_wake(struct hypertune_probe *probe)
{
    probe->resting = false;
}

bool hypertune_probe_is_due(const struct hypertune_probe *probe, int64_t step)
{
    return probe->resting && step >= probe->due_step;
}

void hypertune_probe_failed(struct hypertune_probe *probe,
                            const struct hypertune_probe_options *options, int64_t step)
{
    probe->interval_steps = at_most(2 * probe->interval_steps, options->most_steps);
    probe->due_step = step + probe->interval_steps;
}
