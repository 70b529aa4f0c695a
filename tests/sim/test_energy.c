// SPDX-License-Identifier: Apache-2.0
// Plans for energy in the simulator: on the papers' clusters, with loads that come and go, and with
// nodes that are switched off.
#include <math.h>
#include <string.h>

#include "capture.h"
#include "close.h"
#include "cmocka_all.h"
#include "sim/energy.h"
#include "sim/rack.h"
#include "sim/sizing.h"

static struct sim_devices devices;

static int set_up(void **state)
{
    (void)state;
    return sim_devices_add_builtin(&devices) != STN_OK;
}

static int tear_down(void **state)
{
    (void)state;
    sim_devices_fini(&devices);
    return 0;
}

static struct sim_sizing_config config_of(const char *csd, const char *net, int least, int most)
{
    return (struct sim_sizing_config){.host = sim_devices_find(&devices, "xeon-4108"),
                                      .csd = sim_devices_find(&devices, csd),
                                      .net = net,
                                      .least = least,
                                      .most = most,
                                      .policy = hypertune_policy_find("balanced"),
                                      .micro_batch = 16,
                                      .gradient_bytes = 14e6,
                                      .flops_per_image = 1.8e9,
                                      .knee = 0.02};
}

static const struct {
    const char *csd, *net;
} clusters[] = {{"newport", "mobilenet_v2"},
                {"newport", "nasnet_mobile"},
                {"newport", "inception_v3"},
                {"newport", "squeezenet1_0"},
                {"laguna", "mobilenet_v2"}};
enum { CLUSTERS = sizeof(clusters) / sizeof(*clusters) };

static void test_papers_clusters_never_use_more_than_balanced(void **state)
{
    (void)state;
    const struct plan_objective energy = {.eta = 1.0}, product = {.aim = PLAN_AIM_DELAY_PRODUCT};
    for (int i = 0; i < CLUSTERS; i++) {
        struct sim_sizing_config config = config_of(clusters[i].csd, clusters[i].net, 0, 36);
        struct sim_sizing balanced, frugal, both;
        assert_int_equal(sim_sizing_run(&config, &balanced), STN_OK);
        config.objective = &energy;
        assert_int_equal(sim_sizing_run(&config, &frugal), STN_OK);
        config.objective = &product;
        assert_int_equal(sim_sizing_run(&config, &both), STN_OK);
        for (int k = 0; k <= 36; k++) {
            double is_j = frugal.rows[k].joules_per_image;
            double was_j = balanced.rows[k].joules_per_image;
            assert_true(is_j <= was_j * (1.0 + 1e-9));
            assert_int_equal(frugal.rows[k].batch, balanced.rows[k].batch);
            assert_true(both.rows[k].joules_per_image / both.rows[k].images_per_s <=
                        was_j / balanced.rows[k].images_per_s * (1.0 + 1e-9));
        }
        sim_sizing_fini(&both);
        sim_sizing_fini(&frugal);
        sim_sizing_fini(&balanced);
    }
}

static void test_front_is_what_nothing_is_better_than(void **state)
{
    (void)state;
    struct sim_sizing_config config = config_of("newport", "mobilenet_v2", 0, 12);
    struct sim_sizing balanced;
    struct sim_front front;
    assert_int_equal(sim_sizing_run(&config, &balanced), STN_OK);
    assert_int_equal(sim_front_run(&config, &front), STN_OK);
    int best = 0;
    for (int i = 0; i < front.count; i++) {
        bool beaten = false;
        for (int k = 0; k < front.count; k++) {
            const struct sim_front_point *one = &front.points[i], *other = &front.points[k];
            beaten = beaten || (other->images_per_s > one->images_per_s &&
                                other->joules_per_image < one->joules_per_image);
        }
        assert_false(beaten && front.points[i].best);
        best += front.points[i].best;
    }
    assert_true(best > 0 && front.points[front.count - 1].best);
    assert_true(front.points[front.count - 1].images_per_s >=
                balanced.rows[12].images_per_s * (1.0 - 1e-9));
    sim_front_fini(&front);
    sim_sizing_fini(&balanced);
}

// ---- a cluster of our own ----------------------------------------------------------------------

// A host that is fast and takes much, and two boards that are slow and take little.
static const struct sim_device_power powers[] = {{.idle_w = 20, .busy_w = 220},
                                                 {.idle_w = 2, .busy_w = 6}};

struct trio {
    struct sim_node nodes[3];
    struct sim_cluster cluster;
    const struct sim_device_power *powers[3];
    struct sim_load load;
    struct sim_config config;
    struct plan_objective objective;
    struct base_arena arena;
};

static void trio_init(struct trio *t, const struct plan_objective *wanted,
                      const struct sim_device_power *board)
{
    *t = (struct trio){.nodes = {{.name = "host", .curve.line = {0.0, 0.1}},
                                 {.name = "b.0", .kind = 1, .curve.line = {0.0, 0.4}},
                                 {.name = "b.1", .kind = 1, .curve.line = {0.0, 0.4}}},
                       .cluster = {.nodes = t->nodes, .count = 3},
                       .powers = {&powers[0], board, board},
                       .config = sim_defaults()};
    t->config.micro_batch = 4;
    t->config.micro_batches = 24;
    t->config.public_samples = 1000000;
    t->config.steps = 300;
    if (wanted) {
        assert_int_equal(
            sim_energy_objective(&t->cluster, t->powers, &t->arena, wanted, &t->objective), STN_OK);
        t->config.objective = &t->objective;
    }
}

