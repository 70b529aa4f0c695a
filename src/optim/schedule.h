// SPDX-License-Identifier: Apache-2.0
// The learning rate as a function of samples seen, never of steps: it does not care how a batch was
// split or how large it was. Pure.
#ifndef OPTIM_SCHEDULE_H
#define OPTIM_SCHEDULE_H

#include <stdint.h>

enum optim_schedule_kind { OPTIM_CONSTANT, OPTIM_STEP, OPTIM_COSINE };

struct optim_schedule {
    enum optim_schedule_kind kind;
    double base;           // learning rate after warm-up
    double total_samples;  // of the whole run (cosine ends there)
    double warmup_samples; // linear from base/100… to base
    double step_samples;   // STEP: multiply by gamma every so many samples
    double gamma;
};

double optim_schedule_at(const struct optim_schedule *schedule, double samples_seen);

#endif
