// SPDX-License-Identifier: Apache-2.0
// Every public function with NULL for each pointer, a session that is closed, numbers out of range
// and files that are something else: a status and one line, and the process lives.
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../train/support.h"
#include "capture.h"
#include "cmocka_all.h"
#include "fixture.h"
#include "stannis/stannis.h"

static struct capture said;
static struct stn_session *session;
static struct stn_settings *settings; // of a training, without net and data

// It is refused as invalid, with one line that is the thread's last error.
static void refused_as(enum stn_status expected, enum stn_status status, const char *call)
{
    if (status != expected || said.lines != 1 || said.level != STN_LOG_ERROR ||
        strcmp(said.last, stn_last_error()) != 0) {
        fail_msg("%s: %s, %d lines, '%s'; last error '%s'", call, stn_status_name(status),
                 said.lines, said.last, stn_last_error());
    }
    said.lines = 0;
}

#define REFUSED(call)            refused_as(STN_ERR_INVALID, call, #call)
#define REFUSED_AS(status, call) refused_as(status, call, #call)

static int setup(void **state)
{
    (void)state;
    struct stn_session_options options = stn_session_defaults();
    options.sink = capture_sink;
    options.sink_context = &said;
    said = (struct capture){0};
    scratch_create(scratch);
    return stn_session_open(&options, &session) != STN_OK ||
           stn_settings_create(STN_VERB_TRAIN, &settings) != STN_OK;
}

static int teardown(void **state)
{
    (void)state;
    stn_settings_destroy(settings);
    stn_session_close(session);
    scratch_remove(scratch);
    return 0;
}

static void test_settings(void **state)
{
    (void)state;
    struct stn_settings *out = NULL;
    char text[8];
    REFUSED(stn_settings_create(STN_VERB_TRAIN, NULL));
    REFUSED(stn_settings_create((enum stn_verb)12345, &out));
    REFUSED(stn_settings_copy(NULL, &out));
    REFUSED(stn_settings_copy(settings, NULL));
    REFUSED(stn_settings_set(NULL, "net", "lenet"));
    REFUSED(stn_settings_set(settings, NULL, "lenet"));
    REFUSED(stn_settings_set(settings, "net", NULL));
    REFUSED(stn_settings_set(settings, "nett", "lenet"));
    REFUSED(stn_settings_set(settings, "batch", "-1"));
    REFUSED(stn_settings_set(settings, "schedule", "sine"));
    REFUSED(stn_settings_set_int(NULL, "batch", 1));
    REFUSED(stn_settings_set_int(settings, NULL, 1));
    REFUSED(stn_settings_set_int(settings, "batch", INT64_MAX));
    REFUSED(stn_settings_set_int(settings, "nesterov", 1));
    REFUSED(stn_settings_set_real(NULL, "lr", 1));
    REFUSED(stn_settings_set_real(settings, NULL, 1));
    REFUSED(stn_settings_set_real(settings, "lr", NAN));
    REFUSED(stn_settings_set_real(settings, "lr", -1));
    REFUSED(stn_settings_set_flag(NULL, "nesterov", true));
    REFUSED(stn_settings_set_flag(settings, NULL, true));
    REFUSED(stn_settings_set_flag(settings, "lr", true));
    REFUSED(stn_settings_set_text(NULL, "net", "lenet"));
    REFUSED(stn_settings_set_text(settings, NULL, "lenet"));
    REFUSED(stn_settings_set_text(settings, "net", NULL));
    REFUSED(stn_settings_reset(NULL, NULL));
    REFUSED(stn_settings_reset(settings, "nett"));
    REFUSED(stn_settings_get(NULL, "net", text, sizeof(text)));
    REFUSED(stn_settings_get(settings, NULL, text, sizeof(text)));
    REFUSED(stn_settings_get(settings, "lr", NULL, sizeof(text)));
    REFUSED(stn_settings_get(settings, "schedule", text, 2));
    stn_settings_destroy(NULL);
    assert_null(stn_setting_at(-1));
    assert_null(stn_setting_at(stn_setting_count()));
    assert_null(stn_verb_name((enum stn_verb)12345));
}

