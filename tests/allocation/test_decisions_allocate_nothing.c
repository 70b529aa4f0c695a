// SPDX-License-Identifier: Apache-2.0
// Watching nodes, finding causes and moving work allocate nothing once they are set up.
#include "cmocka_all.h"
#include "counter.h"
#include "hypertune/cause.h"
#include "hypertune/cluster.h"

enum { NODES = 8, STEPS = 200 };

static struct cluster cluster;

static void test_decisions_allocate_nothing(void **state)
{
    (void)state;
    struct hypertune_incident events[NODES];
    struct hypertune_causes *causes;
    const struct hypertune_cause_options options = hypertune_cause_defaults();
    cluster_init(&cluster, NODES, 1);
    cluster_begin(&cluster);
    const struct plan_cluster known = cluster_known(&cluster);
    assert_int_equal(hypertune_causes_create(&known, &options, &causes), STN_OK);
    counter_clear();
    counter_start();
    for (int64_t step = 0; step < STEPS; step++) {
        cluster.slowdown[2] = step % 40 < 20 ? 100.0 : 1.0; // so slow that it gets no work
        cluster_step(&cluster);
        hypertune_causes_step(causes, step, cluster.reports, cluster.decide, &cluster.decision,
                              events);
    }
    counter_stop();
    assert_true(cluster.replans > 0);
    assert_int_equal(counter_own(), 0);
    hypertune_causes_destroy(causes);
    cluster_end(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decisions_allocate_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
