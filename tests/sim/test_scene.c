// SPDX-License-Identifier: Apache-2.0
// Virtual clusters as people describe them: files, loads by hand, recorded traces, and what is
// refused.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "cmocka_all.h"
#include "sim/scene.h"

static struct sim_devices devices;
static const struct sim_scene_config config = {
    .devices = &devices, .net = "mobilenet_v2", .micro_batch = 8, .needed_bytes = 100 << 20};

static const char device_text[] = "devices:\n"
                                  "  - name: box\n"
                                  "    link: {bytes_per_s: 100e6, latency_s: 1e-4}\n"
                                  "    power: {idle: 10, busy: 50}\n"
                                  "    networks:\n"
                                  "      - {net: mobilenet_v2, fixed_s: 0.1, each_s: 0.01}\n"
                                  "  - name: stick\n"
                                  "    link: {bytes_per_s: 80e6, through_host: true}\n"
                                  "    networks:\n"
                                  "      - {net: mobilenet_v2, each_s: 0.2}\n"
                                  "      - {net: lenet, each_s: 0.001}\n";

static struct sim_scene parse(const char *text)
{
    struct sim_scene scene;
    assert_int_equal(sim_scene_parse(text, strlen(text), "rack.yaml", &config, &scene), STN_OK);
    return scene;
}

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-12 * fabs(expected));
}

static void a_rack(void **state)
{
    (void)state;
    struct sim_scene scene = parse("nodes:\n"
                                   "  - {name: host, device: box, max_batch: 70, memory: 4G}\n"
                                   "  - name: csd\n"
                                   "    device: stick\n"
                                   "    count: 36\n"
                                   "    share: 0.5\n"
                                   "    private: 500\n"
                                   "    noise: 0.02\n"
                                   "    per_host: 3\n"
                                   "    loads: [{from: 10, to: 20, slowdown: 2}]\n"
                                   "  - name: old\n"
                                   "    speed: {fixed_s: 1, each_s: 0.5}\n"
                                   "    link: {bytes_per_s: 1e6, latency_s: 0.01}\n"
                                   "    fails_at: 7\n"
                                   "  - {name: host2, device: box}\n");
    assert_int_equal(scene.count, 39);
    const struct sim_node *nodes = scene.nodes;
    assert_string_equal(nodes[0].name, "host");
    assert_string_equal(nodes[36].name, "csd.35");
    assert_near(nodes[0].curve.line.fixed_s, 0.1);
    assert_near(nodes[0].curve.line.each_s, 0.08);
    assert_int_equal(nodes[0].cap, 8);
    assert_near(nodes[5].curve.line.each_s, 0.2 * 8 / 0.5);
    assert_near(nodes[5].link.bytes_per_s, 80e6 / 4);
    assert_int_equal(nodes[5].private_samples, 500);
    assert_near(nodes[5].noise.relative, 0.02);
    assert_near(nodes[37].curve.line.fixed_s, 1.0);
    assert_near(nodes[37].link.latency_s, 0.01);
    assert_int_equal(nodes[37].fails_at, 7);
    assert_int_equal(nodes[1].kind, 1);
    assert_int_equal(nodes[36].kind, 1);
    assert_int_equal(nodes[38].kind, 0); // as the first
    assert_non_null(scene.powers[0]);
    assert_null(scene.powers[1]);
    assert_int_equal(scene.load_count, 36);
    assert_int_equal(scene.loads[35].node, 36);
    sim_scene_fini(&scene);
}

static void ten_thousand_in_three_lines(void **state)
{
    (void)state;
    struct sim_scene scene = parse("nodes:\n  - {name: n, device: stick, count: 100000}\n");
    assert_int_equal(scene.count, 100000);
    assert_string_equal(scene.nodes[99999].name, "n.99999");
    sim_scene_fini(&scene);
}

static void refuses(enum stn_status status, struct capture *capture, const char *words)
{
    capture_stop();
    assert_true(status != STN_OK);
    assert_int_equal(capture->lines, 1);
    if (strstr(capture->last, words) == NULL) {
        fail_msg("'%s' does not say '%s'", capture->last, words);
    }
}

static void refuses_file(const char *text, const char *words)
{
    struct sim_scene scene;
    struct capture capture;
    capture_start(&capture);
    refuses(sim_scene_parse(text, strlen(text), "rack.yaml", &config, &scene), &capture, words);
    assert_null(scene.nodes);
}

