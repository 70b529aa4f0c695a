// SPDX-License-Identifier: Apache-2.0
// Logs of wall meters as they come: other clocks, units and separators, gaps, lines that are not
// written yet, nonsense. A log is of a power whose energy is known.
#include <math.h>
#include <time.h>

#include "capture.h"
#include "cmocka_all.h"
#include "energy/meter.h"
#include "energy/power_text.h"
#include "fixture.h"
#include "tree.h"

static double watts_at(double seconds) // since the training began
{
    return 250.0 + 50.0 * sin(seconds / 30.0);
}

static double joules_between(double from_s, double to_s)
{
    return 250.0 * (to_s - from_s) - 1500.0 * (cos(to_s / 30.0) - cos(from_s / 30.0));
}

struct style {
    const char *heading, *format; // of time and power
    double factor;                // of a watt
    double ahead_s;
    bool is_date;
    int gap_from, gap_to;
};

// A line a second, from a minute before the training began until 500 seconds after.
static void write_log(const struct tree *tree, const struct style *style)
{
    char path[PATH_MAX], when[64];
    snprintf(path, sizeof(path), "%s/log", tree->root);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(style->heading, file);
    for (int i = -60; i <= 500; i++) {
        if (i > style->gap_from && i < style->gap_to) {
            continue;
        }
        double at_s = tree->utc_s + i + style->ahead_s;
        time_t whole = (time_t)at_s;
        struct tm utc;
        gmtime_r(&whole, &utc);
        if (style->is_date) {
            strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
        } else {
            snprintf(when, sizeof(when), "%.3f", at_s);
        }
        fprintf(file, style->format, when, watts_at(i) * style->factor);
    }
    fclose(file);
}

static struct energy_total read_log(struct tree *tree, const char *suffix)
{
    char spec[PATH_MAX];
    struct energy_meter *meter;
    snprintf(spec, sizeof(spec), "csv:%s/log%s", tree->root, suffix);
    assert_int_equal(energy_meter_open(spec, &tree->world, &meter), STN_OK);
    assert_int_equal(energy_meter_scope(meter), ENERGY_WALL);
    struct energy_account account = energy_meter_begin(meter);
    tree->clock_s += 500.0;
    assert_true(energy_meter_read(meter, &account));
    struct energy_total total = energy_meter_until(meter, &account, tree->clock_s);
    energy_meter_close(meter);
    tree->clock_s -= 500.0;
    return total;
}

static void assert_about(double joules, double expected)
{
    if (!(fabs(joules / expected - 1.0) < 0.005)) {
        fail_msg("%.6g J are not %.6g J", joules, expected);
    }
}

static void test_logs_in_many_styles(void **state)
{
    struct tree *tree = *state;
    static const struct style styles[] = {
        {"", "%s,%.3f\n", 1.0, 0, false, 0, 0},
        {"time,watts\n", "%s,%.3f\n", 1.0, 0, true, 0, 0},
        {"# a meter\ntimestamp;voltage;power (kW)\n", "%s;230;%.6f\n", 1e-3, 0, true, 0, 0},
        {"Date\tPower_mW\n", "%s\t%.0f\n", 1e3, 0, false, 0, 0},
        {"Time,Power\r\n", "\"%s\",\"%.2f W\"\r\n", 1.0, 0, true, 0, 0},
    };
    for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
        write_log(tree, &styles[i]);
        struct energy_total total = read_log(tree, "");
        assert_about(total.joules, joules_between(0.0, 500.0));
        assert_true(fabs(total.known_s - 500.0) < 1e-3);
        assert_true(total.gap_s == 0.0 && total.gaps == 0);
    }
}

static void test_a_clock_that_is_ahead(void **state)
{
    struct tree *tree = *state;
    static const struct style ahead = {"time,W\n", "%s,%.3f\n", 1.0, 120.0, true, 0, 0};
    write_log(tree, &ahead);
    assert_about(read_log(tree, "@120").joules, joules_between(0.0, 500.0));
    // Not told, the first minute is missing, and readings from the future are none of now.
    assert_true(read_log(tree, "").gap_s > 50.0);
}