static void test_calls(void **state)
{
    (void)state;
    struct stn_train_result trained;
    struct stn_eval_result evaluated;
    struct stn_bench_result measured;
    struct stn_plan *plan;
    struct stn_predictor *predictor;
    REFUSED(stn_session_open(NULL, NULL));
    REFUSED(stn_train_run(NULL, settings, NULL, &trained));
    REFUSED(stn_train_run(session, NULL, NULL, &trained));
    REFUSED(stn_train_run(session, settings, NULL, NULL));
    REFUSED(stn_train_run(session, settings, NULL, &trained)); // neither net nor data
    REFUSED(stn_tune_run(NULL, settings, NULL, &plan));
    REFUSED(stn_tune_run(session, NULL, NULL, &plan));
    REFUSED(stn_tune_run(session, settings, NULL, NULL));
    REFUSED(stn_eval_run(NULL, settings, NULL, &evaluated));
    REFUSED(stn_eval_run(session, NULL, NULL, &evaluated));
    REFUSED(stn_eval_run(session, settings, NULL, NULL));
    REFUSED(stn_eval_run(session, settings, NULL, &evaluated)); // settings of another verb
    REFUSED(stn_bench_run(NULL, settings, NULL, &measured));
    REFUSED(stn_bench_run(session, NULL, NULL, &measured));
    REFUSED(stn_bench_run(session, settings, NULL, NULL));
    REFUSED(stn_bench_run(session, settings, NULL, &measured)); // settings of another verb
    REFUSED(stn_predictor_open(NULL, settings, &predictor));
    REFUSED(stn_predictor_open(session, NULL, &predictor));
    REFUSED(stn_predictor_open(session, settings, NULL));
    REFUSED(stn_predictor_open(session, settings, &predictor)); // settings of another verb
    stn_predictor_close(NULL);
    stn_session_close(NULL);
}

static void test_predictions(void **state)
{
    (void)state;
    struct stn_prediction best;
    int count;
    struct stn_predictor *predictor = (struct stn_predictor *)&best; // never looked into
    REFUSED(stn_predictor_classify(NULL, "photo.jpg", 1, &best, &count));
    REFUSED(stn_predictor_classify(predictor, NULL, 1, &best, &count));
    REFUSED(stn_predictor_classify(predictor, "photo.jpg", 1, NULL, &count));
    REFUSED(stn_predictor_classify(predictor, "photo.jpg", 1, &best, NULL));
    REFUSED(stn_predictor_classify(predictor, "photo.jpg", 0, &best, &count));
}

static void test_datasets(void **state)
{
    (void)state;
    const char *const names[] = {"a", NULL};
    const struct stn_dataset_options unnamed = {
        .spec = "synthetic", .class_names = names, .class_count = 2};
    const struct stn_dataset_options empty = {0}, wrong = {.spec = "nonsense:x"},
                                     good = {.spec = "synthetic:20"};
    struct stn_dataset *dataset, *private;
    REFUSED(stn_dataset_open(NULL, &dataset));
    REFUSED(stn_dataset_open(&empty, NULL));
    REFUSED(stn_dataset_open(&empty, &dataset));
    REFUSED(stn_dataset_open(&wrong, &dataset));
    REFUSED(stn_dataset_open(&unnamed, &dataset));
    assert_null(stn_dataset_info(NULL));
    assert_int_equal(stn_dataset_open(&good, &dataset), STN_OK);
    REFUSED(stn_dataset_open_private(NULL, dataset, &private));
    REFUSED(stn_dataset_open_private(".", NULL, &private));
    REFUSED(stn_dataset_open_private(".", dataset, NULL));
    int64_t counts[10];
    stn_dataset_class_counts(NULL, STN_SUBSET_TRAIN, counts);
    stn_dataset_class_counts(dataset, STN_SUBSET_TRAIN, NULL);
    stn_dataset_class_counts(dataset, STN_SUBSET_COUNT, counts);
    stn_dataset_close(dataset);
    stn_dataset_close(NULL);
}

