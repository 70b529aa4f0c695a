// SPDX-License-Identifier: Apache-2.0
#include "report/format.h"

#include <math.h>

#include "cmocka_all.h"

static struct report_text t;

static void counts_have_separators(void **state)
{
    (void)state;
    assert_string_equal(report_count(&t, 0), "0");
    assert_string_equal(report_count(&t, 999), "999");
    assert_string_equal(report_count(&t, 3504872), "3,504,872");
    assert_string_equal(report_count(&t, -1000), "-1,000");
    assert_string_equal(report_count(&t, -100), "-100");
    assert_string_equal(report_count(&t, INT64_MIN), "-9,223,372,036,854,775,808");
}

static void sizes_have_units(void **state)
{
    (void)state;
    assert_string_equal(report_bytes(&t, 0), "0 B");
    assert_string_equal(report_bytes(&t, 1024), "1.00 KiB");
    assert_string_equal(report_bytes(&t, 13002342), "12.4 MiB");
    assert_string_equal(report_magnitude(&t, 300774272), "301 M");
    assert_string_equal(report_magnitude(&t, 12), "12");
    assert_string_equal(report_magnitude(&t, 999999), "1.00 M");
}

static void durations_read_like_a_clock(void **state)
{
    (void)state;
    assert_string_equal(report_duration(&t, 0), "0:00");
    assert_string_equal(report_duration(&t, 59.6), "1:00");
    assert_string_equal(report_duration(&t, 3723), "1:02:03");
    assert_string_equal(report_duration(&t, NAN), "-:--");
    assert_string_equal(report_duration(&t, INFINITY), "-:--");
    assert_string_equal(report_duration(&t, -1), "-:--");
}

static void speeds_keep_three_digits(void **state)
{
    (void)state;
    assert_string_equal(report_speed(&t, 3210.4), "3,210");
    assert_string_equal(report_speed(&t, 23.44), "23.4");
    assert_string_equal(report_speed(&t, 0.5), "0.50");
    assert_string_equal(report_percent(&t, 0.8934), "89.3 %");
}

static void columns_are_characters(void **state)
{
    (void)state;
    assert_int_equal(report_columns(""), 0);
    assert_int_equal(report_columns("abc"), 3);
    assert_int_equal(report_columns("★ ━─"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_separators),      cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(durations_read_like_a_clock), cmocka_unit_test(speeds_keep_three_digits),
        cmocka_unit_test(columns_are_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
