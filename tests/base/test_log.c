// SPDX-License-Identifier: Apache-2.0
// Messages and statuses.
#include "stannis/log.h"

#include <string.h>

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
        cmocka_unit_test(levels_above_the_set_one_are_dropped),
        cmocka_unit_test(statuses_have_names_texts_and_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