static struct sim_energy trio_run(struct trio *t, struct sim_result *result)
{
    assert_int_equal(sim_run(&t->cluster, &t->config, NULL, result), STN_OK);
    struct sim_energy energy = sim_energy_of(result, t->powers, SIM_WAITING_SLEEPS);
    base_arena_fini(&t->arena);
    return energy;
}

static void test_least_energy_under_a_least_speed(void **state)
{
    (void)state;
    const struct plan_objective energy = {.eta = 1.0},
                                floored = {.eta = 1.0, .speed_least = 4 * 24 / 2.5};
    struct sim_result fast, frugal, between;
    struct trio t;
    trio_init(&t, NULL, &powers[1]);
    double fast_j = trio_run(&t, &fast).joules_per_image;
    trio_init(&t, &energy, &powers[1]);
    double frugal_j = trio_run(&t, &frugal).joules_per_image;
    trio_init(&t, &floored, &powers[1]);
    double between_j = trio_run(&t, &between).joules_per_image;
    assert_true(frugal_j < between_j && between_j < fast_j);
    assert_true(between.images_per_s >= floored.speed_least * (1.0 - 1e-9));
    assert_true(frugal.images_per_s < floored.speed_least);
    assert_int_equal(frugal.nodes[0].micro_batches, 0);
    sim_result_fini(&fast);
    sim_result_fini(&frugal);
    sim_result_fini(&between);
}

// Boards that a load makes four times as slow take four times the joules an image; then the host is
// worth its watts, and when the load goes it is not.
static void test_a_load_that_comes_and_goes_replans(void **state)
{
    (void)state;
    const struct plan_objective floored = {.eta = 1.0, .speed_least = 4 * 24 / 2.5};
    struct sim_result result;
    struct trio t;
    trio_init(&t, &floored, &powers[1]);
    int64_t begins[] = {100, 140, 200, 260};
    t.load = (struct sim_load){.node = 1, .from = 100, .to = 199, .slowdown = 4.0};
    t.cluster.loads = &t.load;
    t.cluster.load_count = 1;
    t.config.phase_begins = begins;
    t.config.phase_count = 4;
    trio_run(&t, &result);
    assert_true(result.replans >= 2);
    // Before, while and after the load the least speed is kept, but for the steps of noticing.
    assert_true(result.phases[0].images_per_s >= floored.speed_least * (1.0 - 1e-9));
    assert_true(result.phases[2].images_per_s >= floored.speed_least * (1.0 - 1e-9));
    assert_true(result.phases[4].images_per_s >= floored.speed_least * (1.0 - 1e-9));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(result.nodes[i].split_first, result.nodes[i].split_last);
    }
    sim_result_fini(&result);
}

static void test_switched_off_nodes_draw_nothing(void **state)
{
    (void)state;
    const struct plan_objective energy = {.eta = 1.0};
    const struct sim_device_power on = {.idle_w = 30, .busy_w = 200},
                                  off = {.idle_w = 30, .busy_w = 200, .can_off = true};
    struct sim_result result;
    struct trio t;
    trio_init(&t, &energy, &on);
    double on_j = trio_run(&t, &result).joules;
    assert_int_equal(result.nodes[1].micro_batches, 0);
    assert_close(on_j, result.seconds * (220 + 60), 1e-6 * on_j);
    sim_result_fini(&result);
    trio_init(&t, &energy, &off);
    double off_j = trio_run(&t, &result).joules;
    assert_close(off_j, result.seconds * 220, 1e-6 * off_j);
    sim_result_fini(&result);
}

static void test_profiles_say_what_can_be_switched_off(void **state)
{
    (void)state;
    static const char text[] = "devices:\n"
                               "  - name: board\n"
                               "    power: {idle: 2, busy: 6, can_off: true}\n"
                               "    link: {bytes_per_s: 1e9}\n"
                               "    networks: [{net: n, each_s: 0.01}]\n";
    struct sim_devices own = {0};
    assert_int_equal(sim_devices_add_text(&own, text, strlen(text), "d.yaml"), STN_OK);
    assert_true(sim_devices_find(&own, "board")->power.can_off);
    assert_false(sim_devices_find(&devices, "newport")->power.can_off);
    sim_devices_fini(&own);
}

static void test_watts_that_are_not_known_are_refused(void **state)
{
    (void)state;
    const struct plan_objective energy = {.eta = 1.0};
    struct plan_objective out;
    struct capture capture;
    struct trio t;
    trio_init(&t, NULL, NULL);
    capture_start(&capture);
    assert_int_equal(sim_energy_objective(&t.cluster, t.powers, &t.arena, &energy, &out),
                     STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "those of b.0 are not known"));
    base_arena_fini(&t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_papers_clusters_never_use_more_than_balanced),
        cmocka_unit_test(test_front_is_what_nothing_is_better_than),
        cmocka_unit_test(test_least_energy_under_a_least_speed),
        cmocka_unit_test(test_a_load_that_comes_and_goes_replans),
        cmocka_unit_test(test_switched_off_nodes_draw_nothing),
        cmocka_unit_test(test_profiles_say_what_can_be_switched_off),
        cmocka_unit_test(test_watts_that_are_not_known_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
