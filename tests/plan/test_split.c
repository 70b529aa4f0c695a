// SPDX-License-Identifier: Apache-2.0
// The split against trying everything, and at sizes where nothing can be tried by the condition
// that an optimum must keep; then what cannot be planned, and what a split promises.
#include <limits.h>
#include <math.h>

#include "near.h"
#include "plan/outlook.h"
#include "plan/split.h"
#include "random_cluster.h"
#include "refused.h"

enum { CASES = 20000 };

static double time_of(const struct plan_cluster *cluster, int i, int micro_batches)
{
    return plan_line_seconds(&cluster->nodes[i].curve.line, micro_batches);
}

static double slowest(const struct plan_cluster *cluster, const int split[])
{
    double seconds = 0.0;
    for (int i = 0; i < cluster->count; i++) {
        seconds = fmax(seconds, time_of(cluster, i, split[i]));
    }
    return seconds;
}

// The shortest step with nodes from i on, by trying all.
static double try_all(const struct plan_cluster *cluster, int i, int left)
{
    if (i == cluster->count) {
        return left == 0 ? 0.0 : INFINITY;
    }
    double best = INFINITY;
    for (int m = cluster->nodes[i].floor; m <= cluster->nodes[i].cap && m <= left; m++) {
        double rest = try_all(cluster, i + 1, left - m);
        best = fmin(best, fmax(rest, time_of(cluster, i, m)));
    }
    return best;
}

// Sum and bounds are kept, and no micro-batch above a floor would be done earlier elsewhere.
static void check_split(const struct plan_cluster *cluster, const int split[], int micro_batches)
{
    long long sum = 0;
    double latest = 0.0, next = INFINITY;
    for (int i = 0; i < cluster->count; i++) {
        const struct plan_node *node = &cluster->nodes[i];
        assert_true(split[i] >= node->floor && split[i] <= node->cap);
        sum += split[i];
        if (split[i] > node->floor) {
            latest = fmax(latest, time_of(cluster, i, split[i]));
        }
        if (split[i] < node->cap) {
            next = fmin(next, time_of(cluster, i, split[i] + 1));
        }
    }
    assert_true(sum == micro_batches);
    assert_true(latest <= next);
}

static void split_of(const struct plan_cluster *cluster, int micro_batches, int split[])
{
    struct plan_offer heap[RANDOM_NODES_MAX];
    assert_int_equal(plan_split(cluster, micro_batches, heap, split), STN_OK);
}

static void test_equals_trying_all(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    for (int n = 0; n < CASES; n++) {
        struct random_cluster c;
        random_cluster_draw(&random, &c);
        int micro_batches = random_cluster_step(&random, &c), split[RANDOM_NODES_MAX];
        split_of(&c.cluster, micro_batches, split);
        check_split(&c.cluster, split, micro_batches);
        assert_true(slowest(&c.cluster, split) == try_all(&c.cluster, 0, micro_batches));
    }
}

static bool has_ties(const struct plan_cluster *cluster)
{
    return cluster->nodes[0].curve.line.each_s == floor(cluster->nodes[0].curve.line.each_s);
}

static void test_order_of_nodes_does_not_matter(void **state)
{
    (void)state;
    struct base_random random = base_random_from(2);
    for (int n = 0; n < CASES; n++) {
        struct random_cluster c, turned;
        random_cluster_draw(&random, &c);
        int micro_batches = random_cluster_step(&random, &c), count = c.cluster.count;
        turned = c;
        turned.cluster.nodes = turned.nodes;
        for (int i = 0; i < count; i++) {
            turned.nodes[i] = c.nodes[count - 1 - i];
        }
        int split[RANDOM_NODES_MAX], other[RANDOM_NODES_MAX];
        split_of(&c.cluster, micro_batches, split);
        split_of(&turned.cluster, micro_batches, other);
        assert_true(slowest(&c.cluster, split) == slowest(&turned.cluster, other));
        for (int i = 0; i < count && !has_ties(&c.cluster); i++) {
            assert_int_equal(split[i], other[count - 1 - i]);
        }
    }
}

static void test_more_speed_never_means_less_work(void **state)
{
    (void)state;
    struct base_random random = base_random_from(3);
    for (int n = 0; n < CASES; n++) {
        struct random_cluster c;
        random_cluster_draw(&random, &c);
        int micro_batches = random_cluster_step(&random, &c);
        int before[RANDOM_NODES_MAX], after[RANDOM_NODES_MAX];
        split_of(&c.cluster, micro_batches, before);
        double seconds = slowest(&c.cluster, before);
        int faster = random_upto(&random, c.cluster.count - 1);
        struct plan_line *line = &c.nodes[faster].curve.line;
        line->each_s *= 0.2 + 0.8 * base_random_unit(&random);
        line->fixed_s *= base_random_unit(&random);
        split_of(&c.cluster, micro_batches, after);
        assert_true(after[faster] >= before[faster]);
        assert_true(slowest(&c.cluster, after) <= seconds);
        for (int i = 0; i < c.cluster.count; i++) {
            assert_true(i == faster || after[i] <= before[i]);
        }
    }
}

