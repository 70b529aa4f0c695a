// SPDX-License-Identifier: Apache-2.0
#include "report/bar.h"

#include <string.h>

#include "cmocka_all.h"
#include "report/format.h"

static struct report_bar sample(double share)
{
    return (struct report_bar){.title = "epoch 1/2",
                               .share = share,
                               .fields = {"50 %", "loss 0.1", "ETA 0:01"},
                               .field_count = 3};
}

static void a_wide_screen_shows_everything(void **state)
{
    (void)state;
    char line[512];
    struct report_bar bar = sample(0.5);
    report_bar_render(&bar, 120, line, sizeof(line));
    assert_string_equal(line, "epoch 1/2 ###############---------------  50 %  loss 0.1  ETA 0:01");
}

static void no_width_is_exceeded(void **state)
{
    (void)state;
    char line[512];
    for (int utf8 = 0; utf8 < 2; utf8++) {
        for (int columns = 0; columns < 100; columns++) {
            struct report_bar bar = sample(0.37);
            bar.utf8 = utf8;
            size_t length = report_bar_render(&bar, columns, line, sizeof(line));
            assert_int_equal(length, strlen(line));
            assert_true(report_columns(line) <= columns);
        }
    }
}

static void fields_go_from_the_right(void **state)
{
    (void)state;
    char line[512];
    struct report_bar bar = sample(0.5);
    report_bar_render(&bar, 27, line, sizeof(line));
    assert_string_equal(line, "epoch 1/2  50 %  loss 0.1");
    report_bar_render(&bar, 16, line, sizeof(line));
    assert_string_equal(line, "epoch 1/2  50 %");
}

static void shares_outside_are_clamped(void **state)
{
    (void)state;
    char line[512];
    struct report_bar bar = {.title = "x", .share = 7, .utf8 = true};
    report_bar_render(&bar, 10, line, sizeof(line));
    assert_string_equal(line, "x ━━━━━━━━");
    bar.share = -1;
    report_bar_render(&bar, 10, line, sizeof(line));
    assert_string_equal(line, "x ────────");
    bar.share = 3.0 / 16;
    report_bar_render(&bar, 10, line, sizeof(line));
    assert_string_equal(line, "x ━╸──────");
}

static void a_small_buffer_is_not_overrun(void **state)
{
    (void)state;
    char line[16];
    struct report_bar bar = sample(0.5);
    bar.colour = bar.utf8 = true;
    assert_true(report_bar_render(&bar, 100, line, sizeof(line)) < sizeof(line));
    assert_true(strlen(line) < sizeof(line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_screen_shows_everything),
        cmocka_unit_test(no_width_is_exceeded),
        cmocka_unit_test(fields_go_from_the_right),
        cmocka_unit_test(shares_outside_are_clamped),
        cmocka_unit_test(a_small_buffer_is_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
