// SPDX-License-Identifier: Apache-2.0
// The balanced policy where it should do little: on nodes that only seem to change, that all change
// alike, or by too little to be worth a re-plan.
#include <math.h>

#include "cluster.h"
#include "cmocka_all.h"

enum { SEEDS = 40 };

static struct cluster cluster; // large; one at a time

static int replans_in_quiet(uint64_t seed, double noise)
{
    cluster_init(&cluster, 4, seed);
    cluster.noise = noise;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 300);
    cluster_assert_efficiency(&cluster, 0.93);
    cluster_end(&cluster);
    return cluster.replans;
}

static void test_quiet(void **state)
{
    (void)state;
    int noisy = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        assert_int_equal(replans_in_quiet(seed, 0.01), 0);
        assert_in_range(replans_in_quiet(seed, 0.03), 0, 2);
        assert_in_range(replans_in_quiet(seed, 0.05), 0, 2);
        noisy += replans_in_quiet(seed, 0.1);
    }
    assert_in_range(noisy, 0, SEEDS / 2);
}

// The nodes' speeds wander by 2 %, half of which is still there in the next step.
static void test_quiet_with_slow_noise(void **state)
{
    (void)state;
    int replans = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double wander[4] = {0};
        cluster_init(&cluster, 4, seed);
        cluster.noise = 0.0;
        cluster_begin(&cluster);
        for (int i = 0; i < 300; i++) {
            for (int k = 0; k < 4; k++) {
                double news = 0.02 * sqrt(0.75) * base_random_normal(&cluster.random);
                wander[k] = 0.5 * wander[k] + news;
                cluster.slowdown[k] = exp(wander[k]);
            }
            cluster_step(&cluster);
        }
        assert_in_range(cluster.replans, 0, 2);
        replans += cluster.replans;
        cluster_end(&cluster);
    }
    assert_in_range(replans, 0, SEEDS / 2);
}

// One node of three gets slower by itself, little by little; what could be won is 2.6 % of a step,
// then 5 %.
static void test_small_drift_is_let_be(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster.total = 600;
    for (int i = 0; i < 3; i++) {
        cluster.most[i] = cluster.total;
    }
    cluster.noise = 0.002;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 30);
    for (int i = 1; i <= 100; i++) {
        cluster.slowdown[1] = 1.0 + 0.05 * i / 100.0;
        cluster_step(&cluster);
    }
    cluster_steps(&cluster, 100);
    assert_int_equal(cluster.replans, 0);
    for (int i = 1; i <= 100; i++) {
        cluster.slowdown[1] = 1.05 + 0.04 * i / 100.0;
        cluster_step(&cluster);
    }
    cluster_steps(&cluster, 100);
    assert_in_range(cluster.replans, 1, 2);
    cluster_end(&cluster);
}

// Many nodes are no more nervous than a few.
static void test_quiet_with_many_nodes(void **state)
{
    (void)state;
    cluster_init(&cluster, 1000, 1);
    cluster.noise = 0.05;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 300);
    assert_in_range(cluster.replans, 0, 6);
    cluster.slowdown[500] = 2.0;
    cluster_steps(&cluster, 2);
    cluster_assert_efficiency(&cluster, 0.9); // one micro-batch is 6 %
    cluster_end(&cluster);
}

static double student(struct base_random *random)
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        double z = base_random_normal(random);
        sum += z * z;
    }
    return base_random_normal(random) / sqrt(sum / 3.0);
}

// Heavy tails, and now and then a step with something else on top.
static void test_quiet_with_heavy_tails_and_spikes(void **state)
{
    (void)state;
    int replans = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 4, seed);
        cluster.noise = 0.0;
        cluster_begin(&cluster);
        for (int i = 0; i < 300; i++) {
            cluster_compute(&cluster);
            for (int k = 0; k < 4; k++) {
                bool spike = (i + k) % 4 == 0 && base_random_below(&cluster.random, 5) == 0;
                cluster.reports[k].compute_s *=
                    exp(0.03 * student(&cluster.random)) * (spike ? 3.0 : 1.0);
                cluster.clock_s[k] += 10.0; // what the spikes take must fit between two reports
            }
            cluster_decide(&cluster);
        }
        replans += cluster.replans;
        cluster_end(&cluster);
    }
    assert_in_range(replans, 0, 2 * SEEDS);
}

