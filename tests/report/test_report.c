// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "cmocka_all.h"
#include "crew_run.h"
#include "run.h"

static char folder[] = "/tmp/stannis-report-XXXXXX";
static char path[64];
static const struct stn_train_result result = {.steps = 20,
                                               .images = 200,
                                               .seconds = 2.5,
                                               .images_per_second = 100,
                                               .wait_share = 0.01,
                                               .loss = NAN,
                                               .accuracy = 0.875,
                                               .best_accuracy = 0.9,
                                               .skipped = 3,
                                               .threads = 2};

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + sizeof(folder) - 7, "XXXXXX");
    bool ok = mkdtemp(folder) != NULL;
    snprintf(path, sizeof(path), "%s/report.json", folder);
    return ok ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); // fails, and the test with it, when a temporary file was left
}

static enum stn_status write_to(const char *file)
{
    struct report *report;
    assert_int_equal(report_create(&report), STN_OK);
    struct stn_train_observer observer = report_observer(report);
    run_all(&observer, 0.1);
    enum stn_status status = report_write(report, file, STN_ERR_INTERRUPTED, &result);
    report_destroy(report);
    return status;
}

static void incidents_of_a_cluster_remain(void **state)
{
    (void)state;
    struct report *report;
    assert_int_equal(report_create(&report), STN_OK);
    struct stn_train_observer observer = report_observer(report);
    crew_run(&observer);
    assert_int_equal(report_write(report, path, STN_OK, &result), STN_OK);
    report_destroy(report);
    json_t *object = json_load_file(path, 0, NULL);
    json_t *incidents = json_object_get(object, "incidents");
    assert_int_equal(json_array_size(incidents), 1);
    json_t *incident = json_array_get(incidents, 0);
    assert_string_equal(json_string_value(json_object_get(incident, "node")), "csd.1");
    assert_int_equal(json_integer_value(json_object_get(incident, "since_step")), 40);
    assert_int_equal(json_integer_value(json_object_get(incident, "until_step")), 63);
    assert_int_equal(json_integer_value(json_object_get(object, "moves")), 2);
    json_decref(object);
}

static void the_report_holds_what_it_must(void **state)
{
    (void)state;
    assert_int_equal(write_to(path), STN_OK);
    json_t *object = json_load_file(path, 0, NULL);
    assert_non_null(object);
    static const char *const keys[] = {
        "net",    "images",      "seconds", "images_per_second", "loss",      "accuracy",
        "epochs", "peak_memory", "threads", "versions",          "seed",      "config",
        "status", "data",        "steps",   "skipped",           "wait_share"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!json_object_get(object, keys[i])) {
            fail_msg("the report has no \"%s\"", keys[i]);
        }
    }
    assert_int_equal(json_array_size(json_object_get(object, "epochs")), 2);
    assert_string_equal(json_string_value(json_object_get(object, "net")), "lenet");
    assert_string_equal(json_string_value(json_object_get(object, "status")), "interrupted");
    assert_string_equal(json_string_value(json_object_get(object, "seed")), "18446744073709551615");
    assert_true(json_is_null(json_object_get(object, "loss")));
    assert_true(json_integer_value(json_object_get(object, "peak_memory")) > 0);
    json_decref(object);
}

static void an_older_report_is_replaced_as_a_whole(void **state)
{
    (void)state;
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 10000; i++) {
        fputs("something longer than a report ", f);
    }
    fclose(f);
    assert_int_equal(write_to(path), STN_OK);
    json_t *object = json_load_file(path, 0, NULL);
    assert_non_null(object);
    json_decref(object);
}

static void a_device_is_written_to_not_replaced(void **state)
{
    (void)state;
    struct stat info;
    struct capture capture;
    assert_int_equal(write_to("/dev/null"), STN_OK);
    capture_start(&capture);
    assert_int_equal(write_to("/dev/full"), STN_ERR_NO_SPACE);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void a_path_is_checked_beforehand(void **state)
{
    (void)state;
    struct capture capture;
    assert_int_equal(report_check_path(path), STN_OK);
    assert_int_equal(report_check_path("x.json"), STN_OK);
    assert_int_equal(report_check_path("/dev/null"), STN_OK);
    capture_start(&capture);
    assert_int_equal(report_check_path("/nowhere/x.json"), STN_ERR_IO);
    assert_int_equal(report_check_path(folder), STN_ERR_IO);
    capture_stop();
    assert_int_equal(capture.lines, 2);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(incidents_of_a_cluster_remain),
        FOLDER_TEST(the_report_holds_what_it_must),
        FOLDER_TEST(an_older_report_is_replaced_as_a_whole),
        FOLDER_TEST(a_device_is_written_to_not_replaced),
        FOLDER_TEST(a_path_is_checked_beforehand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
