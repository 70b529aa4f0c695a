// SPDX-License-Identifier: Apache-2.0
// What a host would do with so many CSDs, and the energy of a run, against figures worked out by
// hand.
#include <math.h>
#include <string.h>

#include "capture.h"
#include "close.h"
#include "cmocka_all.h"
#include "sim/energy.h"
#include "sim/sizing.h"

// A host of 100 images a second and CSDs of 10, in a box of 50 W.
static const char text[] = "devices:\n"
                           "  - name: host\n"
                           "    power: {base: 50, idle: 10, busy: 60}\n"
                           "    link: {bytes_per_s: 1e9}\n"
                           "    networks: [{net: n, each_s: 0.01}]\n"
                           "  - name: csd\n"
                           "    power: {idle: 1, busy: 4}\n"
                           "    link: {bytes_per_s: 1e9, through_host: true}\n"
                           "    networks: [{net: n, each_s: 0.1}]\n";

static struct sim_devices devices;

static int set_up(void **state)
{
    (void)state;
    return sim_devices_add_text(&devices, text, strlen(text), "d.yaml") != STN_OK;
}

static int tear_down(void **state)
{
    (void)state;
    sim_devices_fini(&devices);
    return 0;
}

static struct sim_sizing_config config_of(int least, int most)
{
    return (struct sim_sizing_config){.host = sim_devices_find(&devices, "host"),
                                      .csd = sim_devices_find(&devices, "csd"),
                                      .net = "n",
                                      .least = least,
                                      .most = most,
                                      .policy = hypertune_policy_find("balanced"),
                                      .micro_batch = 1,
                                      .flops_per_image = 1e6,
                                      .knee = 0.05};
}

// ---- energy ------------------------------------------------------------------------------------

static void energy_is_busy_idle_and_base(void **state)
{
    (void)state;
    struct sim_node_result nodes[] = {{.busy_s = 6.0, .idle_s = 4.0}, {.busy_s = 10.0}};
    const struct sim_result result = {
        .seconds = 10.0, .images = 100, .nodes = nodes, .node_count = 2};
    const struct sim_device_power host = {.base_w = 50, .idle_w = 10, .busy_w = 60};
    const struct sim_device_power csd = {.idle_w = 1, .busy_w = 4};
    const struct sim_device_power *const powers[] = {&host, &csd};
    struct sim_energy sleeps = sim_energy_of(&result, powers, SIM_WAITING_SLEEPS);
    assert_close(sleeps.joules, 500 + 360 + 40 + 40, 1e-9);
    assert_close(sleeps.watts, 94.0, 1e-9);
    assert_close(sleeps.joules_per_image, 9.4, 1e-9);
    assert_close(sim_energy_flops_per_watt(&sleeps, 9.4e6), 1e6, 1e-3);
    struct sim_energy spins = sim_energy_of(&result, powers, SIM_WAITING_SPINS);
    assert_close(spins.joules, 500 + 600 + 40, 1e-9);
}

// ---- sizing ------------------------------------------------------------------------------------

static void without_exchange_speeds_add_up(void **state)
{
    (void)state;
    struct sim_sizing_config config = config_of(0, 4);
    struct sim_sizing sizing;
    config.batch = 1400;
    assert_int_equal(sim_sizing_run(&config, &sizing), STN_OK);
    assert_int_equal(sizing.count, 5);
    assert_close(sizing.alone.images_per_s, 100.0, 1e-6);
    assert_close(sizing.alone.joules_per_image, 1.1, 1e-9);
    assert_close(sizing.rows[0].saved, 0.0, 1e-9);
    const struct sim_sizing_row *last = &sizing.rows[4];
    assert_int_equal(last->csds, 4);
    assert_close(last->images_per_s, 140.0, 1e-6);
    assert_close(last->ceiling, 140.0, 1e-6);
    assert_close(last->joules_per_image, (110.0 + 4 * 4.0) / 140.0, 1e-6);
    assert_close(last->saved, 1.0 - last->joules_per_image / 1.1, 1e-9);
    assert_int_equal(sizing.knee, -1); // each adds 7 % or more
    sim_sizing_fini(&sizing);
}

static void the_knee_is_where_another_adds_little(void **state)
{
    (void)state;
    struct sim_sizing_config config = config_of(2, 30);
    struct sim_sizing sizing;
    config.gradient_bytes = 1e6;
    assert_int_equal(sim_sizing_run(&config, &sizing), STN_OK);
    assert_true(sizing.knee > 2 && sizing.knee < 30);
    const struct sim_sizing_row *knee = &sizing.rows[sizing.knee - 2];
    for (const struct sim_sizing_row *row = sizing.rows + 1; row->csds < 30; row++) {
        assert_true(row->images_per_s <= row->ceiling);
        assert_close(row->added, row->images_per_s / row[-1].images_per_s - 1.0, 1e-9);
        if (row > knee) {
            assert_true(row->images_per_s / knee->images_per_s - 1.0 <
                        config.knee * (row->csds - knee->csds));
        }
    }
    sim_sizing_fini(&sizing);
}

static void a_tunnel_is_shared(void **state)
{
    (void)state;
    struct sim_sizing_config config = config_of(1, 20);
    struct sim_sizing sizing;
    config.policy = hypertune_policy_find("static");
    config.batch = 1000;
    config.gradient_bytes = 100e6; // 2·n·100 MB at 1 GB/s
    assert_int_equal(sim_sizing_run(&config, &sizing), STN_OK);
    const struct sim_sizing_row *last = &sizing.rows[19];
    double exchange_s = 1000.0 / last->images_per_s - 1000.0 / last->ceiling;
    assert_close(exchange_s, 4.0, 0.2);
    sim_sizing_fini(&sizing);
}

static void impossible_ranges_are_refused(void **state)
{
    (void)state;
    struct sim_sizing sizing;
    struct capture capture;
    const int ranges[][2] = {{-1, 3}, {5, 4}, {0, SIM_SIZING_CSDS_MAX + 1}};
    for (int i = 0; i < 3; i++) {
        struct sim_sizing_config config = config_of(ranges[i][0], ranges[i][1]);
        capture_start(&capture);
        assert_int_equal(sim_sizing_run(&config, &sizing), STN_ERR_INVALID);
        capture_stop();
        assert_int_equal(capture.lines, 1);
    }
    struct sim_sizing_config config = config_of(0, 1);
    config.net = "m";
    capture_start(&capture);
    assert_int_equal(sim_sizing_run(&config, &sizing), STN_ERR_NOT_FOUND);
    capture_stop();
    assert_non_null(strstr(capture.last, "unknown network to device host"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_busy_idle_and_base),
        cmocka_unit_test(without_exchange_speeds_add_up),
        cmocka_unit_test(the_knee_is_where_another_adds_little),
        cmocka_unit_test(a_tunnel_is_shared),
        cmocka_unit_test(impossible_ranges_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
