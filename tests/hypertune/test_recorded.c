// SPDX-License-Identifier: Apache-2.0
// The balanced policy on times that real nodes took: quiet while nothing happens to one of them,
// awake when something does.
#include "cluster.h"
#include "cmocka_all.h"
#include "recorded.h"

static struct cluster cluster;

static void begin(void)
{
    cluster_init(&cluster, RECORDED_NODES, 1);
    cluster.total = RECORDED_MICRO_BATCHES;
    cluster.noise = 0.0; // it is in the times
    for (int i = 0; i < RECORDED_NODES; i++) {
        cluster.fixed_s[i] = recorded_fixed_s[i];
        cluster.each_s[i] = recorded_each_s[i];
    }
    cluster_begin(&cluster);
}

// The recorded steps up to `end`, one node slowed besides.
static void replay_until(int end, int node, double slowdown)
{
    while (cluster.step < end) {
        for (int i = 0; i < RECORDED_NODES; i++) {
            double besides = i == node ? slowdown : 1.0;
            cluster.slowdown[i] = recorded[cluster.step][i] / 1000.0 * besides;
        }
        cluster_step(&cluster);
    }
}

// The profile says 9, 10 and 11; they are alike, which is worth one re-plan and no more.
static void test_quiet(void **state)
{
    (void)state;
    begin();
    assert_int_equal(cluster.decision.split[0], 9);
    assert_int_equal(cluster.decision.split[2], 11);
    replay_until(RECORDED_STEPS, 0, 1.0);
    assert_in_range(cluster.replans, 0, 1);
    for (int i = 0; i < RECORDED_NODES; i++) {
        assert_int_equal(cluster.decision.split[i], 10);
    }
    cluster_end(&cluster);
}

// One node gets slower for fifteen steps; returns in how many of them work had not moved yet.
static int check_load(int node, double slowdown, int from)
{
    begin();
    replay_until(from, 0, 1.0);
    int usual = cluster.decision.split[node], late = 0;
    do {
        late++;
        replay_until(from + late, node, slowdown);
    } while (cluster.decision.split[node] > usual - 2);
    replay_until(from + 15, node, slowdown);
    assert_in_range(cluster.decision.split[node], 1, usual - 2);
    replay_until(from + 17, 0, 1.0);
    assert_in_range(cluster.decision.split[node], usual - 1, usual + 2);
    replay_until(RECORDED_STEPS, 0, 1.0);
    assert_in_range(cluster.decision.split[node], usual - 1, usual + 1);
    assert_in_range(cluster.replans, 2, 5);
    cluster_end(&cluster);
    return late;
}

// Work has moved when the third step begins; one time of thirty it takes one more. It is back two
// steps after the end.
static void test_load_is_seen_through_the_noise(void **state)
{
    (void)state;
    int late = 0;
    for (int node = 0; node < RECORDED_NODES; node++) {
        for (int from = 40; from < 90; from += 10) {
            late += check_load(node, 2.0, from) - 2;
            late += check_load(node, 4.0, from) - 2;
        }
    }
    assert_in_range(late, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_load_is_seen_through_the_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
