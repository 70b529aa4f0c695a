// SPDX-License-Identifier: Apache-2.0
// Which reports are believed: what came, what did not, and clocks that jump.
#include <math.h>

#include "cmocka_all.h"
#include "hypertune/report.h"

static struct hypertune_report report_of(int64_t step, double clock_s)
{
    return (struct hypertune_report){
        .step = step, .micro_batches = 4, .compute_s = 0.9, .wait_s = 0.1, .clock_s = clock_s};
}

static void expect(struct hypertune_clock *clock, int64_t step, struct hypertune_report report,
                   enum hypertune_report_state expected)
{
    assert_int_equal(hypertune_report_check(&report, step, clock), expected);
}

static void test_what_came_and_what_did_not(void **state)
{
    (void)state;
    struct hypertune_clock clock = {0};
    expect(&clock, 0, report_of(0, 1.0), HYPERTUNE_REPORT_USABLE);
    expect(&clock, 1, report_of(hypertune_no_step, 0.0), HYPERTUNE_REPORT_MISSING);
    expect(&clock, 2, report_of(1, 2.0), HYPERTUNE_REPORT_MISSING); // too late
    expect(&clock, 3, report_of(3, 4.0), HYPERTUNE_REPORT_USABLE);
    struct hypertune_report idle = report_of(4, 5.0);
    idle.micro_batches = 0;
    expect(&clock, 4, idle, HYPERTUNE_REPORT_IDLE);
}

static void test_no_numbers(void **state)
{
    (void)state;
    struct hypertune_clock clock = {0};
    struct hypertune_report broken = report_of(0, 1.0);
    broken.compute_s = NAN;
    expect(&clock, 0, broken, HYPERTUNE_REPORT_BROKEN);
    broken.compute_s = -3600.0;
    expect(&clock, 0, broken, HYPERTUNE_REPORT_BROKEN);
    broken.compute_s = 0.0; // four micro-batches in no time
    expect(&clock, 0, broken, HYPERTUNE_REPORT_BROKEN);
    broken = report_of(1, INFINITY);
    expect(&clock, 1, broken, HYPERTUNE_REPORT_BROKEN);
    expect(&clock, 2, report_of(2, 3.0), HYPERTUNE_REPORT_USABLE); // what it said is forgotten
}

static void test_clock_that_jumps(void **state)
{
    (void)state;
    struct hypertune_clock clock = {0};
    expect(&clock, 0, report_of(0, 100.0), HYPERTUNE_REPORT_USABLE);
    expect(&clock, 1, report_of(1, 50.0), HYPERTUNE_REPORT_BROKEN);     // backwards
    expect(&clock, 2, report_of(2, 51.0), HYPERTUNE_REPORT_USABLE);     // and on from there
    expect(&clock, 3, report_of(3, 51.2), HYPERTUNE_REPORT_BROKEN);     // 0.9 s in 0.2 s
    expect(&clock, 4, report_of(4, 9000.0), HYPERTUNE_REPORT_USABLE);   // a long evaluation
    expect(&clock, 9, report_of(9, 9000.5), HYPERTUNE_REPORT_USABLE);   // restarted: steps skipped
    expect(&clock, 20, report_of(20, 8000.0), HYPERTUNE_REPORT_BROKEN); // skipped, and backwards
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_came_and_what_did_not),
        cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_clock_that_jumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
