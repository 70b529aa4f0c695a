// SPDX-License-Identifier: Apache-2.0
#include "step/course.h"

static enum optim_schedule_kind schedule_kind(enum settings_schedule schedule)
{
    switch (schedule) {
    case SETTINGS_CONSTANT: return OPTIM_CONSTANT;
    case SETTINGS_STEP: return OPTIM_STEP;
    case SETTINGS_COSINE: return OPTIM_COSINE;
    }
    return OPTIM_CONSTANT;
}

static void count_steps(struct step_course *course)
{
    const struct checkpoint_progress *progress = course->progress;
    int64_t batch = progress->batch;
    int64_t epoch_steps = (course->samples + batch - 1) / batch;
    int64_t of_this_epoch = (progress->position + batch - 1) / batch;
    course->steps_total =
        progress->step + epoch_steps * (course->epochs - progress->epoch) - of_this_epoch;
    if (course->steps_most > 0 && course->steps_most < course->steps_total) {
        course->steps_total = course->steps_most;
    }
}

void step_course_begin(struct step_course *course, const struct settings *settings, int64_t samples,
                       struct checkpoint_progress *progress)
{
    double epoch = (double)samples;
    *course = (struct step_course){
        .schedule = {.kind = schedule_kind(settings->schedule),
                     .base = settings->lr,
                     .total_samples = epoch * settings->epochs,
                     .warmup_samples = epoch * settings->warmup_epochs,
                     .step_samples = epoch * settings->lr_step_epochs,
                     .gamma = settings->lr_gamma},
        .progress = progress,
        .samples = samples,
        .epochs = settings->epochs,
        .steps_most = settings->steps,
    };
    progress->batch = settings->batch;
    progress->lr = settings->lr;
    count_steps(course);
}

double step_course_rate(const struct step_course *course)
{
    return optim_schedule_at(&course->schedule, (double)course->progress->samples_seen);
}

void step_course_end_epoch(struct step_course *course, const struct crew_verdict *verdict)
{
    struct checkpoint_progress *progress = course->progress;
    int64_t lost = course->samples - progress->position;
    course->lost += lost;
    progress->samples_seen += lost;
    progress->position = course->samples;
    progress->batch = verdict->batch;
    progress->lr = course->schedule.base = verdict->lr;
    count_steps(course);
}
