// SPDX-License-Identifier: Apache-2.0
// The balanced policy on clusters in made-up time, decisions applied: how soon work moves and how
// well, when it must not, and that nothing breaks it.
#include <math.h>
#include <string.h>

#include "capture.h"
#include "cluster.h"
#include "cmocka_all.h"

enum { SEEDS = 40 };

static struct cluster cluster; // large; one at a time

// Two steps to notice; the third and all that follow are at the water level.
static void check_change(int node, double slowdown, int steps)
{
    cluster.slowdown[node] = slowdown;
    cluster_steps(&cluster, 2);
    for (int i = 2; i < steps; i++) {
        cluster_assert_efficiency(&cluster, 0.95);
        cluster_step(&cluster);
    }
}

// The paper's experiment: three equal nodes, one loses half, then three quarters.
static void test_three_nodes_one_loaded(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 3, seed);
        cluster_begin(&cluster);
        cluster_steps(&cluster, 30);
        assert_int_equal(cluster.replans, 0);
        check_change(1, 2.0, 30);
        check_change(1, 1.0, 30);
        check_change(2, 4.0, 30);
        check_change(2, 1.0, 30);
        cluster_end(&cluster);
    }
}

static void host_and_devices(uint64_t seed)
{
    cluster_init(&cluster, 5, seed);
    for (int i = 1; i < 5; i++) {
        cluster.each_s[i] = 0.05;
        cluster.fixed_s[i] = 0.02;
    }
    cluster.total = 96;
    cluster.exchange_s = 0.02;
}

static void test_host_and_devices(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        host_and_devices(seed);
        cluster_begin(&cluster);
        cluster_steps(&cluster, 30);
        check_change(0, 4.0, 30);
        check_change(0, 1.0, 30);
        check_change(0, 1.0 / 3.0, 30); // three times faster than its profile
        cluster_end(&cluster);
    }
}

static void test_two_loaded_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 4, seed);
        cluster_begin(&cluster);
        cluster_steps(&cluster, 30);
        cluster.slowdown[0] = 3.0;
        check_change(3, 2.0, 30);
        cluster.slowdown[0] = 1.0;
        check_change(3, 1.0, 30);
        cluster_end(&cluster);
    }
}

static void test_load_that_comes_and_goes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 3, seed);
        cluster_begin(&cluster);
        cluster_steps(&cluster, 30);
        for (int i = 0; i < 20; i++) {
            check_change(1, i % 2 ? 1.0 : 2.0, 10);
        }
        assert_in_range(cluster.replans, 20, 40); // one to move, at most one to correct
        cluster_end(&cluster);
    }
}

static void test_ramp(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 3, seed);
        cluster_begin(&cluster);
        cluster_steps(&cluster, 30);
        for (int i = 1; i <= 100; i++) { // to twice as slow, in a hundred steps
            cluster.slowdown[1] = 1.0 + i / 100.0;
            cluster_step(&cluster);
            cluster_assert_efficiency(&cluster, 0.85);
        }
        cluster_steps(&cluster, 10);
        cluster_assert_efficiency(&cluster, 0.95);
        assert_in_range(cluster.replans, 3, 25);
        cluster_end(&cluster);
    }
}

// A node that rests most of the step has its quota full and its clock high: one micro-batch takes
// it half as long as one of many does. Its load ends; it gets back what it can do, and never more.
static void test_rate_of_one_micro_batch_is_not_believed_for_many(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 3, seed);
        cluster.total = 30;
        cluster_begin(&cluster);
        cluster_steps(&cluster, 30);
        cluster.slowdown[2] = 9.0;
        cluster_steps(&cluster, 20);
        assert_int_equal(cluster.decision.split[2], 1);
        for (int i = 0; i < 10; i++) {
            cluster.slowdown[2] = cluster.decision.split[2] < 3 ? 0.5 : 1.0;
            cluster_step(&cluster);
            assert_in_range(cluster.decision.split[2], 1, 11);
        }
        cluster.slowdown[2] = 1.0;
        cluster_assert_efficiency(&cluster, 0.9); // one micro-batch is 10 %
        cluster_end(&cluster);
    }
}

// Three nodes, one 2.5 % slower: the best split gains 1.6 % a step, which in 50 steps, as far as
// anybody looks ahead, is less than a re-plan costs. At 6 % it is worth it.
static void test_small_gains_are_left(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster.total = 1200;
    for (int i = 0; i < 3; i++) {
        cluster.most[i] = cluster.total;
    }
    cluster.noise = 0.001;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 100);
    cluster.slowdown[1] = 1.025;
    cluster_steps(&cluster, 100);
    assert_int_equal(cluster.replans, 0);
    assert_true(cluster.decision.gain > 0.005 && cluster.decision.gain < 0.02);
    cluster.slowdown[1] = 1.06;
    cluster_steps(&cluster, 100);
    assert_in_range(cluster.replans, 1, 2);
    cluster_assert_efficiency(&cluster, 0.98);
    cluster_end(&cluster);
}