// The nodes without work that are called too slow are those that would make the step longer.
static void test_nodes_too_slow_to_help(void **state)
{
    (void)state;
    struct base_random random = base_random_from(4);
    int found = 0;
    for (int n = 0; n < CASES; n++) {
        struct random_cluster c;
        random_cluster_draw(&random, &c);
        int micro_batches = random_cluster_step(&random, &c), split[RANDOM_NODES_MAX];
        split_of(&c.cluster, micro_batches, split);
        struct plan_outlook_node nodes[RANDOM_NODES_MAX];
        struct plan_outlook outlook = plan_outlook_of(&c.cluster, split, nodes);
        int i = random_upto(&random, c.cluster.count - 1);
        if (!nodes[i].too_slow) {
            assert_true(split[i] > 0 || c.nodes[i].cap == 0 ||
                        time_of(&c.cluster, i, 1) <= outlook.compute_s);
            continue;
        }
        found++;
        assert_true(split[i] == 0 && c.nodes[i].cap > 0);
        c.nodes[i].floor = 1;
        assert_true(try_all(&c.cluster, 0, micro_batches) > outlook.compute_s);
        c.nodes[i].floor = c.nodes[i].cap = 0;
        assert_true(try_all(&c.cluster, 0, micro_batches) == outlook.compute_s);
    }
    assert_true(found > CASES / 50);
}

// ---- large -------------------------------------------------------------------------------------

enum { MANY = 10000 };

static struct plan_node many[MANY];
static int many_split[MANY];
static struct plan_offer many_heap[MANY];

static void check_many(int micro_batches)
{
    struct plan_cluster cluster = {.nodes = many, .count = MANY, .micro_batch = 1};
    assert_int_equal(plan_split(&cluster, micro_batches, many_heap, many_split), STN_OK);
    check_split(&cluster, many_split, micro_batches);
}

static void test_ten_thousand_nodes(void **state)
{
    (void)state;
    struct base_random random = base_random_from(5);
    for (int i = 0; i < MANY; i++) {
        many[i] = (struct plan_node){
            .curve.line = {0.01 * base_random_unit(&random), 0.01 + base_random_unit(&random)},
            .floor = i % 10 == 0 ? random_upto(&random, 20) : 0,
            .cap = i % 7 == 0 ? 20 + random_upto(&random, 20) : INT_MAX,
        };
    }
    for (int micro_batches = 20000; micro_batches < 2000000000; micro_batches *= 10) {
        check_many(micro_batches);
    }
}

static void test_ten_thousand_equal_nodes(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) {
        many[i] = (struct plan_node){.curve.line = {0.1, 0.3}, .cap = INT_MAX};
    }
    for (int each = 0; each < 40; each++) {
        check_many(MANY * each + 1);
        check_many(MANY * (each + 1) - 40); // all but forty of them get one more
        check_many(MANY * (each + 1));
        assert_true(many_split[0] == each + 1 && many_split[MANY - 1] == each + 1);
    }
}

static void test_long_fixed_parts(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) {
        many[i] = (struct plan_node){.curve.line = {1.0, 2e-9}, .cap = 100000};
    }
    for (int micro_batches = 1; micro_batches < 100000000; micro_batches *= 9) {
        check_many(micro_batches);
    }
}

static void test_speeds_many_orders_apart(void **state)
{
    (void)state;
    struct base_random random = base_random_from(6);
    for (int n = 0; n < 20; n++) {
        for (int i = 0; i < MANY; i++) {
            double each_s = pow(10.0, -12.0 + 15.0 * base_random_unit(&random));
            double fixed_s = each_s * pow(10.0, -3.0 + 11.9 * base_random_unit(&random));
            many[i] = (struct plan_node){.curve.line = {fixed_s, each_s},
                                         .cap = random_upto(&random, 1 << (n + 4))};
        }
        check_many(1 + random_upto(&random, 20000));
    }
}

// ---- refused -----------------------------------------------------------------------------------

static void refuse(struct plan_node nodes[], int count, int micro_batches, const char *expected)
{
    struct plan_cluster cluster = {.nodes = nodes, .count = count, .micro_batch = 16};
    struct plan_offer heap[2];
    int split[2];
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(plan_split(&cluster, micro_batches, heap, split), STN_ERR_INVALID);
    assert_said(&capture, expected);
}

