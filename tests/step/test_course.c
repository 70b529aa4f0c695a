// SPDX-License-Identifier: Apache-2.0
// Steps to come and the learning rate, from the beginning, from a checkpoint, and after an epoch
// that ended early.
#include <math.h>

#include "cmocka_all.h"
#include "step/course.h"

enum { SAMPLES = 100 };

static struct settings three_epochs(void)
{
    struct settings settings = settings_defaults(STN_VERB_TRAIN);
    settings.batch = 32; // four steps an epoch
    settings.epochs = 3;
    settings.lr = 0.1;
    settings.schedule = SETTINGS_CONSTANT;
    settings.warmup_epochs = 0;
    return settings;
}

static void steps_are_those_of_all_epochs(void **state)
{
    (void)state;
    struct settings settings = three_epochs();
    struct checkpoint_progress progress = {0};
    struct step_course course;
    step_course_begin(&course, &settings, SAMPLES, &progress);
    assert_int_equal(course.steps_total, 12);
    assert_int_equal(progress.batch, 32);
    assert_true(progress.lr == 0.1);
    settings.steps = 5;
    step_course_begin(&course, &settings, SAMPLES, &progress);
    assert_int_equal(course.steps_total, 5);
    settings.steps = 500;
    step_course_begin(&course, &settings, SAMPLES, &progress);
    assert_int_equal(course.steps_total, 12);
}

static void a_resumed_run_ends_where_it_would_have(void **state)
{
    (void)state;
    const struct settings settings = three_epochs();
    for (int step = 0; step <= 12; step++) {
        struct checkpoint_progress progress = {.epoch = step / 4, .step = step};
        progress.position = step % 4 * 32;
        struct step_course course;
        step_course_begin(&course, &settings, SAMPLES, &progress);
        assert_int_equal(course.steps_total, 12);
    }
}

// Schedules go by samples: given up or not.
static void an_epoch_may_end_early(void **state)
{
    (void)state;
    struct settings settings = three_epochs();
    settings.schedule = SETTINGS_COSINE;
    struct checkpoint_progress progress = {
        .epoch = 1, .position = 64, .samples_seen = 164, .step = 6};
    const struct crew_verdict verdict = {.end_epoch = true, .batch = 50, .lr = 0.2};
    struct step_course course;
    step_course_begin(&course, &settings, SAMPLES, &progress);
    double before = step_course_rate(&course);
    step_course_end_epoch(&course, &verdict);
    assert_int_equal(course.lost, 36);
    assert_int_equal(progress.position, SAMPLES);
    assert_int_equal(progress.samples_seen, 200);
    assert_int_equal(progress.batch, 50);
    assert_int_equal(course.steps_total, 6 + 2); // of the third epoch
    const double pi = 3.141592653589793;
    assert_true(fabs(before - 0.05 * (1 + cos(pi * 164 / 300))) < 1e-12);
    assert_true(fabs(step_course_rate(&course) - 0.1 * (1 + cos(pi * 200 / 300))) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_all_epochs),
        cmocka_unit_test(a_resumed_run_ends_where_it_would_have),
        cmocka_unit_test(an_epoch_may_end_early),
    };
    return cmocka_run_group_tests_name("course", tests, NULL, NULL);
}
