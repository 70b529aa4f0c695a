// SPDX-License-Identifier: Apache-2.0
// Incidents: what a node's figures say about why it slowed down, since when, by how much, and the
// cost.
#include <math.h>
#include <string.h>

#include "cluster.h"
#include "cmocka_all.h"
#include "hypertune/cause.h"

enum { NODES = 3 };

static struct cluster cluster; // large; one at a time

// What node 1 loses its time to.
enum trouble { NONE, NEIGHBOUR, NEIGHBOUR_UNDER_QUOTA, QUOTA, DISK, CLOCK, MYSTERY };

struct watch {
    struct hypertune_causes *causes;
    struct hypertune_incident events[NODES], last; // last: the latest of all events
    int count;                                     // of events
    enum trouble trouble;
    double cpus; // that a node keeps busy
};

static void watch_begin(struct watch *watch)
{
    const struct plan_cluster known = cluster_known(&cluster);
    const struct hypertune_cause_options options = hypertune_cause_defaults();
    *watch = (struct watch){.cpus = 1.6};
    assert_int_equal(hypertune_causes_create(&known, &options, &watch->causes), STN_OK);
}

// Always throttled a little; what is more than usual goes where the trouble says.
static void figures_fill(struct hypertune_report *r, double slowdown, enum trouble trouble,
                         double cpus)
{
    double usual_s = r->compute_s / slowdown, more_s = r->compute_s - usual_s;
    r->cpu_s = cpus * (usual_s + (trouble == CLOCK ? more_s : 0.0));
    r->io_s = trouble == DISK ? more_s : 0.0;
    r->throttled_s = 0.2 * usual_s;
    r->throttled_s += trouble == QUOTA || trouble == NEIGHBOUR_UNDER_QUOTA ? more_s : 0.0;
    r->queue_s = r->throttled_s + 0.01 * usual_s + (trouble == NEIGHBOUR ? 0.9 * more_s : 0.0);
    r->share_cpu_s = r->cpu_s + (trouble == NEIGHBOUR_UNDER_QUOTA ? 0.5 * cpus * more_s : 0.0);
}

static void watch_steps(struct watch *watch, int steps)
{
    for (int i = 0; i < steps; i++) {
        int64_t step = cluster.step;
        cluster_compute(&cluster);
        for (int k = 0; k < NODES; k++) {
            figures_fill(&cluster.reports[k], cluster.slowdown[k], watch->trouble, watch->cpus);
        }
        cluster_decide(&cluster);
        int count = hypertune_causes_step(watch->causes, step, cluster.reports, cluster.decide,
                                          &cluster.decision, watch->events);
        if (count > 0) {
            watch->last = watch->events[count - 1];
        }
        watch->count += count;
    }
}

static void watch_end(struct watch *watch)
{
    hypertune_causes_destroy(watch->causes);
    cluster_end(&cluster);
}

static void test_causes(void **state)
{
    (void)state;
    const struct {
        enum trouble trouble;
        enum hypertune_cause expected;
    } cases[] = {
        {NEIGHBOUR, HYPERTUNE_CAUSE_PROCESS}, {NEIGHBOUR_UNDER_QUOTA, HYPERTUNE_CAUSE_PROCESS},
        {QUOTA, HYPERTUNE_CAUSE_THROTTLED},   {DISK, HYPERTUNE_CAUSE_DATA},
        {CLOCK, HYPERTUNE_CAUSE_CLOCK},       {MYSTERY, HYPERTUNE_CAUSE_UNKNOWN},
    };
    for (int i = 0; i < 12; i++) {
        struct watch watch;
        cluster_init(&cluster, NODES, 3);
        cluster_begin(&cluster);
        watch_begin(&watch);
        watch.cpus = i < 6 ? 1.6 : 0.15; // two threads; a small share
        watch_steps(&watch, 40);
        assert_int_equal(watch.count, 0);
        cluster.slowdown[1] = 2.0;
        watch.trouble = cases[i % 6].trouble;
        watch_steps(&watch, 2);
        assert_int_equal(watch.count, 1);
        assert_int_equal(watch.last.node, 1);
        assert_int_equal(watch.last.cause, cases[i % 6].expected);
        watch_steps(&watch, 30);
        const struct hypertune_incident *open = hypertune_causes_open(watch.causes, 1);
        assert_non_null(open);
        assert_int_equal(open->cause, cases[i % 6].expected);
        watch_end(&watch);
    }
}

