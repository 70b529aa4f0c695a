// SPDX-License-Identifier: Apache-2.0
// --batch auto against a split of every batch within the limits; the limits themselves; refusals.
#include <limits.h>

#include "near.h"
#include "plan/batch.h"
#include "plan/outlook.h"
#include "plan/split.h"
#include "random_cluster.h"
#include "refused.h"

enum { CASES = 3000 };

static enum stn_status find(const struct plan_cluster *cluster,
                            const struct plan_batch_options *options, int split[],
                            struct plan_batch *out)
{
    struct plan_node nodes[RANDOM_NODES_MAX];
    struct plan_offer heap[RANDOM_NODES_MAX];
    return plan_batch_find(cluster, options, nodes, heap, split, out);
}

// ---- the oracle --------------------------------------------------------------------------------

// Sets the floors of a batch; false: it cannot be planned.
static bool raise_floors(struct random_cluster *c, const struct plan_batch_options *options,
                         int micro_batches)
{
    int64_t batch = (int64_t)micro_batches * c->cluster.micro_batch;
    int64_t steps = (options->samples + batch - 1) / batch;
    int floors = 0;
    bool possible = true;
    for (int i = 0; i < c->cluster.count; i++) {
        int needed = plan_node_floor(options->private_samples[i], steps, c->cluster.micro_batch);
        c->nodes[i].floor = needed > c->nodes[i].floor ? needed : c->nodes[i].floor;
        floors += c->nodes[i].floor;
        possible = possible && c->nodes[i].floor <= c->nodes[i].cap;
    }
    return possible && floors <= micro_batches && micro_batches <= c->caps;
}

static struct plan_batch look_at_all(const struct random_cluster *given,
                                     const struct plan_batch_options *options)
{
    struct plan_batch best = {0};
    int least, most;
    plan_batch_limits(options, given->cluster.micro_batch, &least, &most);
    for (int m = least; m <= most && !best.reached; m++) {
        struct random_cluster c = *given;
        c.cluster.nodes = c.nodes;
        if (!raise_floors(&c, options, m)) {
            continue;
        }
        struct plan_offer heap[RANDOM_NODES_MAX];
        int split[RANDOM_NODES_MAX];
        assert_int_equal(plan_split(&c.cluster, m, heap, split), STN_OK);
        double efficiency = plan_outlook_of(&c.cluster, split, NULL).efficiency;
        if (efficiency > best.efficiency * (1.0 + 1e-12)) {
            best = (struct plan_batch){.micro_batches = m, .efficiency = efficiency};
        }
        best.reached = best.efficiency >= options->efficiency;
    }
    return best;
}

static void check_case(struct base_random *random)
{
    struct random_cluster c;
    random_cluster_draw(random, &c);
    c.cluster.reduction.total_s = 2.0 * base_random_unit(random);
    int64_t private_samples[RANDOM_NODES_MAX] = {0}, samples = random_upto(random, 2000);
    for (int i = 0; i < c.cluster.count; i++) {
        private_samples[i] = random_upto(random, 1) ? random_upto(random, 200) : 0;
        samples += private_samples[i];
    }
    struct plan_batch_options options = {.efficiency = 0.3 + 0.7 * base_random_unit(random),
                                         .least = 1 + random_upto(random, 64),
                                         .most = 72 + random_upto(random, 200),
                                         .samples = samples + 1,
                                         .private_samples = private_samples};
    struct plan_batch expected = look_at_all(&c, &options), found;
    int split[RANDOM_NODES_MAX];
    if (expected.micro_batches == 0) {
        struct capture capture;
        capture_start(&capture);
        assert_int_equal(find(&c.cluster, &options, split, &found), STN_ERR_INVALID);
        capture_stop();
        assert_int_equal(capture.lines, 1);
        return;
    }
    assert_int_equal(find(&c.cluster, &options, split, &found), STN_OK);
    assert_int_equal(found.micro_batches, expected.micro_batches);
    assert_int_equal(found.reached, expected.reached);
    assert_near(found.efficiency, expected.efficiency);
    assert_near(plan_outlook_of(&c.cluster, split, NULL).efficiency, expected.efficiency);
}

