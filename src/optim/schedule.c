// SPDX-License-Identifier: Apache-2.0
#include "optim/schedule.h"

#include <math.h>

static const double warmup_start = 0.01; // of the base rate

// Half a cosine wave from 1 at the end of the warm-up to 0 at the end of the run.
static double cosine_factor(const struct optim_schedule *s, double samples_seen)
{
    const double pi = 3.141592653589793;
    double length = s->total_samples - s->warmup_samples;
    if (length <= 0.0) {
        return 1.0;
    }
    double done = (samples_seen - s->warmup_samples) / length;
    return done >= 1.0 ? 0.0 : 0.5 * (1.0 + cos(pi * done));
}

static double step_factor(const struct optim_schedule *s, double samples_seen)
{
    return s->step_samples > 0.0 ? pow(s->gamma, floor(samples_seen / s->step_samples)) : 1.0;
}

double optim_schedule_at(const struct optim_schedule *schedule, double samples_seen)
{
    if (samples_seen < schedule->warmup_samples) {
        double done = samples_seen / schedule->warmup_samples;
        return schedule->base * (warmup_start + (1.0 - warmup_start) * done);
    }
    switch (schedule->kind) {
    case OPTIM_CONSTANT: return schedule->base;
    case OPTIM_STEP: return schedule->base * step_factor(schedule, samples_seen);
    case OPTIM_COSINE: return schedule->base * cosine_factor(schedule, samples_seen);
    }
    return schedule->base;
}
