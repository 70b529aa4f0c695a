// SPDX-License-Identifier: Apache-2.0
// Ticks are round, named as people write them, within the range, and neither few nor many.
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "cmocka_all.h"
#include "plot/axis.h"

static struct plot_axis axis_of(bool log, double low, double high, int wanted)
{
    struct plot_axis axis = plot_axis_empty(log);
    plot_axis_include(&axis, low);
    plot_axis_include(&axis, high);
    plot_axis_widen(&axis, 0.0, 0.0);
    plot_axis_choose_ticks(&axis, wanted);
    return axis;
}

static void assert_ticks(const struct plot_axis *axis, const char *const names[])
{
    int found = 0;
    for (int i = 0; i < axis->tick_count; i++) {
        if (axis->ticks[i].text[0] != '\0') {
            assert_non_null(names[found]);
            assert_string_equal(axis->ticks[i].text, names[found]);
            found++;
        }
    }
    assert_null(names[found]);
}

static void round_numbers(void **state)
{
    (void)state;
    const struct plot_axis axes[] = {
        axis_of(false, 0.0, 100.0, 5),   axis_of(false, -0.1, 0.12, 5),
        axis_of(false, 0.0, 30000.0, 3), axis_of(false, 99.7, 100.2, 5),
        axis_of(false, 0.0, 40e6, 4),    axis_of(true, 1.0, 1e6, 7),
        axis_of(true, 10.0, 99.0, 6),    axis_of(true, 60.0, 90.0, 3),
        axis_of(true, 0.001, 100.0, 3),
    };
    const char *const names[][9] = {
        {"0", "20", "40", "60", "80", "100"},
        {"-0.10", "-0.05", "0.00", "0.05", "0.10"},
        {"0", "10k", "20k", "30k"},
        {"99.7", "99.8", "99.9", "100.0", "100.1", "100.2"},
        {"0", "10M", "20M", "30M", "40M"},
        {"1", "10", "100", "1k", "10k", "100k", "1M"},
        {"10", "20", "50"},
        {"60", "70", "80", "90"},
        {"0.01", "1", "100"},
    };
    for (size_t i = 0; i < sizeof(axes) / sizeof(*axes); i++) {
        assert_ticks(&axes[i], names[i]);
    }
}

static void no_extent_gets_some(void **state)
{
    (void)state;
    const double values[] = {0.0, 5.0, -3e9, 1e-9};
    for (int i = 0; i < 4; i++) {
        struct plot_axis axis = axis_of(false, values[i], values[i], 5);
        assert_true(axis.low < values[i] && values[i] < axis.high);
        assert_true(axis.tick_count >= 2);
    }
    struct plot_axis axis = axis_of(true, 7.0, 7.0, 5);
    assert_true(axis.low < 7.0 && 7.0 < axis.high && axis.tick_count >= 2);
}

static void any_range(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        struct base_random random = base_random_from(seed);
        bool log = seed % 2;
        double scale = pow(10.0, 24.0 * base_random_unit(&random) - 12.0);
        double low = scale * (log ? 0.01 + base_random_unit(&random) : base_random_normal(&random));
        double high = low + scale * (0.01 + 100.0 * base_random_unit(&random));
        int wanted = 2 + (int)base_random_below(&random, 11);
        struct plot_axis axis = axis_of(log, low, high, wanted);
        axis.pixel_low = 400.0;
        axis.pixel_high = 10.0;
        assert_in_range(axis.tick_count, 1, PLOT_TICKS_MAX);
        for (int i = 0; i < axis.tick_count; i++) {
            double pixel = plot_axis_pixel(&axis, axis.ticks[i].value);
            assert_true(pixel > 9.9 && pixel < 400.1);
            assert_true(i == 0 || axis.ticks[i].value > axis.ticks[i - 1].value);
            assert_true(i == 0 || strcmp(axis.ticks[i].text, axis.ticks[i - 1].text) != 0 ||
                        axis.ticks[i].text[0] == '\0');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_numbers),
        cmocka_unit_test(no_extent_gets_some),
        cmocka_unit_test(any_range),
    };
    return cmocka_run_group_tests_name("axis", tests, NULL, NULL);
}