// 12 % slower for four steps, then not, and so on: no plan lasts, so after a few nobody bothers;
// when it stays, it is worth it again.
static void test_what_never_lasts_is_left(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster.noise = 0.005;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 30);
    for (int i = 0; i < 400; i++) {
        cluster.slowdown[1] = i % 8 < 4 ? 1.12 : 1.0;
        cluster_step(&cluster);
        if (i == 199) {
            cluster.replans = 0;
        }
    }
    assert_in_range(cluster.replans, 0, 20); // of 50 changes
    cluster.slowdown[1] = 1.3;
    cluster_steps(&cluster, 40);
    cluster_assert_efficiency(&cluster, 0.95);
    cluster_end(&cluster);
}

// A node so slow that it gets nothing; its load ends unseen, a probe finds out.
static void test_node_without_work_is_probed(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster.total = 12;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 30);
    cluster.slowdown[2] = 8.0;
    cluster_steps(&cluster, 3);
    assert_int_equal(cluster.decision.split[2], 0);
    cluster_steps(&cluster, 300);
    assert_int_equal(cluster.decision.split[2], 0);
    assert_in_range(cluster.probes, 3, 8); // ever more seldom
    cluster.slowdown[2] = 1.0;
    int steps = 0;
    while (cluster.decision.split[2] < 4 && steps < 600) {
        cluster_step(&cluster);
        steps++;
    }
    assert_in_range(steps, 1, 520);
    cluster_steps(&cluster, 3);
    cluster_assert_efficiency(&cluster, 0.95);
    cluster_end(&cluster);
}

// Soon after it lost its work a node is probed soon.
static void test_short_load_on_a_node_without_work(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster.total = 12;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 30);
    cluster.slowdown[2] = 6.5; // a little too slow: cheap to ask
    cluster_steps(&cluster, 4);
    assert_int_equal(cluster.decision.split[2], 0);
    cluster.slowdown[2] = 1.0;
    cluster_steps(&cluster, 12);
    cluster_assert_efficiency(&cluster, 0.95);
    cluster_end(&cluster);
}

// Ten of twelve nodes lose their work at once and are probed at once, but most of a step stays work
// for the two: no more than a quarter of it, and one, goes to probes.
static void test_probes_leave_most_of_a_step(void **state)
{
    (void)state;
    cluster_init(&cluster, 12, 1);
    cluster.total = 24;
    cluster.noise = 0.0;
    cluster_begin(&cluster);
    cluster_steps(&cluster, 30);
    for (int i = 2; i < 12; i++) {
        cluster.slowdown[i] = 40.0;
    }
    cluster_steps(&cluster, 4);
    int probed_most = 0;
    for (int step = 0; step < 200; step++) {
        cluster_step(&cluster);
        int work = cluster.decision.split[0] + cluster.decision.split[1];
        probed_most = cluster.total - work > probed_most ? cluster.total - work : probed_most;
    }
    assert_int_equal(probed_most, 1 + 24 / 4);
    cluster_end(&cluster);
}

// However often a probe found nothing, the next comes within 512 steps.
static void test_a_resting_node_is_not_forgotten(void **state)
{
    (void)state;
    const struct hypertune_probe_options options = hypertune_probe_defaults();
    struct hypertune_probe probe = {0};
    int64_t step = 1000, pause = 0;
    hypertune_probe_rest(&probe, &options, step, 0.0);
    for (int i = 0; i < 20; i++) {
        int64_t waited = probe.due_step - step;
        assert_true(waited >= pause && waited <= 512);
        assert_false(hypertune_probe_is_due(&probe, probe.due_step - 1));
        assert_true(hypertune_probe_is_due(&probe, probe.due_step));
        pause = waited;
        step = probe.due_step;
        hypertune_probe_failed(&probe, &options, step);
    }
    assert_int_equal(pause, 512);
}

static void test_bounds_are_kept(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster.least[1] = 10; // private data
    cluster.most[0] = 18;  // memory
    cluster_begin(&cluster);
    cluster_steps(&cluster, 20);
    cluster.slowdown[1] = 8.0;
    cluster_steps(&cluster, 10); // every step checks the bounds
    assert_int_equal(cluster.decision.split[0], 18);
    assert_int_equal(cluster.decision.split[1], 10);
    assert_int_equal(cluster.decision.split[2], 20);
    cluster_end(&cluster);
}

