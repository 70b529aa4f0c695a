// SPDX-License-Identifier: Apache-2.0
// What slows all nodes alike is told from what slows one: worked examples.
#include <math.h>

#include "cmocka_all.h"
#include "hypertune/common.h"

static double shift_of(double first, double second, double noise)
{
    const struct hypertune_off nodes[] = {{first, noise, 8}, {second, noise, 8}};
    double usual = 0.0;
    return hypertune_common_shift(nodes, 2, &usual);
}

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-12);
}

static void test_nodes_off_alike_are_off_together(void **state)
{
    (void)state;
    assert_near(shift_of(0.30, 0.32, 0.02), 0.31);
    assert_near(shift_of(0.30, 0.40, 0.02), 0.30); // the second has a reason of its own
}

// A node 1.6 times as slow as the other is loaded, whatever the noise of either.
static void test_noise_does_not_make_everything_alike(void **state)
{
    (void)state;
    assert_near(shift_of(0.0, 0.35, 0.5), 0.175);
    assert_near(shift_of(0.0, 0.47, 0.5), 0.0);
}

static void test_one_node_alone_tells_nothing(void **state)
{
    (void)state;
    assert_near(shift_of(0.3, INFINITY, 0.02), 0.0);
}

// The mean is of micro-batches, and of the nodes that are like the least off.
static void test_the_mean_is_weighed_by_work(void **state)
{
    (void)state;
    const struct hypertune_off nodes[] = {{0.10, 0.02, 30}, {0.12, 0.02, 10}, {1.0, 0.02, 10}};
    double usual = 0.0;
    assert_near(hypertune_common_shift(nodes, 3, &usual), 0.105);
    assert_near(usual, 0.3 * 0.105);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_off_alike_are_off_together),
        cmocka_unit_test(test_noise_does_not_make_everything_alike),
        cmocka_unit_test(test_one_node_alone_tells_nothing),
        cmocka_unit_test(test_the_mean_is_weighed_by_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