static void test_gaps_are_told_and_not_filled(void **state)
{
    struct tree *tree = *state;
    static const struct style holes = {"time,W\n", "%s,%.3f\n", 1.0, 0.0, true, 100, 160};
    write_log(tree, &holes);
    struct energy_total total = read_log(tree, "");
    assert_about(total.joules, joules_between(0.0, 100.0) + joules_between(160.0, 500.0));
    assert_true(fabs(total.gap_s - 60.0) < 1e-3 && total.gaps == 1);
    assert_true(fabs(total.known_s - 440.0) < 1e-3);
}

// The meter writes while it is read, and not always whole lines.
static void test_lines_that_are_still_written(void **state)
{
    struct tree *tree = *state;
    char spec[PATH_MAX];
    struct energy_meter *meter;
    tree_write(tree, "log", "%.0f,100\n%.0f,100\n%.0f,1", tree->utc_s, tree->utc_s + 1.0,
               tree->utc_s + 2.0);
    snprintf(spec, sizeof(spec), "csv:%s/log", tree->root);
    assert_int_equal(energy_meter_open(spec, &tree->world, &meter), STN_OK);
    struct energy_account account = energy_meter_begin(meter);
    assert_true(energy_meter_read(meter, &account));
    assert_int_equal(account.total.samples, 2);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/log", tree->root);
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    fprintf(file, "00\n%.0f,100\n", tree->utc_s + 3.0);
    fclose(file);
    assert_true(energy_meter_read(meter, &account));
    assert_int_equal(account.total.samples, 4);
    assert_true(fabs(account.total.joules - 300.0) < 1e-6);
    energy_meter_close(meter);
}

static void test_nonsense_ends_the_meter(void **state)
{
    struct tree *tree = *state;
    static const char *const bad[] = {"1770000000,many\n", "yesterday,5\n1770000000,3\n",
                                      "1,2,\n5\n",         "1770000000,-3\n",
                                      "1770000000,nan\n",  "1770000000,0x10\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char spec[PATH_MAX];
        struct energy_meter *meter;
        tree_write(tree, "log", "%s", bad[i]);
        snprintf(spec, sizeof(spec), "csv:%s/log", tree->root);
        assert_int_equal(energy_meter_open(spec, &tree->world, &meter), STN_OK);
        struct energy_account account = energy_meter_begin(meter);
        assert_false(energy_meter_read(meter, &account));
        assert_non_null(strstr(energy_meter_why(meter), "expected a time and watts"));
        energy_meter_close(meter);
    }
    struct energy_meter *meter;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(energy_meter_open("csv:/nowhere/log", &tree->world, &meter), STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "/nowhere/log: No such file"));
}

static void test_times_and_watts(void **state)
{
    (void)state;
    double value;
    assert_true(energy_parse_time("2026-01-31T12:00:00Z", &value) && value == 1769860800.0);
    assert_true(energy_parse_time("2026-01-31 13:30:00.5+01:30", &value) && value == 1769860800.5);
    assert_true(energy_parse_time("1769860800500", &value) && value == 1769860800.5);
    assert_false(energy_parse_time("2026-13-31T12:00:00Z", &value));
    assert_false(energy_parse_time("2026-01-31T12:00:00 o'clock", &value));
    assert_false(energy_parse_time("", &value));
    assert_true(energy_parse_watts(" 85,5 W", &value) && value == 85.5);
    assert_true(energy_parse_watts("0.5kW", &value) && value == 500.0);
    assert_true(energy_parse_watts("1500 mW", &value) && value == 1.5);
    assert_false(energy_parse_watts("85 V", &value));
    assert_false(energy_parse_watts("85 W and more", &value));
    assert_false(energy_parse_watts("", &value));
    assert_false(energy_parse_watts("inf", &value));
    assert_true(energy_unit_of("When") == 0.0 && energy_unit_of("P_W") == 1.0);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logs_in_many_styles),
        cmocka_unit_test(test_a_clock_that_is_ahead),
        cmocka_unit_test(test_gaps_are_told_and_not_filled),
        cmocka_unit_test(test_lines_that_are_still_written),
        cmocka_unit_test(test_nonsense_ends_the_meter),
        cmocka_unit_test(test_times_and_watts),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), tree_set_up, tree_tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