// Nodes of one machine, which other programs load: all become slower and faster together, by up to
// three times. Work stays where it is, and a load on one node is seen through it.
static void test_what_is_common_moves_nothing(void **state)
{
    (void)state;
    static const double shifts[] = {1.0, 1.1, 1.6, 2.9, 3.0, 2.2, 1.3, 0.8, 1.0, 1.9};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        int replans = 0;
        cluster_init(&cluster, 3, seed);
        cluster_begin(&cluster);
        for (int s = 0; s < 120; s++) {
            double load = s >= 100 ? 2.0 : 1.0;
            for (int i = 0; i < 3; i++) {
                cluster.slowdown[i] = shifts[s / 3 % 10] * (i == 1 ? load : 1.0);
            }
            cluster_step(&cluster);
            replans = s < 100 ? cluster.replans : replans;
        }
        assert_int_equal(replans, 0);
        assert_true(cluster_efficiency(&cluster) > 0.95);
        double ratio = hypertune_decide_node(cluster.decide, 1).slowdown /
                       hypertune_decide_node(cluster.decide, 0).slowdown;
        assert_true(fabs(ratio - 2.0) < 0.2);
        cluster_end(&cluster);
    }
}

// Nobody changes. Levels wander within their noise, and the plan is made from none of that: in few
// steps does a node count as changed.
static void test_drift_within_the_noise_is_not_noticed(void **state)
{
    (void)state;
    int noticed = 0;
    cluster_init(&cluster, 3, 1);
    cluster.noise = 0.05;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 50);
    for (int i = 0; i < 300; i++) {
        cluster_step(&cluster);
        noticed += cluster.decision.node >= 0;
    }
    assert_in_range(noticed, 0, 30);
    cluster_end(&cluster);
}

// Without noise a level moves from the profile's, which counts as eight samples, to the measured
// one: after eight samples it is half way.
static void test_the_profile_counts_as_eight_samples(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster.noise = 0.0;
    cluster.slowdown[1] = 1.01;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 8);
    double ratio = hypertune_decide_node(cluster.decide, 1).slowdown /
                   hypertune_decide_node(cluster.decide, 0).slowdown;
    double way = log(ratio) / log(1.01);
    assert_true(way > 0.45 && way < 0.55);
    cluster_end(&cluster);
}

// False alarms are rare on a few nodes. On a thousand, each of which could give one in each of 400
// steps, they must not be a thousand times as many.
static void test_many_nodes_need_more_evidence(void **state)
{
    (void)state;
    int alarms = 0;
    cluster_init(&cluster, 1000, 3);
    cluster.noise = 0.05;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 50);
    for (int i = 0; i < 400; i++) {
        cluster_step(&cluster);
        for (int k = 0; k < cluster.nodes; k++) {
            alarms += hypertune_decide_node(cluster.decide, k).changed_ago > 0;
        }
    }
    assert_in_range(alarms, 0, 1);
    cluster_end(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_quiet_with_slow_noise),
        cmocka_unit_test(test_small_drift_is_let_be),
        cmocka_unit_test(test_quiet_with_many_nodes),
        cmocka_unit_test(test_quiet_with_heavy_tails_and_spikes),
        cmocka_unit_test(test_what_is_common_moves_nothing),
        cmocka_unit_test(test_drift_within_the_noise_is_not_noticed),
        cmocka_unit_test(test_the_profile_counts_as_eight_samples),
        cmocka_unit_test(test_many_nodes_need_more_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
