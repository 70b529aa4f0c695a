// SPDX-License-Identifier: Apache-2.0
// What appears on the screen, to the byte where it matters.
#include "report/progress.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "run.h"

static char *shown;

// Runs the made-up training through a progress display; the output stays in `shown`.
static void show(enum report_progress_style style, bool colour, int columns, double step_seconds)
{
    size_t size;
    free(shown);
    FILE *stream = open_memstream(&shown, &size);
    struct report_progress_options options = {
        .stream = stream, .style = style, .colour = colour, .utf8 = true, .columns = columns};
    struct report_progress *progress = report_progress_create(&options);
    struct stn_train_observer observer = report_progress_observer(progress);
    run_all(&observer, step_seconds);
    report_progress_destroy(progress);
    fclose(stream);
}

static int occurrences(const char *needle)
{
    int count = 0;
    for (const char *at = shown; (at = strstr(at, needle)); at += strlen(needle)) {
        count++;
    }
    return count;
}

static void assert_shown(const char *needle)
{
    if (!strstr(shown, needle)) {
        fail_msg("not shown: \"%s\"\nshown:\n%s", needle, shown);
    }
}

static void the_start_says_what_runs(void **state)
{
    (void)state;
    show(REPORT_PLAIN, false, 80, 0.1);
    assert_shown("net       lenet, 61,706 parameters, 417 k MACs an image\n");
    assert_shown(
        "data      synthetic, 100 training and 50 validation images, 10 classes, 28×28×1\n");
    assert_shown("run       2 epochs, 20 steps of 10 images (micro-batches of 5), seed "
                 "18446744073709551615\n");
    assert_shown("cpu       2 threads (affinity 4, cgroup quota 1.50), 1 for loading\n");
    assert_shown("engine    reference, 1.00 MiB planned\n");
    assert_null(strstr(shown, "resumed"));
}

static void plain_has_no_control_characters(void **state)
{
    (void)state;
    show(REPORT_PLAIN, false, 80, 1.0);
    for (const char *c = shown; *c; c++) {
        assert_true(*c == '\n' || (unsigned char)*c >= ' ');
    }
    assert_shown("epoch 1/2   50 %  loss 0.5000  acc 50.0 %  10.0 img/s  ETA 0:15\n");
    assert_shown("epoch 1/2     0.5000   50.0 %     0.2500   87.5 %       10.0     0:11  best\n");
    assert_shown("epoch 2/2     0.5000   50.0 %     0.2500   87.5 %       10.0     0:11\n");
}

static void plain_is_sparse_when_steps_are_fast(void **state)
{
    (void)state;
    show(REPORT_PLAIN, false, 80, 0.0001);
    assert_int_equal(occurrences("ETA"), 0);
    show(REPORT_PLAIN, false, 80, 1.0);
    assert_int_equal(occurrences("ETA"), 20);
    show(REPORT_PLAIN, false, 80, 0.5);
    assert_int_equal(occurrences("ETA"), 10);
}

static void a_terminal_gets_one_moving_line(void **state)
{
    (void)state;
    show(REPORT_TERMINAL, false, 80, 0.1);
    assert_true(occurrences("\r") > 20);
    assert_int_equal(occurrences("\n"), 5 + 1 + 2); // start block, header, rows
    assert_int_equal(occurrences("evaluating"), 2 * 51);
    assert_int_equal(occurrences("\033[3"), 0);
    assert_shown("★ best\n");
    // The line is gone when the row appears and when all is over.
    assert_shown("\r\033[Kepoch 2/2     0.5000");
    assert_int_equal(shown[strlen(shown) - 1], '\n');
}

static void a_terminal_is_not_redrawn_more_than_ten_times_a_second(void **state)
{
    (void)state;
    show(REPORT_TERMINAL, false, 80, 0.01);
    assert_in_range(occurrences("ETA"), 4, 6);
}

static void colour_only_where_asked(void **state)
{
    (void)state;
    show(REPORT_TERMINAL, true, 80, 0.1);
    assert_shown("\033[32m");
    assert_shown("\033[33m  ★ best\033[0m");
}

static void a_plain_stream_is_detected(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_int_equal(report_progress_detect(file).style, REPORT_PLAIN);
    assert_false(report_progress_detect(file).colour);
    fclose(file);
}

static int free_shown(void **state)
{
    (void)state;
    free(shown);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_says_what_runs),
        cmocka_unit_test(plain_has_no_control_characters),
        cmocka_unit_test(plain_is_sparse_when_steps_are_fast),
        cmocka_unit_test(a_terminal_gets_one_moving_line),
        cmocka_unit_test(a_terminal_is_not_redrawn_more_than_ten_times_a_second),
        cmocka_unit_test(colour_only_where_asked),
        cmocka_unit_test(a_plain_stream_is_detected),
    };
    return cmocka_run_group_tests(tests, NULL, free_shown);
}
