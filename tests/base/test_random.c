// SPDX-License-Identifier: Apache-2.0
// All draws are functions of their keys, so every figure below is exact and repeatable.
#include "base/random.h"

#include <math.h>
#include <string.h>

#include "cmocka_all.h"

static void permutation_visits_everything_once(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 16, 17, 100, 257, 4096, 60000};
    static unsigned char seen[60000];
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        memset(seen, 0, sizeof(seen));
        for (uint64_t i = 0; i < counts[c]; i++) {
            uint64_t element = base_permute(base_key(7, c), counts[c], i);
            assert_true(element < counts[c]);
            assert_int_equal(seen[element]++, 0);
        }
    }
}

static void permutation_depends_on_its_key(void **state)
{
    (void)state;
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        same += base_permute(base_key(1, 1), 1000, i) == base_permute(base_key(1, 2), 1000, i);
    }
    assert_in_range(same, 0, 8); // 1 is expected of two independent ones
    assert_int_equal(base_permute(5, 1000, 3), base_permute(5, 1000, 3));
}

// Each start position should land in each quarter about equally often: shuffling does not keep
// neighbours together.
static void permutation_spreads(void **state)
{
    (void)state;
    int quarters[4] = {0};
    for (uint64_t key = 0; key < 4000; key++) {
        quarters[base_permute(base_key(key, 0), 400, 3) / 100]++;
    }
    for (int q = 0; q < 4; q++) {
        assert_in_range(quarters[q], 880, 1120);
    }
}

static void below_is_in_range_and_even(void **state)
{
    (void)state;
    struct base_random r = base_random_from(42);
    int counts[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t draw = base_random_below(&r, 7);
        assert_true(draw < 7);
        counts[draw]++;
    }
    for (int i = 0; i < 7; i++) {
        assert_in_range(counts[i], 9600, 10400);
    }
    assert_int_equal(base_random_below(&r, 1), 0);
}

static void unit_and_normal_have_their_moments(void **state)
{
    (void)state;
    struct base_random r = base_random_from(1);
    double sum = 0, normal_sum = 0, normal_squares = 0;
    const int count = 100000;
    for (int i = 0; i < count; i++) {
        double u = base_random_unit(&r), n = base_random_normal(&r);
        assert_true(u >= 0 && u < 1);
        assert_true(isfinite(n));
        sum += u;
        normal_sum += n;
        normal_squares += n * n;
    }
    assert_true(fabs(sum / count - 0.5) < 0.01);
    assert_true(fabs(normal_sum / count) < 0.015);
    assert_true(fabs(normal_squares / count - 1) < 0.02);
}

static void a_stream_is_its_key_at_growing_indices(void **state)
{
    (void)state;
    struct base_random r = base_random_from(9);
    for (uint64_t i = 0; i < 10; i++) {
        assert_true(base_random_u64(&r) == base_random_at(9, i));
    }
    assert_true(base_key(1, 2) != base_key(2, 1));
    assert_true(base_key(0, 0) != base_key(0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutation_visits_everything_once),
        cmocka_unit_test(permutation_depends_on_its_key),
        cmocka_unit_test(permutation_spreads),
        cmocka_unit_test(below_is_in_range_and_even),
        cmocka_unit_test(unit_and_normal_have_their_moments),
        cmocka_unit_test(a_stream_is_its_key_at_growing_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
