// SPDX-License-Identifier: Apache-2.0
// Which part of a picture is chosen: bounds, and what the choice depends on.
#include <math.h>

#include "data/view.h"
#include "support.h"

static void test_area_crop_stays_inside(void **state)
{
    (void)state;
    static const int sizes[][2] = {{100, 100}, {640, 480}, {1, 1}, {3, 1000}, {1000, 3}, {299, 31}};
    double least = 1, most = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        double w = sizes[i][0], h = sizes[i][1];
        for (uint64_t key = 0; key < 2000; key++) {
            struct data_view_rule rule = {DATA_FIT_COVER, true, true, key, 96};
            struct data_view view = data_view_choose(&rule, sizes[i][0], sizes[i][1]);
            assert_true(view.x >= 0 && view.y >= 0 && view.width > 0 && view.height > 0);
            assert_true(view.x + view.width <= w + 1e-9 && view.y + view.height <= h + 1e-9);
            double aspect = view.width / view.height;
            assert_true(aspect >= 3.0 / 4 - 1e-9 && aspect <= 4.0 / 3 + 1e-9);
            if (i == 0) {
                double area = view.width * view.height / (w * h);
                assert_true(area >= 0.35 - 1e-9 && area <= 1);
                least = fmin(least, area);
                most = fmax(most, area);
            }
        }
    }
    assert_true(least < 0.37 && most > 0.9); // the whole range is used
}

static void test_shift_is_whole_pixels_up_to_an_eighth(void **state)
{
    (void)state;
    bool seen[9][9] = {{false}};
    for (uint64_t key = 0; key < 4000; key++) {
        struct data_view_rule rule = {DATA_FIT_WHOLE, true, false, key, 32};
        struct data_view view = data_view_choose(&rule, 32, 32);
        assert_true(view.x == floor(view.x) && view.y == floor(view.y));
        assert_true(fabs(view.x) <= 4 && fabs(view.y) <= 4);
        assert_true(view.width == 32 && view.height == 32 && !view.flip);
        seen[(int)view.x + 4][(int)view.y + 4] = true;
    }
    for (int i = 0; i < 81; i++) {
        assert_true(seen[i / 9][i % 9]);
    }
}

static void test_evaluation_is_centred(void **state)
{
    (void)state;
    struct data_view_rule rule = {DATA_FIT_COVER, false, false, 7, 224};
    struct data_view view = data_view_choose(&rule, 320, 256);
    assert_true(view.width == 224 && view.height == 224 && view.x == 48 && view.y == 16);
    rule.fit = DATA_FIT_WHOLE;
    view = data_view_choose(&rule, 30, 20);
    assert_true(view.x == 0 && view.y == 0 && view.width == 30 && view.height == 20 && !view.flip);
}

static void test_flip_is_fair_and_does_not_move_the_crop(void **state)
{
    (void)state;
    int flips = 0;
    for (uint64_t key = 0; key < 1000; key++) {
        struct data_view_rule both = {DATA_FIT_COVER, true, true, key, 96}, crop = both;
        crop.flip = false;
        struct data_view a = data_view_choose(&both, 90, 120), b = data_view_choose(&crop, 90, 120);
        assert_true(a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height);
        assert_false(b.flip);
        flips += a.flip;
    }
    assert_in_range(flips, 430, 570);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_area_crop_stays_inside),
        cmocka_unit_test(test_shift_is_whole_pixels_up_to_an_eighth),
        cmocka_unit_test(test_evaluation_is_centred),
        cmocka_unit_test(test_flip_is_fair_and_does_not_move_the_crop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
