// SPDX-License-Identifier: Apache-2.0
// How far a training is and how fast it learns there: the learning rate by samples seen, steps to
// come, samples given up. What a checkpoint keeps of it is its progress. Pure.
#ifndef STEP_COURSE_H
#define STEP_COURSE_H

#include "checkpoint/checkpoint.h"
#include "crew/nodes.h"
#include "optim/schedule.h"
#include "settings/settings.h"

struct step_course {
    struct optim_schedule schedule;
    struct checkpoint_progress *progress; // borrowed: what a checkpoint saves
    int64_t samples;                      // of an epoch
    int epochs;
    int64_t steps_most;  // 0: as many as there are
    int64_t steps_total; // of the whole run
    int64_t lost;        // samples of epochs that ended early
};

// From where `progress` is, with the batch and learning rate of the settings. The schedule spans
// the epochs; the setting `steps` only ends a run early, so that such a run can be resumed as if it
// had never ended.
void step_course_begin(struct step_course *course, const struct settings *settings, int64_t samples,
                       struct checkpoint_progress *progress);
// Of the next step.
double step_course_rate(const struct step_course *course);
// The epoch ends here, and the next one has the verdict's batch and rate; schedules go on as if the
// rest of it had been.
void step_course_end_epoch(struct step_course *course, const struct crew_verdict *verdict);

#endif
