// SPDX-License-Identifier: Apache-2.0
// Messages and statuses.
#include "stannis/log.h"

#include <string.h>

#include "base/setting_mark.h"
#include "capture.h"
#include "cmocka_all.h"
#include "stannis/status.h"

static void a_failure_is_one_line_and_its_status(void **state)
{
    (void)state;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(stn_fail(STN_ERR_CORRUPT, "%s:%d: bad", "a\nb\r", 3), STN_ERR_CORRUPT);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_int_equal(capture.level, STN_LOG_ERROR);
    assert_string_equal(capture.last, "a b :3: bad");
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct capture capture;
    capture_start(&capture);
    stn_log(STN_LOG_WARN, "%s", text);
    capture_stop();
    assert_int_equal(strlen(capture.last), 1023);
}

// The mark before a setting's name is the program's prefix, or nothing; also where the line is
// full.
static void settings_are_named_as_the_program_likes(void **state)
{
    (void)state;
    struct capture capture;
    capture_start(&capture);
    stn_log(STN_LOG_WARN, BASE_SETTING "batch %d: not with " BASE_SETTING "plan", 3);
    assert_string_equal(capture.last, "batch 3: not with plan");
    base_setting_prefix("--");
    stn_log(STN_LOG_WARN, BASE_SETTING "batch %d: not with " BASE_SETTING "plan", 3);
    assert_string_equal(capture.last, "--batch 3: not with --plan");
    char text[1100];
    memset(text, BASE_SETTING_CHAR, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    stn_log(STN_LOG_WARN, "x%s", text);
    assert_int_equal(strlen(capture.last), 1023);
    base_setting_prefix("");
    capture_stop();
}

static void levels_above_the_set_one_are_dropped(void **state)
{
    (void)state;
    struct capture capture;
    capture_start(&capture);
    stn_log(STN_LOG_DEBUG, "not by default");
    assert_int_equal(capture.lines, 0);
    stn_log_set_level(STN_LOG_DEBUG);
    stn_log(STN_LOG_DEBUG, "now");
    stn_log_set_level(STN_LOG_ERROR);
    stn_log(STN_LOG_WARN, "not");
    stn_log_set_level(STN_LOG_INFO);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_string_equal(capture.last, "now");
}

static void statuses_have_names_texts_and_exit_codes(void **state)
{
    (void)state;
    assert_int_equal(stn_status_exit_code(STN_OK), 0);
    assert_int_equal(stn_status_exit_code(STN_ERR_INVALID), 2);
    assert_int_equal(stn_status_exit_code(STN_ERR_NO_SPACE), 1);
    assert_int_equal(stn_status_exit_code(STN_ERR_INTERRUPTED), 130);
    assert_string_equal(stn_status_name(STN_ERR_DIVERGED), "ERR_DIVERGED");
    assert_string_equal(stn_status_text(STN_ERR_DIVERGED), "training diverged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_one_line_and_its_status),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(settings_are_named_as_the_program_likes),
        cmocka_unit_test(levels_above_the_set_one_are_dropped),
        cmocka_unit_test(statuses_have_names_texts_and_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