static void bad_files(void **state)
{
    (void)state;
    refuses_file("", "rack.yaml:1: expected \"nodes:\"");
    refuses_file("nodes: 3\n", "rack.yaml:1: nodes: expected a list");
    refuses_file("nodes:\n  - name: a\n", "rack.yaml:2: a: expected either a device or a speed");
    refuses_file("nodes:\n  - name: a\n    device: bx\n", "rack.yaml:3: device");
    refuses_file("nodes:\n  - name: a\n    devise: box\n",
                 "rack.yaml:3: 'devise': unknown key; did you mean device?");
    refuses_file("nodes:\n  - {name: a, device: box, count: 0}\n", "from 1 to 100000");
    refuses_file("nodes:\n  - {name: a, device: box, count: 100000}\n"
                 "  - {name: b, device: box}\n",
                 "rack.yaml:3: more than 100000 nodes");
    refuses_file("nodes:\n  - {name: a, device: box}\n  - {name: a, device: box}\n",
                 "'a' is given twice");
    refuses_file("nodes:\n  - {name: a/b, device: box}\n", "expected letters");
    refuses_file("nodes:\n  - {name: a, device: box, share: -1}\n", "a part of the device's speed");
    refuses_file("nodes:\n  - {name: a, device: box, noise: 7}\n", "rack.yaml:2: noise");
    refuses_file("nodes:\n  - {name: a, device: box, max_batch: 7}\n", "less than a micro-batch");
    refuses_file("nodes:\n  - {name: a, device: box, memory: 64M}\n", "mobilenet_v2 with");
    refuses_file("nodes:\n  - {name: a, speed: {fixed_s: 1}}\n", "each_s is missing");
    refuses_file("nodes:\n  - {name: a, speed: {each_s: 0}}\n", "seconds of an image");
    refuses_file("nodes:\n  - name: a\n    device: box\n    loads:\n"
                 "      - {from: 9, to: 3, slowdown: 2}\n",
                 "rack.yaml:5: to: 3 is before from: 9");
    refuses_file("nodes:\n  - {name: a, device: box, loads: [{from: 3}]}\n", "slowdown is missing");
    refuses_file("nodes:\n  - {name: a, device: box, loads: [{slowdown: 0.5}]}\n", "1 or more");
    refuses_file("nodes:\n  - {name: a, device: box, loads: [{slowdown: 2, shape: saw}]}\n",
                 "expected steady, ramp or on-off");
    refuses_file("nodes:\n  - {name: a, device: box, loads: [{slowdown: 2, shape: ramp}]}\n",
                 "needs an end");
    refuses_file("nodes:\n  - {name: a, device: box, loads: [{slowdown: 2, shape: on-off}]}\n",
                 "on and period");
}

static struct sim_scene three(void)
{
    return parse("nodes:\n  - {name: host, device: box}\n"
                 "  - {name: csd, device: stick, count: 2}\n");
}

// A training's file: its hosts and threads are passed over, CPUs are shares of a device.
static void a_file_of_a_training(void **state)
{
    (void)state;
    static const char text[] = "nodes:\n"
                               "  - {name: server, host: server1, threads: 8, memory: 4G}\n"
                               "  - {name: csd, count: 2, cpus: 0.25, max_batch: 64}\n"
                               "  - {host: ann@clinic, private: /data/scans, private_samples: 70}\n"
                               "  - {name: quick, device: stick}\n";
    struct sim_scene_config with_device = config;
    struct sim_scene scene;
    with_device.device = "box";
    assert_int_equal(sim_scene_parse(text, strlen(text), "rack.yaml", &with_device, &scene),
                     STN_OK);
    assert_int_equal(scene.count, 5);
    assert_near(scene.nodes[0].curve.line.each_s, 0.08); // 8 images of box
    assert_near(scene.nodes[1].curve.line.each_s, 0.32);
    assert_int_equal(scene.nodes[1].cap, 8);
    assert_string_equal(scene.nodes[3].name, "clinic");
    assert_int_equal(scene.nodes[3].private_samples, 70);
    assert_near(scene.nodes[4].curve.line.each_s, 1.6); // of stick, as it says
    sim_scene_fini(&scene);
    refuses_file(text, "rack.yaml:2: server: expected either a device or a speed, or device NAME");
    refuses_file("nodes:\n  - {name: a, device: box, thraeds: 3}\n",
                 "rack.yaml:2: 'thraeds': unknown key; did you mean threads?");
    refuses_file("nodes:\n  - {name: a, device: box, host: [x]}\n",
                 "rack.yaml:2: host: expected one value on one line");
}

