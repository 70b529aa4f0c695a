// SPDX-License-Identifier: Apache-2.0
#include "report/events.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "cmocka_all.h"
#include "crew_run.h"
#include "report/fanout.h"
#include "run.h"

static char path[] = "/tmp/stannis-events-XXXXXX";
static json_t *lines;

static int make_file(void **state)
{
    (void)state;
    strcpy(path + sizeof(path) - 7, "XXXXXX");
    int fd = mkstemp(path);
    lines = json_array();
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    json_decref(lines);
    return unlink(path);
}

static void read_lines(void)
{
    char line[2048];
    json_array_clear(lines);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        json_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        json_array_append_new(lines, object);
    }
    fclose(f);
}

static double number(size_t line, const char *key)
{
    json_t *value = json_object_get(json_array_get(lines, line), key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void every_step_and_epoch_has_a_line(void **state)
{
    (void)state;
    static struct report_events events;
    assert_int_equal(report_events_open(&events, path, false), STN_OK);
    struct stn_train_observer observer = report_events_observer(&events);
    run_all(&observer, 0.1);
    report_events_close(&events);
    read_lines();
    assert_int_equal(json_array_size(lines), RUN_EPOCHS * (RUN_STEPS + 1));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        number(i, "step"), number(i, "epoch"), number(i, "loss"), number(i, "accuracy");
        number(i, "images_per_second"), number(i, "seconds");
    }
    assert_int_equal(number(3, "step"), 4);
    assert_true(number(3, "wait_seconds") == 0.001);
    const char *event = json_string_value(json_object_get(json_array_get(lines, 10), "event"));
    assert_string_equal(event, "epoch");
    assert_true(number(10, "val_accuracy") == 0.875);
}

static double element(size_t line, const char *key, size_t node)
{
    json_t *array = json_object_get(json_array_get(lines, line), key);
    assert_int_equal(json_array_size(array), CREW_NODES);
    return json_number_value(json_array_get(array, node));
}

static void steps_of_a_cluster_say_what_each_node_did(void **state)
{
    (void)state;
    static struct report_events events;
    assert_int_equal(report_events_open(&events, path, false), STN_OK);
    struct stn_train_observer observer = report_events_observer(&events);
    crew_run(&observer);
    report_events_close(&events);
    read_lines();
    assert_int_equal(json_array_size(lines), 1 + 100 + 4 + 1); // start, steps, changes, nodes
    json_t *names = json_object_get(json_array_get(lines, 0), "nodes");
    assert_string_equal(json_string_value(json_array_get(names, 2)), "csd.1");
    assert_int_equal(element(41, "split", 2), 4);
    assert_true(element(41, "compute_s", 2) == 2);
    assert_true(element(41, "wait_s", 2) == 0);
    assert_true(element(41, "wait_s", 0) == 1);
    assert_true(element(41, "slowdown", 2) == 2);
    static const char *const more[] = {"data_s", "queue_s", "throttled_s", "cpu_s", "share_cpu_s"};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        assert_true(element(41, more[i], 1) == 0);
    }
    const char *event = json_string_value(json_object_get(json_array_get(lines, 42), "event"));
    assert_string_equal(event, "change");
    assert_int_equal(element(42, "after", 2), 2);
    assert_int_equal(element(44, "split", 2), 2); // of step 42
}

static void a_line_is_there_as_soon_as_its_step(void **state)
{
    (void)state;
    static struct report_events events;
    assert_int_equal(report_events_open(&events, path, false), STN_OK);
    struct stn_train_observer observer = report_events_observer(&events);
    run_epoch(&observer, 1, 0.1, 0.5);
    read_lines();
    assert_int_equal(json_array_size(lines), RUN_STEPS + 1);
    report_events_close(&events);
}

static void a_resumed_run_appends(void **state)
{
    (void)state;
    static struct report_events events;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(report_events_open(&events, path, i > 0), STN_OK);
        struct stn_train_observer observer = report_events_observer(&events);
        run_epoch(&observer, i + 1, 0.1, 0.5);
        report_events_close(&events);
    }
    read_lines();
    assert_int_equal(json_array_size(lines), 2 * (RUN_STEPS + 1));
}

static void nan_is_null(void **state)
{
    (void)state;
    static struct report_events events;
    assert_int_equal(report_events_open(&events, path, false), STN_OK);
    struct stn_train_observer observer = report_events_observer(&events);
    run_epoch(&observer, 1, 0.1, NAN);
    report_events_close(&events);
    read_lines();
    assert_true(json_is_null(json_object_get(json_array_get(lines, 0), "loss")));
}

static void a_full_disk_is_said_once(void **state)
{
    (void)state;
    static struct report_events events;
    struct capture capture;
    assert_int_equal(report_events_open(&events, "/dev/full", false), STN_OK);
    struct stn_train_observer observer = report_events_observer(&events);
    capture_start(&capture);
    run_all(&observer, 0.1);
    report_events_close(&events);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_int_equal(capture.level, STN_LOG_WARN);
    assert_non_null(strstr(capture.last, "/dev/full: cannot write events: No space left"));
}

static void a_file_that_cannot_be_opened_is_an_error(void **state)
{
    (void)state;
    static struct report_events events;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(report_events_open(&events, "/nowhere/at/all", false), STN_ERR_IO);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    report_events_close(&events);
}

static void a_watcher_gets_the_start_and_the_files_too(void **state)
{
    (void)state;
    static struct report_events events;
    FILE *stream = fopen(path, "w");
    assert_int_equal(report_events_attach(&events, fileno(stream), "test"), STN_OK);
    struct report_fanout fanout = {0};
    report_fanout_add(&fanout, report_events_observer(&events));
    struct stn_train_observer observer = report_fanout_observer(&fanout);
    run_all(&observer, 0.1);
    report_events_close(&events);
    fclose(stream);
    read_lines();
    size_t last = json_array_size(lines) - 1;
    assert_string_equal(json_string_value(json_object_get(json_array_get(lines, 0), "event")),
                        "start");
    assert_string_equal(json_string_value(json_object_get(json_array_get(lines, last), "path")),
                        "run/last.safetensors");
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(every_step_and_epoch_has_a_line),
        FILE_TEST(steps_of_a_cluster_say_what_each_node_did),
        FILE_TEST(a_line_is_there_as_soon_as_its_step),
        FILE_TEST(a_resumed_run_appends),
        FILE_TEST(nan_is_null),
        FILE_TEST(a_full_disk_is_said_once),
        FILE_TEST(a_file_that_cannot_be_opened_is_an_error),
        FILE_TEST(a_watcher_gets_the_start_and_the_files_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
