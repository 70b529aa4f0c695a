// SPDX-License-Identifier: Apache-2.0
// Joules from readings, to the microjoule: counters that wrap and are reset, watts with gaps.
#include <math.h>

#include "cmocka_all.h"
#include "energy/account.h"

static const uint64_t range_uj = 262143328850; // of an Intel package

static void assert_is(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * (1.0 + fabs(expected))) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

static void counter(struct energy_account *account, double at_s, uint64_t now_uj)
{
    energy_account_counters(account, at_s, &now_uj, &range_uj, 1);
}

static void test_counters_add_up_over_wraps(void **state)
{
    (void)state;
    struct energy_account account = energy_account_begin(10.0, 5.0);
    uint64_t at_uj = range_uj - 100000000; // 100 J before the end
    counter(&account, 10.0, at_uj);
    double joules = 0.0;
    for (int i = 1; i <= 5000; i++) { // 200 W
        at_uj = (at_uj + 200000000) % (range_uj + 1);
        joules += 200.0;
        counter(&account, 10.0 + i, at_uj);
    }
    assert_is(account.total.joules, joules);
    assert_is(account.total.known_s, 5000.0);
    assert_is(account.total.gap_s, 0.0);
    assert_int_equal(account.total.samples, 5001);
    assert_is(energy_total_watts(&account.total), 200.0);
}

static void test_resets_are_gaps(void **state)
{
    (void)state;
    struct energy_account account = energy_account_begin(0.0, 5.0);
    counter(&account, 0.0, 200000000000);
    counter(&account, 1.0, 200100000000);
    counter(&account, 2.0, 0); // reset: as a wrap it would be 62 kJ in a second
    counter(&account, 3.0, 50000000);
    assert_is(account.total.joules, 150.0);
    assert_is(account.total.known_s, 2.0);
    assert_is(account.total.gap_s, 1.0);
    assert_int_equal(account.total.gaps, 1);
    counter(&account, 4.0, 30000000); // reset early: as a wrap it would be nearly all of the range
    assert_is(account.total.gap_s, 2.0);
    assert_is(account.total.joules, 150.0);
    // A rise of more than half of the range in a long time may be more than one wrap.
    counter(&account, 5000.0, 30000000 + range_uj / 2 + 1);
    assert_is(account.total.joules, 150.0);
    assert_is(account.total.gap_s, 2.0 + 4996.0);
    counter(&account, 5001.0, range_uj + 7); // beyond its own range: garbage
    assert_is(account.total.joules, 150.0);
}

static void test_all_counters_or_none(void **state)
{
    (void)state;
    uint64_t ranges[] = {range_uj, 65532610987};
    struct energy_account account = energy_account_begin(0.0, 5.0);
    energy_account_counters(&account, 0.0, (uint64_t[]){1000000, 65532000000}, ranges, 2);
    energy_account_counters(&account, 1.0, (uint64_t[]){41000000, 9389012}, ranges, 2);
    assert_is(account.total.joules, 40.0 + 10.0); // the second wrapped
    energy_account_counters(&account, 2.0, (uint64_t[]){81000000, 9389000}, ranges, 2);
    assert_is(account.total.joules, 50.0); // one was reset: nothing of this second counts
    assert_is(account.total.gap_s, 1.0);
    energy_account_counters(&account, 2.0, (uint64_t[]){81000001, 9389001}, ranges, 2);
    assert_int_equal(account.total.samples, 3); // again in the same moment
}

static void test_before_the_first_reading_is_a_gap(void **state)
{
    (void)state;
    struct energy_account account = energy_account_begin(0.0, 5.0);
    assert_true(isnan(energy_total_watts(&account.total)));
    counter(&account, 3.0, 5);
    assert_is(account.total.gap_s, 3.0);
    struct energy_total total = energy_account_until(&account, 4.0, false);
    assert_is(total.gap_s, 4.0);
    assert_is(total.known_s, 0.0);
}

static void test_watts_are_straight_between_readings(void **state)
{
    (void)state;
    struct energy_account account = energy_account_begin(0.5, 3.0);
    energy_account_watts(&account, -1.0, 10.0); // before the beginning
    energy_account_watts(&account, 1.0, 14.0);
    assert_is(account.total.joules, 0.5 * (13.0 + 14.0) * 0.5);
    energy_account_watts(&account, 1.0, 500.0); // no later than the last
    energy_account_watts(&account, 0.7, 500.0);
    energy_account_watts(&account, 3.0, 20.0);
    assert_is(account.total.joules, 6.75 + 34.0);
    energy_account_watts(&account, 10.0, 20.0); // a gap
    energy_account_watts(&account, 11.0, 30.0);
    assert_is(account.total.joules, 40.75 + 25.0);
    assert_is(account.total.known_s, 2.5 + 1.0);
    assert_is(account.total.gap_s, 7.0);
    assert_int_equal(account.total.gaps, 1);
    struct energy_total soon = energy_account_until(&account, 13.0, true);
    assert_is(soon.joules, 65.75 + 60.0);
    struct energy_total late = energy_account_until(&account, 20.0, true);
    assert_is(late.joules, 65.75);
    assert_is(late.gap_s, 16.0);
    struct energy_total part = energy_total_between(&account.total, &soon);
    assert_is(energy_total_watts(&part), 30.0);
}

// Of a course that is known: a day's curve, readings every second with a little jitter.
static void test_a_curve_within_half_a_per_cent(void **state)
{
    (void)state;
    struct energy_account account = energy_account_begin(100.0, 5.0);
    for (int i = 0; i < 3901; i++) {
        double at_s = 99.3 + i + 0.2 * sin(7.0 * i);
        energy_account_watts(&account, at_s, 200.0 + 100.0 * sin(at_s / 40.0));
    }
    struct energy_total total = energy_account_until(&account, 4000.0, true);
    double exact = 200.0 * 3900.0 - 4000.0 * (cos(4000.0 / 40.0) - cos(100.0 / 40.0));
    assert_true(fabs(total.joules / exact - 1.0) < 0.005);
    assert_is(total.gap_s, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters_add_up_over_wraps),
        cmocka_unit_test(test_resets_are_gaps),
        cmocka_unit_test(test_all_counters_or_none),
        cmocka_unit_test(test_before_the_first_reading_is_a_gap),
        cmocka_unit_test(test_watts_are_straight_between_readings),
        cmocka_unit_test(test_a_curve_within_half_a_per_cent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
