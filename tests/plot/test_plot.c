// SPDX-License-Identifier: Apache-2.0
// Plots: the same bytes each time, well-formed whatever the texts hold, gaps, refusals, files.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "plot/plot.h"
#include "train/support.h"

static struct plot *plot_of(const struct plot_options *options)
{
    struct plot *plot = NULL;
    assert_int_equal(plot_create(options, &plot), STN_OK);
    return plot;
}

static char *text_of(const struct plot *plot)
{
    const char *path = in(scratch, "plot.svg");
    assert_int_equal(plot_write(plot, path), STN_OK);
    struct bytes file = file_load(path);
    char *text = malloc(file.size + 1);
    assert_non_null(text);
    memcpy(text, file.data, file.size);
    text[file.size] = '\0';
    free(file.data);
    return text;
}

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

// Tags open and close in order, and no bare markup is left in texts: enough of XML for our files.
static void assert_well_formed(const char *text)
{
    const char *open[16] = {NULL};
    int depth = 0;
    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        assert_non_null(end);
        size_t name = strcspn(at + 1, " >/");
        if (at[1] == '/') {
            if (depth == 0) {
                fail_msg("%.20s closes nothing", at);
                return;
            }
            depth--;
            assert_int_equal(strncmp(open[depth], at + 2, strcspn(at + 2, ">")), 0);
        } else if (end[-1] != '/') {
            assert_true(name > 0 && depth < 16);
            open[depth++] = at + 1;
        }
    }
    assert_int_equal(depth, 0);
    for (const char *at = strchr(text, '&'); at != NULL; at = strchr(at + 1, '&')) {
        assert_true(strcspn(at, ";") <= 6);
    }
    assert_int_equal(count_of(text, "nan"), 0);
    assert_int_equal(count_of(text, "inf"), 0);
}

static struct plot *everything(void)
{
    const double x[] = {1, 2, 3, 4, 5}, y[] = {10, 20, NAN, 40, 35};
    const double low[] = {9, 18, 0, 36, 30}, high[] = {11, 22, 0, 44, 41};
    struct plot *plot = plot_of(&(struct plot_options){
        .title = "T", .subtitle = "S", .x_label = "x", .y_label = "y", .y_from_zero = true});
    const enum plot_kind kinds[] = {PLOT_LINE, PLOT_POINTS, PLOT_LINE_AND_POINTS, PLOT_STEPS};
    for (int i = 0; i < 4; i++) {
        const struct plot_series series = {.label = "series",
                                           .kind = kinds[i],
                                           .x = x,
                                           .y = y,
                                           .low = low,
                                           .high = high,
                                           .count = 5,
                                           .dashed = i == 2,
                                           .colour = -1};
        assert_int_equal(plot_add(plot, &series), STN_OK);
    }
    assert_int_equal(plot_shade(plot, 2, 3, "load"), STN_OK);
    assert_int_equal(plot_shade(plot, 2.5, 3.5, "another"), STN_OK);
    assert_int_equal(plot_mark(plot, 42, "limit"), STN_OK);
    assert_int_equal(plot_mark(plot, 42.5, "other limit"), STN_OK);
    return plot;
}

static void same_input_same_bytes(void **state)
{
    (void)state;
    struct plot *one = everything(), *two = everything();
    char *a = text_of(one), *b = text_of(two);
    assert_string_equal(a, b);
    assert_well_formed(a);
    assert_int_equal(count_of(a, ">load</text>"), 1);
    assert_int_equal(count_of(a, ">limit</text>"), 1);
    assert_int_equal(count_of(a, ">series</text>"), 4);
    free(a);
    free(b);
    plot_destroy(one);
    plot_destroy(two);
}

static void texts_are_escaped(void **state)
{
    (void)state;
    struct plot *plot = plot_of(&(struct plot_options){.title = "<script>&\"'</script>",
                                                       .x_label = "a\x01\x7f\xff\xc0\x80z",
                                                       .y_label = "Größe µ 10³"});
    assert_int_equal(plot_shade(plot, 0, 1, "</svg>"), STN_OK);
    assert_int_equal(plot_mark(plot, 0, "\xe2\x82"), STN_OK); // cut off
    char *text = text_of(plot);
    assert_well_formed(text);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "&lt;script&gt;&amp;&quot;&#39;&lt;/script&gt;"));
    assert_non_null(strstr(text, "Größe µ 10³"));
    assert_non_null(
        strstr(text, ">a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz<"));
    assert_int_equal(count_of(text, "</svg>"), 1);
    free(text);
    plot_destroy(plot);
}

