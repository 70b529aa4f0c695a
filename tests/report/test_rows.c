// SPDX-License-Identifier: Apache-2.0
// The rows of nodes, to the letter: as wide and as high as the window allows.
#include "fixture.h"
#include "report/rows.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "crew_run.h"
#include "report/format.h"

static struct report_crew crew;

static void take_step(void *context, const struct stn_train_step *step)
{
    report_crew_step(context, step);
}

static void take_change(void *context, const struct stn_train_change *change)
{
    report_crew_change(context, change);
}

static const struct stn_train_observer observer = {
    .context = &crew, .step = take_step, .change = take_change};

static int begin(void **state)
{
    (void)state;
    const struct stn_train_start start = crew_start();
    return report_crew_start(&crew, &start) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    report_crew_fini(&crew);
    return 0;
}

// Up to step 44: slow since 40, noticed in 41, and three steps with less work.
static void slow_down(void)
{
    crew_step(&observer, 40, crew_first, 2);
    crew_step(&observer, 41, crew_first, 2);
    crew_slows(&observer);
    for (int64_t step = 42; step < 60; step++) {
        crew_step(&observer, step, crew_moved, 2);
    }
    crew.step = 44;
}

static void assert_rows(int columns, int lines, bool utf8, const char *expected)
{
    struct report_rows rows = report_rows_plan(&crew, columns, lines, false, utf8);
    char shown[8192];
    struct report_writer w = {shown, sizeof(shown), 0};
    shown[0] = '\0';
    assert_true(rows.lines <= lines);
    for (int i = 0; i < rows.lines; i++) {
        char line[REPORT_ROW_BYTES];
        report_rows_line(&rows, i, line);
        assert_true(report_columns(line) <= columns);
        report_put(&w, "%s\n", line);
    }
    assert_string_equal(shown, expected);
}

static void before_the_first_step_there_are_shares(void **state)
{
    (void)state;
    assert_rows(60, 10, true,
                "  node         share     img/s  computing             slower\n"
                "  host      12 (192)         -  ──────────────   0 %\n"
                "  csd.0       4 (64)         -  ──────────────   0 %\n"
                "  csd.1       4 (64)         -  ──────────────   0 %\n"
                "  csd.2       4 (64)         -  ──────────────   0 %\n");
}

static void a_wide_window_shows_all(void **state)
{
    (void)state;
    slow_down();
    assert_rows(
        120, 10, true,
        "  node         share     img/s  computing                     slower  last change\n"
        "  host      13 (208)▲      192  ━━━━━━━━━━━━━━━━━━━───  87 %          +1 at step 41\n"
        "  csd.0       5 (80)▲     64.0  ━━━━━━━━━━━━━━━━━━━━━━ 100 %          +1 at step 41\n"
        "  csd.1       2 (32)▼     32.0  ━━━━━━━━━━━━━━━━━╸────  80 %   2.0 ×  -2 at step 41: "
        "another process in its share\n"
        "  csd.2       4 (64)      64.0  ━━━━━━━━━━━━━━━━━╸────  80 %\n");
}

static void eighty_columns(void **state)
{
    (void)state;
    slow_down();
    assert_rows(80, 10, true,
                "  node         share     img/s  computing       slower  last change\n"
                "  host      13 (208)▲      192  ━━━━━━━─  87 %          +1 at step 41\n"
                "  csd.0       5 (80)▲     64.0  ━━━━━━━━ 100 %          +1 at step 41\n"
                "  csd.1       2 (32)▼     32.0  ━━━━━━╸─  80 %   2.0 ×  -2 at step 41: another …\n"
                "  csd.2       4 (64)      64.0  ━━━━━━╸─  80 %\n");
    assert_rows(80, 10, false,
                "  node         share     img/s  computing       slower  last change\n"
                "  host      13 (208)+      192  #######-  87 %          +1 at step 41\n"
                "  csd.0       5 (80)+     64.0  ######## 100 %          +1 at step 41\n"
                "  csd.1       2 (32)-     32.0  ######--  80 %   2.0 x  -2 at step 41: another..\n"
                "  csd.2       4 (64)      64.0  ######--  80 %\n");
}

static void narrow_windows_lose_columns_from_the_right(void **state)
{
    (void)state;
    slow_down();
    assert_rows(55, 10, true,
                "  node         share     img/s  computing        slower\n"
                "  host      13 (208)▲      192  ━━━━━━━━─  87 %\n"
                "  csd.0       5 (80)▲     64.0  ━━━━━━━━━ 100 %\n"
                "  csd.1       2 (32)▼     32.0  ━━━━━━━──  80 %   2.0 ×\n"
                "  csd.2       4 (64)      64.0  ━━━━━━━──  80 %\n");
    assert_rows(35, 10, true,
                "  node         share     img/s\n"
                "  host      13 (208)▲      192\n"
                "  csd.0       5 (80)▲     64.0\n"
                "  csd.1       2 (32)▼     32.0\n"
                "  csd.2       4 (64)      64.0\n");
    assert_rows(20, 10, true, "");
}

