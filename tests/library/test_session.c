// SPDX-License-Identifier: Apache-2.0
// The session: once in a process at a time, again after closing, and what it says to mistakes.
#include <string.h>

#include "../train/small_run.h"
#include "../train/support.h"
#include "capture.h"
#include "cmocka_all.h"
#include "stannis/stannis.h"

static struct capture said;

static struct stn_session *open_heard(void)
{
    struct stn_session_options options = stn_session_defaults();
    options.sink = capture_sink;
    options.sink_context = &said;
    said = (struct capture){0};
    struct stn_session *session = NULL;
    assert_int_equal(stn_session_open(&options, &session), STN_OK);
    assert_non_null(session);
    return session;
}

// One line, to the sink and to stn_last_error, that begins with `words`.
static void assert_said(const char *words)
{
    assert_int_equal(said.lines, 1);
    assert_int_equal(said.level, STN_LOG_ERROR);
    assert_string_equal(said.last, stn_last_error());
    assert_int_equal(strncmp(said.last, words, strlen(words)), 0);
    said.lines = 0;
}

static void test_open_close_open(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct stn_session *session = open_heard();
        assert_int_equal(stn_session_nodes(session), 1);
        assert_int_equal(stn_session_rank(session), 0);
        stn_session_close(session);
        assert_int_equal(stn_session_nodes(session), -1);
        assert_int_equal(stn_session_rank(session), -1);
        stn_session_close(session); // closed already
    }
    stn_session_close(NULL);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    struct stn_session *session = open_heard(), *second = session;
    assert_int_equal(stn_session_open(NULL, &second), STN_ERR_INVALID);
    assert_null(second);
    assert_said("stn_session_open: there is a session already");
    stn_session_close(session);
}

static void test_level_and_sink_are_the_sessions(void **state)
{
    (void)state;
    struct stn_session_options options = stn_session_defaults();
    options.sink = capture_sink;
    options.sink_context = &said;
    options.level = STN_LOG_WARN;
    said = (struct capture){0};
    struct stn_session *session;
    assert_int_equal(stn_session_open(&options, &session), STN_OK);
    stn_log(STN_LOG_INFO, "dropped");
    assert_int_equal(said.lines, 0);
    stn_log(STN_LOG_WARN, "heard");
    assert_int_equal(said.lines, 1);
    stn_session_close(session);
    stn_log_set_level(STN_LOG_ERROR);
    stn_log(STN_LOG_WARN, "not to the session's sink");
    assert_int_equal(said.lines, 1);
    stn_log_set_level(STN_LOG_INFO);
}

static struct stn_settings quick(void)
{
    struct stn_settings settings = {.verb = STN_VERB_TRAIN, .values = small_settings(NULL)};
    settings.values.epochs = 1;
    settings.values.steps = 2;
    return settings;
}

static void test_trainings_and_a_tuning_one_after_the_other(void **state)
{
    (void)state;
    struct stn_session *session = open_heard();
    struct stn_settings settings = quick();
    double loss[2];
    for (int i = 0; i < 2; i++) {
        struct stn_train_result result;
        assert_int_equal(stn_train_run(session, &settings, NULL, &result), STN_OK);
        assert_int_equal(result.steps, 2);
        loss[i] = result.loss;
        struct stn_plan *plan = NULL;
        settings.values.tune_seconds = 0.05;
        assert_int_equal(stn_tune_run(session, &settings, NULL, &plan), STN_OK);
        assert_non_null(plan);
        stn_plan_destroy(plan);
    }
    assert_true(loss[0] == loss[1]);
    stn_session_close(session);
}

struct nested {
    struct stn_session *session;
    enum stn_status status;
    char line[256];
};

static void train_within(void *context, const struct stn_train_start *start)
{
    (void)start;
    struct nested *nested = context;
    struct stn_settings settings = quick();
    struct stn_train_result result;
    nested->status = stn_train_run(nested->session, &settings, NULL, &result);
    snprintf(nested->line, sizeof(nested->line), "%s", stn_last_error());
    stn_session_close(nested->session); // refused: the outer call goes on
}

static void test_a_call_within_a_call_is_refused(void **state)
{
    (void)state;
    struct nested nested = {.session = open_heard()};
    struct stn_train_observer observer = {.context = &nested, .start = train_within};
    struct stn_settings settings = quick();
    struct stn_train_result result;
    assert_int_equal(stn_train_run(nested.session, &settings, &observer, &result), STN_OK);
    assert_int_equal(nested.status, STN_ERR_INVALID);
    assert_non_null(strstr(nested.line, "another call is using the session"));
    assert_int_equal(stn_session_nodes(nested.session), 1);
    stn_session_close(nested.session);
}

static void test_closed_and_missing_sessions(void **state)
{
    (void)state;
    struct stn_session *closed = open_heard();
    stn_session_close(closed);
    capture_start(&said);
    struct stn_settings settings = quick();
    struct stn_train_result result;
    assert_int_equal(stn_train_run(closed, &settings, NULL, &result), STN_ERR_INVALID);
    assert_said("stn_train_run: this session is not open");
    assert_int_equal(stn_train_run(NULL, &settings, NULL, &result), STN_ERR_INVALID);
    assert_said("stn_train_run: no session");
    capture_stop();
}

static void test_last_error_is_of_the_last_call(void **state)
{
    (void)state;
    struct stn_session *session = open_heard();
    struct stn_settings settings = quick();
    struct stn_train_result result;
    settings.values.net = "lenot";
    assert_int_equal(stn_train_run(session, &settings, NULL, &result), STN_ERR_INVALID);
    assert_non_null(strstr(stn_last_error(), "lenet"));
    assert_int_equal(strncmp(stn_last_error(), "net lenot: ", 11), 0); // as the sink heard it
    settings.values.net = "lenet";
    assert_int_equal(stn_train_run(session, &settings, NULL, &result), STN_OK);
    assert_string_equal(stn_last_error(), "");
    stn_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_close_open),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_level_and_sink_are_the_sessions),
        cmocka_unit_test(test_trainings_and_a_tuning_one_after_the_other),
        cmocka_unit_test(test_a_call_within_a_call_is_refused),
        cmocka_unit_test(test_closed_and_missing_sessions),
        cmocka_unit_test(test_last_error_is_of_the_last_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
