// SPDX-License-Identifier: Apache-2.0
// The simulator on clusters small enough to know the answer by hand.
#include <math.h>
#include <string.h>

#include "capture.h"
#include "cmocka_all.h"
#include "sim/sim.h"

enum { NODES = 4 };

static struct sim_node nodes[NODES];
static struct sim_config config;

// One fast node and three at a quarter of its speed, without fixed time: 16 + 3·4 micro-batches.
static struct sim_cluster cluster_of(void)
{
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (struct sim_node){
            .name = "n", .kind = i > 0, .curve.line = {.each_s = i > 0 ? 0.04 : 0.01}};
    }
    config = sim_defaults();
    config.micro_batch = 8;
    config.micro_batches = 28;
    config.public_samples = 28 * 8 * 100;
    return (struct sim_cluster){.nodes = nodes, .count = NODES};
}

static struct sim_result run(const struct sim_cluster *cluster)
{
    struct sim_result result;
    assert_int_equal(sim_run(cluster, &config, NULL, &result), STN_OK);
    return result;
}

static void assert_near(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected)) {
        fail_msg("%.12g, expected %.12g", value, expected);
    }
}

static void the_sum_of_speeds(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    struct sim_result result = run(&cluster);
    assert_int_equal(result.steps, 100);
    assert_int_equal(result.images, config.public_samples);
    assert_near(result.seconds, 100 * 0.16);
    assert_near(result.images_per_s, result.ceiling);
    assert_near(result.nodes[3].busy_s, result.seconds);
    assert_int_equal(result.nodes[0].split_first, 16);
    assert_int_equal(result.replans, 0);
    sim_result_fini(&result);
    config.policy = hypertune_policy_find("uniform");
    result = run(&cluster);
    assert_near(result.seconds, 100 * 0.28);
    assert_near(result.nodes[0].busy_s, 100 * 0.07);
    assert_near(result.nodes[0].idle_s, 100 * 0.21);
    sim_result_fini(&result);
}

static void a_load_is_answered_in_two_steps(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    const struct sim_load load = {.node = 0, .from = 31, .to = 70, .slowdown = 4.0};
    cluster.loads = &load;
    cluster.load_count = 1;
    struct sim_result result = run(&cluster);
    assert_int_equal(result.phase_count, 3);
    assert_int_equal(result.phases[1].first_step, 31);
    assert_int_equal(result.phases[1].last_step, 70);
    assert_near(result.phases[0].images_per_s, result.ceiling);
    // Four equal nodes from the third step on: 7 micro-batches each.
    assert_near(result.phases[1].seconds, 2 * 0.64 + 38 * 0.28);
    assert_true(result.replans >= 2);
    assert_int_equal(result.nodes[0].split_last, 16);
    sim_result_fini(&result);
    config.policy = hypertune_policy_find("static");
    result = run(&cluster);
    assert_near(result.phases[1].seconds, 40 * 0.64);
    assert_int_equal(result.replans, 0);
    sim_result_fini(&result);
}

static void the_paper_ends_the_epoch(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    const struct sim_load load = {.node = 0, .from = 31, .to = INT64_MAX, .slowdown = 4.0};
    cluster.loads = &load;
    cluster.load_count = 1;
    config.policy = hypertune_policy_find("hypertune");
    config.epochs = 2;
    struct sim_result result = run(&cluster);
    assert_int_equal(result.epochs, 2);
    assert_true(result.replans >= 1);
    assert_true(result.unreached > 0);
    assert_int_equal(result.images + result.unreached, 2 * config.public_samples);
    sim_result_fini(&result);
}

static double seconds_of_load(enum sim_load_shape shape, const double *recorded)
{
    struct sim_cluster cluster = cluster_of();
    const struct sim_load load = {.node = 1,
                                  .shape = shape,
                                  .from = 11,
                                  .to = 20,
                                  .slowdown = 3.0,
                                  .period_steps = 4,
                                  .on_steps = 2,
                                  .recorded = recorded};
    cluster.loads = &load;
    cluster.load_count = 1;
    config.policy = hypertune_policy_find("static");
    struct sim_result result = run(&cluster);
    double seconds = result.seconds - 90 * 0.16;
    sim_result_fini(&result);
    return seconds;
}

static void shapes_of_loads(void **state)
{
    (void)state;
    const double recorded[10] = {1, 1, 1, 1, 1, 2, 2, 2, 2, 0.5};
    assert_near(seconds_of_load(SIM_LOAD_STEADY, NULL), 10 * 0.48);
    assert_near(seconds_of_load(SIM_LOAD_RAMP, NULL), 0.16 * (10 + 0.2 * 55));
    assert_near(seconds_of_load(SIM_LOAD_ON_OFF, NULL), 6 * 0.48 + 4 * 0.16);
    assert_near(seconds_of_load(SIM_LOAD_RECORDED, recorded), 0.16 * (5 + 8 + 1));
}

static void loads_add_up(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    const struct sim_load loads[] = {{.node = 2, .from = 1, .to = 100, .slowdown = 2.0},
                                     {.node = 2, .from = 1, .to = 100, .slowdown = 2.0}};
    cluster.loads = loads;
    cluster.load_count = 2;
    config.policy = hypertune_policy_find("static");
    struct sim_result result = run(&cluster);
    assert_near(result.seconds, 100 * 0.48);
    sim_result_fini(&result);
}

