// SPDX-License-Identifier: Apache-2.0
// The policies on the papers' own figures, beside each other, and on random clusters.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "hypertune/policy.h"
#include "plan/near.h"
#include "plan/outlook.h"
#include "plan/random_cluster.h"

enum { NODES_MAX = 40, CASES = 3000 };

static enum stn_status split_by(const char *name, const struct plan_request *request, int split[])
{
    struct plan_node nodes[NODES_MAX];
    struct plan_offer offers[NODES_MAX];
    const struct plan_scratch scratch = {.nodes = nodes, .offers = offers};
    return hypertune_policy_find(name)->does->split(request, &scratch, split);
}

static int sum_of(const int split[], int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += split[i];
    }
    return sum;
}

// A host and CSDs, each known by a table of speeds. Batches are in samples: micro-batches of one.
struct rack {
    struct plan_node nodes[NODES_MAX];
    struct plan_request request;
};

static void rack_build(struct rack *rack, const struct plan_point host[], int host_count,
                       const struct plan_point csd[], int csd_count, int csds)
{
    *rack = (struct rack){0};
    for (int i = 0; i <= csds; i++) {
        rack->nodes[i] = (struct plan_node){.kind = i > 0, .cap = INT_MAX};
        assert_int_equal(plan_curve_from_points(i ? csd : host, i ? csd_count : host_count,
                                                &rack->nodes[i].curve),
                         STN_OK);
    }
    rack->request = (struct plan_request){
        .cluster = {.nodes = rack->nodes, .count = 1 + csds, .micro_batch = 1},
        .options = plan_policy_defaults,
    };
}

// ---- Stannis, Table I --------------------------------------------------------------------------

static const struct {
    const char *net;
    int host_batch, csd_batch;
    double host_speed, csd_speed; // images a second
} table_one[] = {
    {"MobileNetV2", 315, 25, 31.05, 3.08},
    {"NASNet", 325, 15, 47.31, 2.80},
    {"InceptionV3", 370, 16, 30.80, 1.85},
    {"SqueezeNet", 850, 50, 219.0, 16.3},
};
enum { NETS = sizeof(table_one) / sizeof(*table_one), SATURATED = 16 };

// The CSD's sweep ends at its best batch. The host is as fast with any batch from 16 on, as the
// paper says of its devices.
static void rack_of(struct rack *rack, int net, struct plan_point points[2], int csds)
{
    points[0] = (struct plan_point){SATURATED, table_one[net].host_speed};
    points[1] = (struct plan_point){table_one[net].csd_batch, table_one[net].csd_speed};
    rack_build(rack, &points[0], 1, &points[1], 1, csds);
}

// The host ends within E of the CSD, as late as it may; the printed batch is past that by up to a
// fifth, whatever the paper's loop did. C only says how fast it gets there.
static void test_table_one_by_algorithm_one(void **state)
{
    (void)state;
    for (int net = 0; net < NETS; net++) {
        struct plan_point points[2];
        struct rack rack;
        rack_of(&rack, net, points, 24);
        const double adjustments[] = {0.0, 1e-3, 1.0, 10.0, 1000.0};
        for (int c = 0; c < 5; c++) {
            int split[NODES_MAX];
            rack.request.options.adjust_s = adjustments[c];
            assert_int_equal(split_by("stannis", &rack.request, split), STN_OK);
            double host_s = plan_curve_seconds(&rack.nodes[0].curve, split[0]);
            double csd_s = plan_curve_seconds(&rack.nodes[1].curve, split[1]);
            assert_int_equal(split[1], table_one[net].csd_batch);
            assert_int_equal(split[24], table_one[net].csd_batch);
            assert_true(host_s > csd_s && host_s <= csd_s * 1.2);
            assert_true(plan_curve_seconds(&rack.nodes[0].curve, split[0] + 1) > csd_s * 1.2);
            assert_in_range(table_one[net].host_batch, split[0], split[0] * 12 / 10);
        }
    }
}

static void test_margin(void **state)
{
    (void)state;
    struct plan_point points[2];
    struct rack rack;
    int split[NODES_MAX], split_tight[NODES_MAX];
    rack_of(&rack, 0, points, 1);
    assert_int_equal(split_by("stannis", &rack.request, split), STN_OK);
    rack.request.options.margin = 50.0;
    assert_int_equal(split_by("stannis", &rack.request, split_tight), STN_OK);
    assert_int_equal(split[0], 302);       // 31.05 · 1.2 · 25/3.08
    assert_int_equal(split_tight[0], 257); // 31.05 · 1.02 · 25/3.08
}