static void test_from_begin_to_end(void **state)
{
    (void)state;
    struct watch watch;
    cluster_init(&cluster, NODES, 3);
    cluster_begin(&cluster);
    watch_begin(&watch);
    watch_steps(&watch, 40);
    cluster.slowdown[1] = 2.0;
    watch.trouble = NEIGHBOUR;
    watch_steps(&watch, 2);
    assert_int_equal(watch.last.since_step, 40);
    assert_int_equal(watch.last.until_step, -1);
    assert_true(fabs(watch.last.slowdown - 2.0) < 0.15);
    assert_int_equal(watch.last.split_before, 16);
    assert_in_range(watch.last.split_now, 8, 11); // 48 shared 2 : 1 : 2 is 9.6
    // Two steps of 0.32 s instead of 0.16 s.
    assert_true(fabs(watch.last.cost_s - 0.32) < 0.06);
    watch_steps(&watch, 28);
    cluster.slowdown[1] = 1.0;
    watch_steps(&watch, 10);
    assert_int_equal(watch.count, 2);
    assert_int_equal(watch.last.since_step, 40);
    assert_int_equal(watch.last.until_step, 70);
    assert_in_range(watch.last.split_now, 8, 11);
    // And 28 (or a few more) of 0.192…0.2 s: a fifth of the cluster is gone.
    assert_true(watch.last.cost_s > 0.32 + 28 * 0.03 && watch.last.cost_s < 0.32 + 33 * 0.045);
    assert_null(hypertune_causes_open(watch.causes, 1));
    watch_end(&watch);
}

// Quiet steps, and a node that gets faster, are no incidents; slowing down from there is.
static void test_faster_is_no_incident(void **state)
{
    (void)state;
    struct watch watch;
    cluster_init(&cluster, NODES, 3);
    cluster_begin(&cluster);
    watch_begin(&watch);
    watch_steps(&watch, 100);
    cluster.slowdown[1] = 1.0 / 3.0;
    watch_steps(&watch, 100);
    assert_int_equal(watch.count, 0);
    cluster.slowdown[1] = 1.0;
    watch_steps(&watch, 3);
    assert_int_equal(watch.count, 1);
    assert_true(fabs(watch.last.slowdown - 3.0) < 0.3);
    watch_end(&watch);
}

// A tenth slower: nothing to act on in a few steps; told when it has lasted.
static void test_small_ones_are_told_when_they_have_cost_something(void **state)
{
    (void)state;
    struct watch watch;
    cluster_init(&cluster, NODES, 3);
    cluster.noise = 0.005;
    cluster_begin(&cluster);
    watch_begin(&watch);
    watch_steps(&watch, 40);
    for (int i = 0; i < 5; i++) {
        cluster.slowdown[1] = 1.13;
        watch_steps(&watch, 3);
        cluster.slowdown[1] = 1.0;
        watch_steps(&watch, 10);
    }
    assert_int_equal(watch.count, 0);
    cluster.slowdown[1] = 1.13;
    watch_steps(&watch, 60);
    assert_int_equal(watch.count, 1);
    assert_true(watch.last.cost_s > 0.08); // half a step
    assert_non_null(hypertune_causes_open(watch.causes, 1));
    watch_end(&watch);
}

static void test_two_share_the_cost(void **state)
{
    (void)state;
    struct watch watch;
    cluster_init(&cluster, NODES, 3);
    cluster_begin(&cluster);
    watch_begin(&watch);
    watch_steps(&watch, 40);
    cluster.slowdown[1] = 2.0;
    cluster.slowdown[2] = 2.0;
    watch_steps(&watch, 20);
    const struct hypertune_incident *one = hypertune_causes_open(watch.causes, 1);
    const struct hypertune_incident *two = hypertune_causes_open(watch.causes, 2);
    assert_non_null(one);
    assert_non_null(two);
    assert_true(fabs(one->cost_s / two->cost_s - 1.0) < 0.2);
    assert_null(hypertune_causes_open(watch.causes, 0));
    watch_end(&watch);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(hypertune_cause_name(HYPERTUNE_CAUSE_DATA), "DATA");
    assert_string_equal(hypertune_cause_text(HYPERTUNE_CAUSE_UNKNOWN), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_from_begin_to_end),
        cmocka_unit_test(test_faster_is_no_incident),
        cmocka_unit_test(test_small_ones_are_told_when_they_have_cost_something),
        cmocka_unit_test(test_two_share_the_cost),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
