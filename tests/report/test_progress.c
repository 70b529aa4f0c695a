// SPDX-License-Identifier: Apache-2.0
// What appears on the screen, to the byte where it matters.
#include "report/progress.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "crew_run.h"
#include "run.h"

static char *shown;

// Runs a made-up training through a progress display; the output stays in `shown`.
static void show_run(const struct report_progress_options *look,
                     void (*run)(const struct stn_train_observer *, double), double step_seconds)
{
    size_t size;
    free(shown);
    struct report_progress_options options = *look;
    options.stream = open_memstream(&shown, &size);
    struct report_progress *progress = report_progress_create(&options);
    struct stn_train_observer observer = report_progress_observer(progress);
    run(&observer, step_seconds);
    report_progress_destroy(progress);
    fclose(options.stream);
}

static void show(enum report_progress_style style, bool colour, int columns, double step_seconds)
{
    const struct report_progress_options look = {
        .style = style, .colour = colour, .utf8 = true, .columns = columns};
    show_run(&look, run_all, step_seconds);
}

static void run_crew(const struct stn_train_observer *observer, double step_seconds)
{
    (void)step_seconds;
    crew_run(observer);
}

static void show_crew(enum report_progress_style style, int lines)
{
    const struct report_progress_options look = {
        .style = style, .utf8 = true, .columns = 100, .lines = lines};
    show_run(&look, run_crew, 0);
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

static void a_terminal_gets_a_row_a_node(void **state)
{
    (void)state;
    show_crew(REPORT_TERMINAL, 24);
    assert_shown("\r\033[5Aepoch 1/1 "); // line, header and four nodes, over the last ones
    assert_shown("\n  csd.1       2 (32)▼ ");
    assert_shown(" 2.0 ×  -2 at step 41: another process in its share\033[K\n");
    // Before a line that stays, all six are taken away.
    assert_shown("\r\033[5A\033[Jstep 41: work moved: ");
}

static void a_low_terminal_gets_what_fits(void **state)
{
    (void)state;
    show_crew(REPORT_TERMINAL, 5); // the moving line, a free line and three
    assert_shown("\r\033[3Aepoch 1/1 ");
    assert_shown("\n  3 more    22 (352)");
    show_crew(REPORT_TERMINAL, 2);
    assert_null(strstr(shown, "▼"));
    assert_shown("\repoch 1/1 ");
}

static void plain_tells_each_change_once(void **state)
{
    (void)state;
    show_crew(REPORT_PLAIN, 24);
    assert_int_equal(occurrences("step 41: work moved: "), 1);
    assert_int_equal(occurrences("step 41: csd.1 is 2.0 × slower"), 1);
    assert_int_equal(occurrences("step 63: csd.1 is as fast as before again"), 1);
    assert_int_equal(occurrences("\033"), 0);
    assert_shown("what happened\n"
                 "  csd.1: up to 2.1 × slower in steps 40–62 (another process in its share), 2 "
                 "instead of 4 micro-batches, cost 3.4 s\n");
}

static void run_many_incidents(const struct stn_train_observer *observer, double step_seconds)
{
    (void)step_seconds;
    const struct stn_train_start start = crew_start();
    observer->start(observer->context, &start);
    for (int i = 0; i < 10; i++) {
        crew_change(observer, (struct stn_train_change){.kind = STN_CHANGE_RECOVERED,
                                                        .step = 20 * i + 15,
                                                        .node = 1,
                                                        .before = crew_first,
                                                        .after = crew_first,
                                                        .cause = "unknown",
                                                        .slowdown = 1.5,
                                                        .since_step = 20 * i + 10,
                                                        .cost_seconds = i == 3 || i == 9 ? 1 : 5});
    }
    observer->nodes(observer->context, start.node, start.nodes);
}

static void of_many_incidents_the_costly_remain(void **state)
{
    (void)state;
    const struct report_progress_options look = {.style = REPORT_PLAIN};
    show_run(&look, run_many_incidents, 0);
    const char *end = strstr(shown, "what happened\n");
    assert_non_null(end);
    memmove(shown, end, strlen(end) + 1);
    assert_int_equal(occurrences("csd.0: up to"), 8);
    assert_int_equal(occurrences("cost 1.0 s"), 0);
    assert_shown("  and 2 more, which cost less\n");
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
        cmocka_unit_test(a_terminal_gets_a_row_a_node),
        cmocka_unit_test(a_low_terminal_gets_what_fits),
        cmocka_unit_test(plain_tells_each_change_once),
        cmocka_unit_test(of_many_incidents_the_costly_remain),
    };
    return cmocka_run_group_tests(tests, NULL, free_shown);
}
