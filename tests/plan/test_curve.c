// SPDX-License-Identifier: Apache-2.0
// Speed curves from lines and from tables; searches in them against looking at every batch.
#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "capture.h"
#include "near.h"
#include "plan/curve.h"

enum { CASES = 2000, POINTS_MAX = 6, BATCH_MAX = 60 };

static const struct plan_point table[] = {{4, 2.0}, {8, 3.0}, {16, 4.0}};

static void test_table(void **state)
{
    (void)state;
    struct plan_curve curve;
    assert_int_equal(plan_curve_from_points(table, 3, &curve), STN_OK);
    assert_near(plan_curve_speed(&curve, 4), 2.0);
    assert_near(plan_curve_speed(&curve, 6), 2.5); // straight between
    assert_near(plan_curve_speed(&curve, 14), 3.75);
    assert_near(plan_curve_speed(&curve, 1000), 4.0); // saturated
    assert_near(plan_curve_seconds(&curve, 1), 2.0);  // and no faster than the first point
    assert_near(plan_curve_seconds(&curve, 8), 8 / 3.0);
    assert_true(plan_curve_seconds(&curve, 0) == 0.0 && plan_curve_speed(&curve, 0) == 0.0);
    assert_near(curve.line.each_s, 1.0 / 6.0); // the times are 2, 2⅔ and 4 s
    assert_near(curve.line.fixed_s, 8.0 / 6.0);
}

static void test_line(void **state)
{
    (void)state;
    const struct plan_curve curve = {.line = {0.5, 0.25}};
    assert_near(plan_curve_seconds(&curve, 4), 1.5);
    assert_near(plan_curve_speed(&curve, 4), 4 / 1.5);
    assert_true(plan_curve_seconds(&curve, 0) == 0.0);
}

static void refuse(const struct plan_point points[], int count, const char *expected)
{
    struct plan_curve curve;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(plan_curve_from_points(points, count, &curve), STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, expected));
}

static void test_refused_tables(void **state)
{
    (void)state;
    refuse(table, 0, "without points");
    refuse((struct plan_point[]){{4, 2.0}, {8, 0.0}}, 2, "point 2: batch 8 at speed 0");
    refuse((struct plan_point[]){{4, 2.0}, {4, 2.0}}, 2, "must rise");
    refuse((struct plan_point[]){{4, 2.0}, {8, 5.0}}, 2, "must rise"); // 2 s, then 1.6 s
}

static struct plan_curve curve_draw(struct base_random *random, struct plan_point points[])
{
    struct plan_curve curve = {.line = {base_random_unit(random), 0.01 + base_random_unit(random)}};
    if (base_random_below(random, 2)) {
        return curve;
    }
    int count = 1 + (int)base_random_below(random, POINTS_MAX), batch = 0;
    double seconds = base_random_unit(random);
    for (int i = 0; i < count; i++) {
        batch += 1 + (int)base_random_below(random, 10);
        seconds += base_random_unit(random);
        points[i] = (struct plan_point){batch, batch / seconds};
    }
    assert_int_equal(plan_curve_from_points(points, count, &curve), STN_OK);
    return curve;
}

static bool is_looked_at(const struct plan_curve *curve, int batch, int least, int most)
{
    for (int i = 0; i < curve->count; i++) {
        int point = curve->points[i].micro_batches;
        if (batch == (point < least ? least : point > most ? most : point)) {
            return true;
        }
    }
    return curve->count == 0;
}

static int best_by_looking(const struct plan_curve *curve, double knee, int least, int most)
{
    double speed = 0.0;
    for (int b = least; b <= most; b++) {
        speed =
            is_looked_at(curve, b, least, most) ? fmax(speed, plan_curve_speed(curve, b)) : speed;
    }
    int best = least;
    while (!is_looked_at(curve, best, least, most) ||
           plan_curve_speed(curve, best) < knee * speed) {
        best++;
    }
    return best;
}

static void test_searches(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    for (int n = 0; n < CASES; n++) {
        struct plan_point points[POINTS_MAX];
        struct plan_curve curve = curve_draw(&random, points);
        int least = 1 + (int)base_random_below(&random, BATCH_MAX);
        int most = least + (int)base_random_below(&random, BATCH_MAX);
        double knee = 0.3 + 0.7 * base_random_unit(&random);
        assert_int_equal(plan_curve_best(&curve, knee, least, most),
                         best_by_looking(&curve, knee, least, most));
        double seconds = 10.0 * base_random_unit(&random);
        int within = least;
        for (int b = least; b <= most; b++) {
            assert_true(plan_curve_seconds(&curve, b) >= plan_curve_seconds(&curve, b - 1) - 1e-12);
            within = plan_curve_seconds(&curve, b) <= seconds ? b : within;
        }
        assert_int_equal(plan_curve_within(&curve, seconds, least, most), within);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_refused_tables),
        cmocka_unit_test(test_searches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