// With the batch of Algorithm 1, CSDs wait a sixth of every step. Balanced, nobody could do one
// more image in the time that it waits.
static void test_balanced_leaves_nobody_idle(void **state)
{
    (void)state;
    for (int net = 0; net < NETS; net++) {
        for (int csds = 1; csds <= 24; csds += 23) {
            struct plan_point points[2];
            struct rack rack;
            rack_of(&rack, net, points, csds);
            struct plan_cluster *cluster = &rack.request.cluster;
            struct plan_outlook_node papers[NODES_MAX], ours[NODES_MAX];
            int split[NODES_MAX];
            assert_int_equal(split_by("stannis", &rack.request, split), STN_OK);
            struct plan_outlook before = plan_outlook_of(cluster, split, papers);
            rack.request.micro_batches = sum_of(split, cluster->count);
            for (int i = 0; i <= csds; i++) { // below its best batch a CSD is hardly slower
                rack.nodes[i].curve.count = 0;
            }
            assert_int_equal(split_by("balanced", &rack.request, split), STN_OK);
            struct plan_outlook after = plan_outlook_of(cluster, split, ours);
            assert_int_equal(sum_of(split, cluster->count), rack.request.micro_batches);
            for (int i = 0; i <= csds; i++) {
                assert_true(i == 0 || papers[i].busy < 0.84);
                assert_true(after.step_s - ours[i].compute_s <
                            rack.nodes[i].curve.line.each_s * 1.000001);
            }
            assert_true(after.samples_per_s > before.samples_per_s);
            assert_true(after.efficiency > 0.96);
        }
    }
}

// ---- HyperTune, §V -----------------------------------------------------------------------------

static const struct plan_point xeon[] = {{60, 30.0}, {180, 33.4}, {300, 33.5}};
static const struct plan_point laguna[] = {{5, 2.2}, {10, 2.6}, {15, 2.78}, {20, 2.8}};

static void test_most_influencing_device(void **state)
{
    (void)state;
    struct rack rack;
    int split[NODES_MAX];
    rack_build(&rack, xeon, 3, laguna, 4, 36); // 36 · 2.78 > 33.4: the CSD's best, the host follows
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_int_equal(split[0], 180);
    assert_int_equal(split[36], 15);
    rack_build(&rack, xeon, 3, laguna, 4, 3); // the host's best, CSDs follow
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_int_equal(split[0], 180);
    assert_int_equal(split[3], 15);
    // 60 is nearly as fast as 90; a CSD takes 2.27 s even for one image, so that 5 are free and the
    // host has time for more.
    rack.nodes[0].cap = 90;
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_memory_equal(split, ((int[]){68, 5, 5, 5}), 4 * sizeof(*split));
    rack_build(&rack, xeon, 3, xeon, 3, 2);
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_memory_equal(split, ((int[]){180, 180, 180}), 3 * sizeof(*split));
}

// Speed alone does not make influence: with many CSDs the host keeps to their time, with few they
// to the host's.
static void test_count_makes_influence(void **state)
{
    (void)state;
    static const struct plan_point host[] = {{150, 27.8}, {300, 33.4}}, csd[] = {{15, 2.78}};
    struct rack rack;
    int split[NODES_MAX];
    rack_build(&rack, host, 2, csd, 1, 36);
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_true(split[0] == 150 && split[36] == 15);
    rack_build(&rack, host, 2, csd, 1, 3);
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_true(split[0] == 300 && split[3] == 25);
}

// Micro-batches are coarse: one of the slowest node takes as long as several of the fastest, whose
// best batch is one.
static void test_coarse_micro_batches(void **state)
{
    (void)state;
    static const struct plan_point a[] = {{1, 16.0}}, c[] = {{1, 3.6}};
    struct rack rack;
    int split[NODES_MAX];
    rack_build(&rack, a, 1, c, 1, 2);
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_memory_equal(split, ((int[]){4, 1, 1}), 3 * sizeof(*split));
    rack.request.micro_batches = 24;
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_memory_equal(split, ((int[]){16, 4, 4}), 3 * sizeof(*split));
}

static void test_a_batch_asked_for_keeps_the_proportions(void **state)
{
    (void)state;
    struct rack rack;
    int split[NODES_MAX];
    rack_build(&rack, xeon, 3, laguna, 4, 36);
    rack.request.micro_batches = 48 * 4; // 12 : 1, 36 times
    assert_int_equal(split_by("hypertune", &rack.request, split), STN_OK);
    assert_true(split[0] == 48 && split[1] == 4 && split[36] == 4);
}

static void test_equation_one(void **state)
{
    (void)state;
    int split[25] = {315};
    for (int i = 1; i < 25; i++) {
        split[i] = 25;
    }
    int64_t data[25], sum = 0;
    assert_int_equal(plan_policy_data(split, 25, 1, 84000, data), 92); // 84000 / 915
    for (int i = 0; i < 25; i++) {
        sum += data[i];
        assert_true(llabs(data[i] - 84000 * split[i] / 915) <= 1);
    }
    assert_int_equal(sum, 84000);
    assert_int_equal(plan_policy_data(split, 25, 16, 915 * 16 + 1, data), 2);
}

// ---- all of them -------------------------------------------------------------------------------