static void test_what_cannot_be_planned_is_refused(void **state)
{
    (void)state;
    struct plan_node good = {.name = "host", .curve.line = {0.0, 1.0}, .floor = 2, .cap = 5};
    struct plan_node nodes[2] = {good, good};
    refuse(nodes, 0, 4, "at least one");
    refuse(nodes, 2, 0, "at least one micro-batch");
    refuse(nodes, 2, 3, "needs 64 of every step; take batch 64");
    refuse(nodes, 2, 11, "allow 160; take batch 160");
    nodes[1].floor = 6;
    refuse(nodes, 2, 8, "node 1 (host): its private data needs 96 samples of every step");
    nodes[1] = good;
    nodes[1].name = NULL;
    for (int i = 0; i < 5; i++) {
        const struct plan_line bad[5] = {{0, 0}, {-1, 1}, {0, NAN}, {1e20, 1}, {0, -1}};
        nodes[1].curve.line = bad[i];
        refuse(nodes, 2, 8, "node 1: a step time of");
    }
    nodes[1] = (struct plan_node){.curve.line = {0.0, 1.0}, .cap = -1};
    refuse(nodes, 2, 8, "cannot be");
    nodes[0].floor = nodes[0].cap = nodes[1].cap = 0;
    refuse(nodes, 2, 8, "no node may compute");
}

// ---- outlook -----------------------------------------------------------------------------------

static void test_a_host_and_three_csds(void **state)
{
    (void)state;
    struct plan_node nodes[4] = {{.curve.line = {0.004, 0.041}, .cap = 100}};
    for (int i = 1; i < 4; i++) {
        nodes[i] = (struct plan_node){.curve.line = {0.016, 0.164}, .cap = 100};
    }
    struct plan_cluster cluster = {
        .nodes = nodes, .count = 4, .micro_batch = 16, .reduction = {0.03, 0.02}};
    int split[4];
    split_of(&cluster, 14, split);
    assert_memory_equal(split, ((int[]){8, 2, 2, 2}), sizeof(split));
    struct plan_outlook_node busy[4];
    struct plan_outlook outlook = plan_outlook_of(&cluster, split, busy);
    assert_near(outlook.compute_s, 0.344);
    assert_near(outlook.step_s, 0.354);
    assert_near(outlook.samples_per_s, 14 * 16 / 0.354);
    assert_near(outlook.ceiling, 16 * 1.75 / 0.041);
    assert_near(outlook.efficiency, 14 / 0.354 / (1.75 / 0.041));
    assert_near(busy[0].busy, 0.332 / 0.354);
    assert_near(busy[3].compute_s, 0.344);
    assert_false(busy[3].too_slow);
    split_of(&cluster, 3, split); // a CSD's first takes longer than the host's three
    assert_memory_equal(split, ((int[]){3, 0, 0, 0}), sizeof(split));
    plan_outlook_of(&cluster, split, busy);
    assert_true(busy[1].too_slow && busy[1].busy == 0.0);
}

static void test_reductions(void **state)
{
    (void)state;
    struct plan_reduction ring = plan_reduction_ring(4, 8e6, 1e9, 1e-4, 0.005);
    assert_near(ring.total_s, 1.5 * 8e6 / 1e9 + 6e-4);
    assert_near(plan_reduction_exposed_s(&ring), ring.total_s - 0.005);
    ring = plan_reduction_ring(4, 8e6, 1e9, 1e-4, 1.0);
    assert_true(plan_reduction_exposed_s(&ring) == 0.0);
    ring = plan_reduction_ring(1, 8e6, 1e9, 1e-4, 0.0);
    assert_true(ring.total_s == 0.0);
    assert_int_equal(plan_node_floor(0, 10, 16), 0);
    assert_int_equal(plan_node_floor(160, 10, 16), 1);
    assert_int_equal(plan_node_floor(161, 10, 16), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_trying_all),
        cmocka_unit_test(test_order_of_nodes_does_not_matter),
        cmocka_unit_test(test_more_speed_never_means_less_work),
        cmocka_unit_test(test_nodes_too_slow_to_help),
        cmocka_unit_test(test_ten_thousand_nodes),
        cmocka_unit_test(test_ten_thousand_equal_nodes),
        cmocka_unit_test(test_long_fixed_parts),
        cmocka_unit_test(test_speeds_many_orders_apart),
        cmocka_unit_test(test_what_cannot_be_planned_is_refused),
        cmocka_unit_test(test_a_host_and_three_csds),
        cmocka_unit_test(test_reductions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