static void test_smallest_that_is_efficient(void **state)
{
    (void)state;
    struct base_random random = base_random_from(1);
    for (int n = 0; n < CASES; n++) {
        check_case(&random);
    }
}

// ---- examples ----------------------------------------------------------------------------------

static void test_one_node(void **state)
{
    (void)state;
    // a = 2c: m/(m + 2) ≥ 0.95 from m = 38 on; with a reduction of c in sight, from 57.
    const struct plan_node node = {.curve.line = {0.2, 0.1}, .cap = INT_MAX};
    struct plan_cluster cluster = {.nodes = &node, .count = 1, .micro_batch = 16};
    struct plan_batch found;
    int split[1];
    assert_int_equal(find(&cluster, &plan_batch_defaults, split, &found), STN_OK);
    assert_true(found.reached && found.micro_batches == 38 && split[0] == 38);
    cluster.reduction = (struct plan_reduction){.total_s = 0.3, .hidden_s = 0.2};
    assert_int_equal(find(&cluster, &plan_batch_defaults, split, &found), STN_OK);
    assert_true(found.reached && found.micro_batches == 57);
    struct plan_batch_options options = plan_batch_defaults;
    options.samples = 60000 / 4; // 300 a step at most
    assert_int_equal(find(&cluster, &options, split, &found), STN_OK);
    assert_true(!found.reached && found.micro_batches == 18 && split[0] == 18);
    assert_near(found.efficiency, 18.0 / 21.0);
}

static void check_limits(struct plan_batch_options options, int micro_batch, int least, int most)
{
    int found_least, found_most;
    plan_batch_limits(&options, micro_batch, &found_least, &found_most);
    assert_int_equal(found_least, least);
    assert_int_equal(found_most, most);
}

static void test_limits(void **state)
{
    (void)state;
    check_limits((struct plan_batch_options){0}, 16, 2, 512);
    check_limits((struct plan_batch_options){0}, 100, 1, 81);
    check_limits((struct plan_batch_options){.samples = 60000}, 16, 2, 75);
    check_limits((struct plan_batch_options){.samples = 1000}, 16, 2, 2); // a tiny set
    check_limits((struct plan_batch_options){.least = 33, .most = 100}, 16, 3, 6);
    check_limits((struct plan_batch_options){.most = 20}, 16, 1, 1);
    check_limits((struct plan_batch_options){.least = 10000}, 16, 625, 625);
    check_limits((struct plan_batch_options){.least = 65, .most = 79}, 16, 5, 4); // none between
}

static void refuse(const struct plan_node *node, struct plan_batch_options options,
                   const char *expected)
{
    const struct plan_cluster cluster = {.nodes = node, .count = 1, .micro_batch = 16};
    struct plan_batch found;
    struct capture capture;
    int split[1];
    capture_start(&capture);
    assert_int_equal(find(&cluster, &options, split, &found), STN_ERR_INVALID);
    assert_said(&capture, expected);
}

static void test_refusals(void **state)
{
    (void)state;
    const struct plan_node node = {.curve.line = {0.2, 0.1}, .floor = 5, .cap = 8};
    const int64_t private_samples[1] = {3000};
    refuse(&node, (struct plan_batch_options){.efficiency = 1.5}, "an efficiency of 1.5");
    refuse(&node, (struct plan_batch_options){.efficiency = 0.9, .least = 65, .most = 79},
           "no batch from 65 to 79 samples");
    refuse(&node, (struct plan_batch_options){.efficiency = 0.9, .least = 129},
           "allow 128; take batch 128");
    refuse(&node, (struct plan_batch_options){.efficiency = 0.9, .most = 64},
           "too small: the nodes' private data needs 80");
    refuse(
        &node,
        (struct plan_batch_options){
            .efficiency = 0.9, .least = 144, .samples = 3000, .private_samples = private_samples},
        "its private data needs 144 samples of every step");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest_that_is_efficient),
        cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