static void test_uniform(void **state)
{
    (void)state;
    struct plan_node nodes[4];
    for (int i = 0; i < 4; i++) {
        nodes[i] = (struct plan_node){.curve.line = {0.0, i ? 4.0 : 1.0}, .cap = 100};
    }
    struct plan_request request = {.cluster = {.nodes = nodes, .count = 4, .micro_batch = 16},
                                   .micro_batches = 28,
                                   .options = plan_policy_defaults};
    int split[4], balanced[4];
    assert_int_equal(split_by("uniform", &request, split), STN_OK);
    assert_memory_equal(split, ((int[]){7, 7, 7, 7}), sizeof(split));
    assert_int_equal(split_by("balanced", &request, balanced), STN_OK);
    assert_memory_equal(balanced, ((int[]){16, 4, 4, 4}), sizeof(balanced));
    assert_near(plan_outlook_of(&request.cluster, balanced, NULL).samples_per_s,
                1.75 * plan_outlook_of(&request.cluster, split, NULL).samples_per_s);
    nodes[3].cap = 2;
    nodes[0].floor = 12;
    assert_int_equal(split_by("uniform", &request, split), STN_OK);
    assert_memory_equal(split, ((int[]){12, 7, 7, 2}), sizeof(split));
    request.micro_batches = 0; // the batch of `balanced`
    assert_int_equal(split_by("uniform", &request, split), STN_OK);
    assert_int_equal(split_by("static", &request, balanced), STN_OK);
    assert_int_equal(sum_of(split, 4), sum_of(balanced, 4));
    // Half of the data is node 2's own: so is half of every step, whatever the policy.
    request.options.batch.samples = 8000;
    request.options.batch.private_samples = (const int64_t[]){0, 0, 4000, 0};
    nodes[0].floor = 0;
    assert_int_equal(split_by("uniform", &request, split), STN_OK);
    assert_int_equal(split_by("balanced", &request, balanced), STN_OK);
    assert_int_equal(split[2], (sum_of(split, 4) + 1) / 2);
    assert_int_equal(balanced[2], split[2]);
}

static void check_bounds(const struct random_cluster *c, const int split[], bool keeps_all_at_work)
{
    for (int i = 0; i < c->cluster.count; i++) {
        assert_true(split[i] >= c->nodes[i].floor && split[i] <= c->nodes[i].cap);
        assert_true(!keeps_all_at_work || c->nodes[i].cap == 0 || split[i] > 0);
    }
}

static void test_all_keep_batch_and_bounds(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    for (int n = 0; n < CASES; n++) {
        struct random_cluster c;
        random_cluster_draw(&random, &c);
        struct plan_request request = {.cluster = c.cluster, .options = plan_policy_defaults};
        request.options.batch.least = c.floors > 0 ? c.floors * 8 : 8;
        int micro_batches = random_cluster_step(&random, &c), split[RANDOM_NODES_MAX];
        int balanced[RANDOM_NODES_MAX];
        request.micro_batches = micro_batches;
        assert_int_equal(split_by("balanced", &request, balanced), STN_OK);
        for (int p = 0; p < hypertune_policies_count; p++) {
            const char *name = hypertune_policies[p].name;
            request.micro_batches = micro_batches;
            assert_int_equal(split_by(name, &request, split), STN_OK);
            assert_int_equal(sum_of(split, c.cluster.count), micro_batches);
            check_bounds(&c, split, false);
            assert_true(plan_outlook_of(&c.cluster, split, NULL).step_s >=
                        plan_outlook_of(&c.cluster, balanced, NULL).step_s);
            request.micro_batches = 0;
            assert_int_equal(split_by(name, &request, split), STN_OK);
            check_bounds(&c, split, strcmp(name, "stannis") == 0 || strcmp(name, "hypertune") == 0);
        }
    }
}

static void refuse(const struct plan_request *request, const char *expected)
{
    for (int p = 0; p < hypertune_policies_count; p++) {
        struct capture capture;
        int split[NODES_MAX];
        capture_start(&capture);
        assert_int_equal(split_by(hypertune_policies[p].name, request, split), STN_ERR_INVALID);
        capture_stop();
        assert_int_equal(capture.lines, 1);
        if (!strstr(capture.last, expected)) {
            fail_msg("%s: '%s' does not say '%s'", hypertune_policies[p].name, capture.last,
                     expected);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct plan_node node = {.curve.line = {0.0, 1.0}};
    struct plan_request request = {.cluster = {.nodes = &node, .count = 1, .micro_batch = 16},
                                   .micro_batches = 5,
                                   .options = plan_policy_defaults};
    refuse(&request, "no node may compute");
    node.cap = 4;
    refuse(&request, "take batch 64");
    node.floor = 5;
    refuse(&request, "private data needs 80 samples");
    request.cluster.count = 0;
    refuse(&request, "no node to plan for");
    assert_null(hypertune_policy_find("fastest"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_one_by_algorithm_one),
        cmocka_unit_test(test_margin),
        cmocka_unit_test(test_balanced_leaves_nobody_idle),
        cmocka_unit_test(test_most_influencing_device),
        cmocka_unit_test(test_count_makes_influence),
        cmocka_unit_test(test_coarse_micro_batches),
        cmocka_unit_test(test_a_batch_asked_for_keeps_the_proportions),
        cmocka_unit_test(test_equation_one),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_all_keep_batch_and_bounds),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