static void test_models(void **state)
{
    (void)state;
    const struct stn_model_info *lenet = stn_model_find("lenet");
    const struct stn_model_shape shape = {.image_size = 28, .channels = 1, .classes = 10};
    struct stn_model_shape bad = shape;
    struct stn_model_info copy = *lenet;
    struct stn_model_cost cost;
    assert_null(stn_model_find(NULL));
    assert_null(stn_model_find(""));
    assert_null(stn_model_at(-1));
    assert_null(stn_model_at(INT_MAX));
    REFUSED(stn_model_measure(NULL, shape, 1, &cost));
    REFUSED(stn_model_measure(lenet, shape, 1, NULL));
    REFUSED(stn_model_measure(&copy, shape, 1, &cost));
    REFUSED(stn_model_measure(lenet, shape, 0, &cost));
    REFUSED(stn_model_measure(lenet, shape, INT_MAX, &cost));
    bad.classes = INT_MAX;
    REFUSED(stn_model_measure(lenet, bad, 1, &cost));
    bad.classes = -1;
    REFUSED(stn_model_measure(lenet, bad, 1, &cost));
    bad = shape;
    bad.channels = 2;
    REFUSED(stn_model_measure(lenet, bad, 1, &cost));
    bad = shape;
    bad.image_size = INT_MIN;
    REFUSED(stn_model_measure(lenet, bad, 1, &cost));
}

static void test_plans_and_profiles(void **state)
{
    (void)state;
    const char *file = in(scratch, "no.plan");
    struct stn_plan *plan;
    char *text;
    file_store(file, "{}", 2);
    REFUSED(stn_plan_read(NULL, &plan));
    REFUSED(stn_plan_read(file, NULL));
    REFUSED_AS(STN_ERR_CORRUPT, stn_plan_read(file, &plan));
    REFUSED_AS(STN_ERR_NOT_FOUND, stn_plan_read(in(scratch, "missing"), &plan));
    REFUSED(stn_plan_write(NULL, file));
    REFUSED(stn_plan_text(NULL, &text));
    assert_null(stn_plan_info(NULL));
    assert_null(stn_plan_node(NULL, 0));
    stn_plan_destroy(NULL);
    struct stn_profile *profile = NULL;
    REFUSED(stn_profile_create(NULL));
    assert_int_equal(stn_profile_create(&profile), STN_OK);
    assert_null(stn_profile_row(profile, 0));
    assert_null(stn_profile_event(profile, -1));
    assert_int_equal(stn_profile_row_count(NULL) + stn_profile_event_count(NULL), 0);
    assert_null(stn_profile_row(NULL, 0));
    assert_null(stn_profile_event(NULL, 0));
    stn_profile_destroy(profile);
    stn_profile_destroy(NULL);
}

static void test_checkpoints_that_are_none(void **state)
{
    (void)state;
    const char *file = in(scratch, "no.safetensors");
    struct stn_settings *wanted;
    struct stn_predictor *predictor;
    struct stn_eval_result evaluated;
    file_store(file, "not a checkpoint", 16);
    assert_int_equal(stn_settings_create(STN_VERB_PREDICT, &wanted), STN_OK);
    REFUSED(stn_predictor_open(session, wanted, &predictor));
    assert_int_equal(stn_settings_set(wanted, "checkpoint", file), STN_OK);
    REFUSED_AS(STN_ERR_CORRUPT, stn_predictor_open(session, wanted, &predictor));
    assert_null(predictor);
    stn_settings_destroy(wanted);
    assert_int_equal(stn_settings_create(STN_VERB_EVAL, &wanted), STN_OK);
    REFUSED(stn_eval_run(session, wanted, NULL, &evaluated));
    assert_int_equal(stn_settings_set(wanted, "checkpoint", file), STN_OK);
    REFUSED_AS(STN_ERR_CORRUPT, stn_eval_run(session, wanted, NULL, &evaluated));
    stn_settings_destroy(wanted);
}

static void test_status_and_log(void **state)
{
    (void)state;
    assert_string_equal(stn_status_name((enum stn_status)999), "ERR_INTERNAL");
    assert_string_equal(stn_status_text((enum stn_status) - 5), "internal error");
    assert_int_equal(stn_status_exit_code((enum stn_status)999), 1);
    stn_log((enum stn_log_level)77, "%s", "dropped");
    stn_log((enum stn_log_level) - 1, "%s", "dropped");
    assert_int_equal(said.lines, 0);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_datasets),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_plans_and_profiles),
        cmocka_unit_test(test_checkpoints_that_are_none),
        cmocka_unit_test(test_status_and_log),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), setup, teardown);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