static void by_hand(void **state)
{
    (void)state;
    struct sim_scene scene = three();
    assert_int_equal(sim_scene_interfere(&scene, "host@20-40:75%,csd.*@5-:3x,csd.1@1-1:busy*1.5"),
                     STN_OK);
    assert_int_equal(scene.load_count, 4);
    assert_near(scene.loads[0].slowdown, 4.0);
    assert_int_equal(scene.loads[0].from, 20);
    assert_int_equal(scene.loads[0].to, 40);
    assert_int_equal(scene.loads[2].node, 2);
    assert_true(scene.loads[2].to == INT64_MAX);
    assert_near(scene.loads[3].slowdown, 2.5);
    const char *const bad[][2] = {
        {"", "expected NODE@FROM-TO:LOAD"}, {"host", "expected NODE"},
        {"@1-2:50%", "expected NODE"},      {"hos@1-2:50%", "no node 'hos'"},
        {"host@0-2:50%", "no steps"},       {"host@3-2:50%", "no steps"},
        {"host@1-2:100%", "a load is"},     {"host@1-2:0.5x", "a load is"},
        {"host@1-2:", "a load is"},         {"host@1-2:busy*-1", "a load is"},
        {"host@1-2:50%,", "expected NODE"}, {"host@a-2:50%", "no steps"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct capture capture;
        capture_start(&capture);
        refuses(sim_scene_interfere(&scene, bad[i][0]), &capture, bad[i][1]);
    }
    sim_scene_fini(&scene);
}

static enum stn_status trace(struct sim_scene *scene, const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    enum stn_status status = sim_scene_trace_text(scene, copy, strlen(text), "trace");
    free(copy);
    return status;
}

static void recorded_as_csv(void **state)
{
    (void)state;
    struct sim_scene scene = three();
    assert_int_equal(trace(&scene, "step,node,slowdown\n"
                                   "7,csd.1,2\n3,csd.1,1.5\r\n4,host,3\n"),
                     STN_OK);
    assert_int_equal(scene.load_count, 2);
    const struct sim_load *load = &scene.loads[1];
    assert_int_equal(load->node, 2);
    assert_int_equal(load->from, 3);
    assert_int_equal(load->to, 7);
    const double expected[] = {1.5, 1.5, 1.5, 1.5, 2.0};
    assert_memory_equal(load->recorded, expected, sizeof(expected));
    sim_scene_fini(&scene);
}

static void recorded_as_events(void **state)
{
    (void)state;
    struct sim_scene scene = three();
    assert_int_equal(trace(&scene, "{\"event\":\"start\"}\n"
                                   "{\"event\":\"step\",\"step\":1,\"split\":[2,1,0],"
                                   "\"compute_s\":[0.52,1.6,0],\"wait_s\":[0,0,0]}\n"
                                   "{\"event\":\"step\",\"step\":2,\"split\":[1,1,1],"
                                   "\"compute_s\":[0.18,4.8,null]}\n"),
                     STN_OK);
    assert_int_equal(scene.load_count, 2); // the third measured nothing
    assert_near(scene.loads[0].recorded[0], 0.52 / (0.1 + 2 * 0.08));
    assert_near(scene.loads[0].recorded[1], 1.0);
    assert_near(scene.loads[1].recorded[1], 3.0);
    sim_scene_fini(&scene);
}

static void bad_traces(void **state)
{
    (void)state;
    struct sim_scene scene = three();
    const char *const bad[][2] = {
        {"", "nothing is recorded"},
        {"1,host,2\n", "trace:1: expected the heading"},
        {"step,node,slowdown\n1,host\n", "trace:2: expected step,node,slowdown"},
        {"step,node,slowdown\n1,host,x\n", "trace:2"},
        {"step,node,slowdown\n1,nobody,2\n", "no node 'nobody'"},
        {"step,node,slowdown\n0,host,2\n", "step 0"},
        {"step,node,slowdown\n1,host,0\n", "slowdown 0 of host"},
        {"{\"event\":\"epoch\"}\n", "nothing is recorded"},
        {"{\"event\":\n", "trace:1: not JSON"},
        {"{\"event\":\"step\",\"step\":1,\"split\":[1],\"compute_s\":[1]}\n", "of 3 nodes"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct capture capture;
        capture_start(&capture);
        refuses(trace(&scene, bad[i][0]), &capture, bad[i][1]);
    }
    struct capture capture;
    capture_start(&capture);
    refuses(sim_scene_trace(&scene, "/no/such/file"), &capture, "cannot read the trace");
    sim_scene_fini(&scene);
}

static int set_up(void **state)
{
    (void)state;
    return sim_devices_add_text(&devices, device_text, strlen(device_text), "devices") != STN_OK;
}

static int tear_down(void **state)
{
    (void)state;
    sim_devices_fini(&devices);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rack),
        cmocka_unit_test(ten_thousand_in_three_lines),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(a_file_of_a_training),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(recorded_as_csv),
        cmocka_unit_test(recorded_as_events),
        cmocka_unit_test(bad_traces),
    };
    return cmocka_run_group_tests_name("sim_scene", tests, set_up, tear_down);
}