static void the_ring_is_hidden_or_not(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    for (int i = 0; i < NODES; i++) {
        nodes[i].link = (struct sim_link){.bytes_per_s = 1e9, .latency_s = 1e-4};
    }
    nodes[2].link.bytes_per_s = 1e8; // the slowest counts
    config.gradient_bytes = 1e6;
    double ring_s = 6 * (1e6 / 4 / 1e8 + 1e-4);
    struct sim_result result = run(&cluster);
    assert_near(result.exposed_s, 100 * ring_s);
    assert_near(result.seconds, 100 * (0.16 + ring_s));
    sim_result_fini(&result);
    // The fast node is the last to begin sending: its last micro-batch is the shortest.
    config.overlap = 0.5;
    result = run(&cluster);
    assert_near(result.exposed_s, 100 * (ring_s - 0.5 * 0.01));
    sim_result_fini(&result);
    config.step_fixed_s = 0.02;
    result = run(&cluster);
    assert_near(result.seconds, 100 * (0.16 + ring_s - 0.5 * 0.01 + 0.02));
    sim_result_fini(&result);
}

static void a_lost_node_ends_the_run(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    nodes[1].fails_at = 41;
    struct sim_result result = run(&cluster);
    assert_true(result.stopped);
    assert_int_equal(result.lost_node, 1);
    assert_int_equal(result.lost_step, 41);
    assert_int_equal(result.steps, 40);
    assert_near(result.seconds, 40 * 0.16 + config.timeout_s);
    sim_result_fini(&result);
}

static void or_goes_on_without_it(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    nodes[1].fails_at = 48;
    nodes[1].private_samples = 1000;
    config.public_samples -= 1000;
    config.failure = SIM_FAILURE_RESUME;
    config.checkpoint_steps = 10;
    config.restart_s = 12.0;
    config.epochs = 2;
    struct sim_result result = run(&cluster);
    assert_false(result.stopped);
    assert_int_equal(result.epochs, 2);
    assert_int_equal(result.repeated, 7 * 28 * 8); // steps 41 to 47
    assert_true(result.lost > 1000 && result.lost < 2000);
    assert_int_equal(result.nodes[1].split_last, 0);
    assert_int_equal(result.images - result.repeated + result.lost, 2 * 28 * 8 * 100);
    sim_result_fini(&result);
}

static void private_samples_stay(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    nodes[3].private_samples = 12000; // more than its share of 3200
    struct sim_result result = run(&cluster);
    assert_int_equal(result.nodes[3].private_images, 12000);
    assert_int_equal(result.images, config.public_samples + 12000);
    assert_true(result.nodes[3].split_first > 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(result.nodes[i].private_images, 0);
    }
    sim_result_fini(&result);
}

static bool stop_now(void *context)
{
    return --*(int *)context < 0;
}

static void stops_when_asked(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    struct sim_result result;
    int left = 5;
    const struct sim_observer observer = {.context = &left, .stop = stop_now};
    assert_int_equal(sim_run(&cluster, &config, &observer, &result), STN_OK);
    assert_true(result.stopped);
    assert_int_equal(result.steps, 5);
    sim_result_fini(&result);
}

static double tick_s(void)
{
    static double now;
    return now += 0.001;
}

static void deciding_is_timed(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    config.clock_s = tick_s;
    struct sim_result result = run(&cluster);
    assert_true(fabs(result.decide_s - 0.1) < 1e-6);
    assert_true(fabs(result.decide_most - 0.001 / 0.16) < 1e-6);
    sim_result_fini(&result);
}

static void refuses(const struct sim_cluster *cluster, const char *words)
{
    struct sim_result result;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(sim_run(cluster, &config, NULL, &result), STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    if (strstr(capture.last, words) == NULL) {
        fail_msg("'%s' does not say '%s'", capture.last, words);
    }
}

static void impossible_values(void **state)
{
    (void)state;
    struct sim_cluster cluster = cluster_of();
    struct sim_load load = {.node = 0, .from = 1, .to = 2, .slowdown = 0.5};
    cluster.loads = &load;
    cluster.load_count = 1;
    refuses(&cluster, "slowdown 0.5");
    load.node = NODES;
    refuses(&cluster, "no node 4");
    load = (struct sim_load){.node = 0, .from = 5, .to = 4, .slowdown = 2.0};
    refuses(&cluster, "steps 5 to 4");
    load = (struct sim_load){.shape = SIM_LOAD_ON_OFF, .from = 1, .to = 4, .slowdown = 2.0};
    refuses(&cluster, "impossible");
    cluster.load_count = 0;
    nodes[2].curve.line.each_s = 0.0;
    refuses(&cluster, "node 2 (n)");
    cluster = cluster_of();
    nodes[1].noise.memory = 1.0;
    refuses(&cluster, "noise");
    cluster = cluster_of();
    nodes[1].cap = 1;
    nodes[0].cap = 1;
    nodes[2].cap = nodes[3].cap = 2;
    refuses(&cluster, "too large"); // caps below the batch
    cluster = cluster_of();
    config.epochs = 0;
    refuses(&cluster, "no end");
    cluster = cluster_of();
    config.public_samples = 0;
    refuses(&cluster, "samples in an epoch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_of_speeds),
        cmocka_unit_test(a_load_is_answered_in_two_steps),
        cmocka_unit_test(the_paper_ends_the_epoch),
        cmocka_unit_test(shapes_of_loads),
        cmocka_unit_test(loads_add_up),
        cmocka_unit_test(the_ring_is_hidden_or_not),
        cmocka_unit_test(a_lost_node_ends_the_run),
        cmocka_unit_test(or_goes_on_without_it),
        cmocka_unit_test(private_samples_stay),
        cmocka_unit_test(stops_when_asked),
        cmocka_unit_test(deciding_is_timed),
        cmocka_unit_test(impossible_values),
    };
    return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