static void gaps_lift_the_pen(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5}, y[] = {1, 2, NAN, 3, INFINITY};
    struct plot *plot = plot_of(&(struct plot_options){0});
    assert_int_equal(plot_add(plot, &(struct plot_series){.x = x, .y = y, .count = 5}), STN_OK);
    char *text = text_of(plot);
    const char *path = strstr(text, "d=\"M");
    assert_non_null(path);
    int moves = 0, lines = 0;
    for (const char *at = path + 3; *at != '"'; at++) {
        moves += *at == 'M';
        lines += *at == 'L';
    }
    assert_int_equal(moves, 2);
    assert_int_equal(lines, 1);
    assert_well_formed(text);
    free(text);
    plot_destroy(plot);
}

static void logarithmic(void **state)
{
    (void)state;
    const double x[] = {10, 100, 1000, 10000, 100000}, y[] = {1, 2, 4, 8, 16};
    struct plot *plot = plot_of(&(struct plot_options){.x_log = true, .y_log = true});
    const struct plot_series good = {.x = x, .y = y, .count = 5, .kind = PLOT_LINE_AND_POINTS};
    assert_int_equal(plot_add(plot, &good), STN_OK);
    const double zero[] = {0, 1, 2, 3, 4};
    errors_reset();
    assert_int_equal(
        plot_add(plot, &(struct plot_series){.label = "s", .x = zero, .y = y, .count = 5}),
        STN_ERR_INVALID);
    assert_non_null(strstr(errors_last(), "logarithmic"));
    assert_int_equal(plot_add(plot, &(struct plot_series){.x = x, .y = zero, .count = 5}),
                     STN_ERR_INVALID);
    assert_int_equal(plot_mark(plot, 0.0, "no"), STN_ERR_INVALID);
    assert_int_equal(plot_shade(plot, -1.0, 2.0, "no"), STN_ERR_INVALID);
    char *text = text_of(plot);
    assert_well_formed(text);
    assert_non_null(strstr(text, ">100k</text>"));
    free(text);
    plot_destroy(plot);
}

static void nothing_is_a_plot_too(void **state)
{
    (void)state;
    struct plot *plot =
        plot_of(&(struct plot_options){.title = "empty", .width = 160, .height = 160});
    assert_int_equal(plot_add(plot, &(struct plot_series){.label = "none"}), STN_OK);
    char *text = text_of(plot);
    assert_well_formed(text);
    free(text);
    plot_destroy(plot);
    plot_destroy(NULL);
}

static void refusals(void **state)
{
    (void)state;
    struct plot *plot = NULL;
    assert_int_equal(plot_create(&(struct plot_options){.width = -1}, &plot), STN_ERR_INVALID);
    assert_int_equal(plot_create(&(struct plot_options){.height = 1 << 30}, &plot),
                     STN_ERR_INVALID);
    plot = plot_of(&(struct plot_options){0});
    const double bad[] = {NAN}, good[] = {1};
    assert_int_equal(plot_add(plot, &(struct plot_series){.x = bad, .y = good, .count = 1}),
                     STN_ERR_INVALID);
    assert_int_equal(plot_shade(plot, 2, 1, NULL), STN_ERR_INVALID);
    assert_int_equal(plot_mark(plot, INFINITY, NULL), STN_ERR_INVALID);
    enum stn_status status = STN_OK;
    for (int i = 0; i < 1000 && status == STN_OK; i++) {
        status = plot_mark(plot, i, "many");
    }
    assert_int_equal(status, STN_ERR_INVALID);
    errors_reset();
    assert_int_equal(plot_write(plot, in(scratch, "no/such/plot.svg")), STN_ERR_IO);
    assert_int_equal(errors_count(), 1);
    assert_int_equal(plot_write(plot, scratch), STN_ERR_IO); // a directory
    plot_destroy(plot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_input_same_bytes), cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(gaps_lift_the_pen),     cmocka_unit_test(logarithmic),
        cmocka_unit_test(nothing_is_a_plot_too), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("plot", tests, scratch_set_up, scratch_tear_down);
}
