// SPDX-License-Identifier: Apache-2.0
// Whatever the length of a run, its history holds all of its images and seconds, in order.
#include <math.h>

#include "cmocka_all.h"
#include "sim/history.h"

static void nothing_is_forgotten(void **state)
{
    (void)state;
    const int lengths[] = {1, 2, SIM_HISTORY_MOST, SIM_HISTORY_MOST + 1, 5000, 123457};
    static struct sim_history history;
    static double steps[SIM_HISTORY_MOST], speeds[SIM_HISTORY_MOST];
    for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
        history = (struct sim_history){0};
        for (int i = 1; i <= lengths[l]; i++) {
            sim_history_add(&history,
                            &(struct sim_step){.step = i, .images = i % 7, .seconds = 0.5});
        }
        int64_t images = 0, next = 1;
        double seconds = 0.0;
        for (int i = 0; i < history.count; i++) {
            assert_int_equal(history.spans[i].first_step, next);
            next = history.spans[i].last_step + 1;
            images += history.spans[i].images;
            seconds += history.spans[i].seconds;
        }
        int64_t expected = 0;
        for (int i = 1; i <= lengths[l]; i++) {
            expected += i % 7;
        }
        assert_int_equal(next, lengths[l] + 1);
        assert_int_equal(images, expected);
        assert_true(fabs(seconds - 0.5 * lengths[l]) < 1e-6);
        assert_true(lengths[l] < SIM_HISTORY_MOST || history.count >= SIM_HISTORY_MOST / 2);
        sim_history_speeds(&history, steps, speeds);
        assert_true(steps[0] >= 1.0 && speeds[0] >= 0.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_forgotten)};
    return cmocka_run_group_tests_name("sim_history", tests, NULL, NULL);
}