static void test_missing_reports(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster_begin(&cluster);
    cluster_steps(&cluster, 20);
    cluster.silent[1] = true;
    cluster.slowdown[1] = 2.0;
    cluster_steps(&cluster, 50); // not heard of, so nothing is known
    assert_int_equal(cluster.replans, 0);
    cluster.silent[1] = false;
    cluster_steps(&cluster, 2);
    cluster_assert_efficiency(&cluster, 0.95);
    for (int i = 0; i < 3; i++) {
        cluster.silent[i] = true;
    }
    cluster_steps(&cluster, 5);
    cluster_assert_efficiency(&cluster, 0.95);
    cluster_end(&cluster);
}

static void test_clock_that_jumps(void **state)
{
    (void)state;
    cluster_init(&cluster, 3, 1);
    cluster_begin(&cluster);
    cluster_steps(&cluster, 20);
    for (int i = 0; i < 20; i++) {
        cluster_compute(&cluster);
        if (i % 4 == 1) {
            cluster.reports[1].compute_s = i % 8 == 1 ? -86400.0 : 86400.0;
            cluster.reports[1].clock_s += cluster.reports[1].compute_s;
            cluster.clock_s[1] = cluster.reports[1].clock_s;
        }
        cluster_decide(&cluster);
    }
    assert_int_equal(cluster.replans, 0);
    check_change(1, 2.0, 10);
    cluster_end(&cluster);
}

// A profile that is wrong by a third, and says nothing of fixed costs, is put right by the run.
static void test_wrong_profile(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 3, seed);
        cluster_begin(&cluster);
        cluster.slowdown[0] = 1.35;
        cluster.fixed_s[1] = 0.02;
        cluster_steps(&cluster, 20);
        cluster_assert_efficiency(&cluster, 0.95);
        cluster_end(&cluster);
    }
}

// No profile at all: a second for everybody. The truth is far away, and found in three steps.
static void test_no_profile(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cluster_init(&cluster, 3, seed);
        cluster.total = 160;
        for (int i = 0; i < 3; i++) {
            cluster.most[i] = 160;
            cluster.each_s[i] = 1.0;
        }
        cluster_begin(&cluster);
        cluster.each_s[0] = 0.01;
        cluster.each_s[1] = 0.02;
        cluster.each_s[2] = 0.05;
        cluster_steps(&cluster, 3);
        cluster_assert_efficiency(&cluster, 0.95);
        cluster_end(&cluster);
    }
}

static void test_same_reports_same_decisions(void **state)
{
    (void)state;
    static int first[200][3];
    for (int run = 0; run < 2; run++) {
        cluster_init(&cluster, 3, 5);
        cluster_begin(&cluster);
        for (int i = 0; i < 200; i++) {
            cluster.slowdown[i / 50 % 3] = i % 50 < 25 ? 2.5 : 1.0;
            cluster_step(&cluster);
            if (run == 0) {
                memcpy(first[i], cluster.decision.split, sizeof(first[i]));
            }
            assert_memory_equal(first[i], cluster.decision.split, sizeof(first[i]));
        }
        cluster_end(&cluster);
    }
}

static void test_refused(void **state)
{
    (void)state;
    cluster_init(&cluster, 2, 1);
    const struct plan_cluster known = cluster_known(&cluster);
    const struct hypertune_decide_config config = {
        .cluster = &known, .micro_batches = 4, .options = hypertune_decide_defaults()};
    struct hypertune_decide *decide;
    struct capture capture;
    capture_start(&capture);
    cluster.known[1].curve.line.each_s = 0.0;
    assert_int_equal(hypertune_decide_create(&config, &decide), STN_ERR_INVALID);
    cluster.known[1].curve.line.each_s = NAN;
    assert_int_equal(hypertune_decide_create(&config, &decide), STN_ERR_INVALID);
    assert_int_equal(capture.lines, 2);
    assert_non_null(strstr(capture.last, "node 1"));
    capture_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_nodes_one_loaded),
        cmocka_unit_test(test_host_and_devices),
        cmocka_unit_test(test_two_loaded_at_once),
        cmocka_unit_test(test_load_that_comes_and_goes),
        cmocka_unit_test(test_ramp),
        cmocka_unit_test(test_rate_of_one_micro_batch_is_not_believed_for_many),
        cmocka_unit_test(test_small_gains_are_left),
        cmocka_unit_test(test_what_never_lasts_is_left),
        cmocka_unit_test(test_node_without_work_is_probed),
        cmocka_unit_test(test_short_load_on_a_node_without_work),
        cmocka_unit_test(test_probes_leave_most_of_a_step),
        cmocka_unit_test(test_a_resting_node_is_not_forgotten),
        cmocka_unit_test(test_bounds_are_kept),
        cmocka_unit_test(test_missing_reports),
        cmocka_unit_test(test_clock_that_jumps),
        cmocka_unit_test(test_wrong_profile),
        cmocka_unit_test(test_no_profile),
        cmocka_unit_test(test_same_reports_same_decisions),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