static void low_windows_keep_what_something_happened_to(void **state)
{
    (void)state;
    slow_down();
    assert_rows(70, 4, true,
                "  node         share     img/s  computing       slower  last change\n"
                "  host      13 (208)▲      192  ━━━━━━━─  87 %          +1 at step 41\n"
                "  csd.1       2 (32)▼     32.0  ━━━━━━╸─  80 %   2.0 ×  -2 at step 41…\n"
                "  2 more     9 (144)       128  ━━━━━━━─  90 %\n");
    assert_rows(70, 3, true,
                "  node         share     img/s  computing       slower  last change\n"
                "  csd.1       2 (32)▼     32.0  ━━━━━━╸─  80 %   2.0 ×  -2 at step 41…\n"
                "  3 more    22 (352)       320  ━━━━━━━─  89 %\n");
    assert_rows(70, 1, true, "");
}

static void afterwards_it_is_as_fast_as_before(void **state)
{
    (void)state;
    slow_down();
    crew_recovers(&observer);
    for (int64_t step = 64; step < 90; step++) {
        crew_step(&observer, step, crew_first, 1);
    }
    assert_rows(
        100, 10, true,
        "  node         share     img/s  computing       slower  last change\n"
        "  host      12 (192)       192  ━━━━━━━━ 100 %          -1 at step 63\n"
        "  csd.0       4 (64)      64.0  ━━━━━━━━ 100 %          -1 at step 63\n"
        "  csd.1       4 (64)      64.0  ━━━━━━━━ 100 %          +2 at step 63: as fast as before\n"
        "  csd.2       4 (64)      64.0  ━━━━━━━━ 100 %\n");
}

static void assert_news(int node, const char *expected)
{
    char news[160];
    report_crew_news(&crew, node, news, sizeof(news));
    assert_string_equal(news, expected);
}

static void news_say_why_only_where_it_is_why(void **state)
{
    (void)state;
    static const int later[CREW_NODES] = {12, 5, 3, 4}, last[CREW_NODES] = {11, 5, 4, 4};
    assert_news(2, "");
    slow_down();
    assert_news(0, "+1 at step 41");
    assert_news(2, "-2 at step 41: another process in its share");
    crew_change(
        &observer,
        (struct stn_train_change){
            .kind = STN_CHANGE_SPLIT, .step = 50, .node = 0, .before = crew_moved, .after = later});
    assert_news(2, "+1 at step 50, slow since 40: another process in its share");
    crew_change(
        &observer,
        (struct stn_train_change){
            .kind = STN_CHANGE_RECOVERED, .step = 60, .node = 2, .before = later, .after = later});
    crew_change(
        &observer,
        (struct stn_train_change){
            .kind = STN_CHANGE_SPLIT, .step = 61, .node = 2, .before = later, .after = last});
    assert_news(2, "+1 at step 61: as fast as before");
    crew_change(
        &observer,
        (struct stn_train_change){
            .kind = STN_CHANGE_SPLIT, .step = 90, .node = 0, .before = last, .after = later});
    assert_news(2, "-1 at step 90");
}

static void colours_take_no_columns(void **state)
{
    (void)state;
    slow_down();
    struct report_rows plain = report_rows_plan(&crew, 100, 10, false, true);
    struct report_rows colour = report_rows_plan(&crew, 100, 10, true, true);
    char lines[2][REPORT_ROW_BYTES], bare[REPORT_ROW_BYTES];
    for (int i = 0; i < plain.lines; i++) {
        report_rows_line(&plain, i, lines[0]);
        report_rows_line(&colour, i, lines[1]);
        size_t used = 0;
        for (const char *c = lines[1]; *c; c++) {
            if (*c == '\033') {
                c = strchr(c, 'm');
            } else {
                bare[used++] = *c;
            }
        }
        bare[used] = '\0';
        assert_string_equal(bare, lines[0]);
        assert_non_null(strchr(lines[1], '\033'));
    }
}

static void one_node_has_no_rows(void **state)
{
    (void)state;
    struct stn_train_start start = crew_start();
    start.nodes = 1;
    assert_true(report_crew_start(&crew, &start));
    assert_rows(100, 10, true, "");
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_step_there_are_shares),
        cmocka_unit_test(a_wide_window_shows_all),
        cmocka_unit_test(eighty_columns),
        cmocka_unit_test(narrow_windows_lose_columns_from_the_right),
        cmocka_unit_test(low_windows_keep_what_something_happened_to),
        cmocka_unit_test(afterwards_it_is_as_fast_as_before),
        cmocka_unit_test(news_say_why_only_where_it_is_why),
        cmocka_unit_test(colours_take_no_columns),
        cmocka_unit_test(one_node_has_no_rows),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
