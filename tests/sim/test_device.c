// SPDX-License-Identifier: Apache-2.0
// Device profiles: those built in are sound, files are read or refused with file:line.
#include <math.h>
#include <string.h>

#include "capture.h"
#include "close.h"
#include "cmocka_all.h"
#include "sim/device.h"

#define LINK "    link: {bytes_per_s: 1e8}\n"
#define NETS "    networks:\n      - {net: lenet, each_s: 0.5}\n"

static enum stn_status add(const char *text, struct sim_devices *out)
{
    *out = (struct sim_devices){0};
    return sim_devices_add_text(out, text, strlen(text), "d.yaml");
}

static struct capture capture;

// What was just refused said exactly this.
static void assert_said(const char *line)
{
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_string_equal(capture.last, line);
}

static void assert_refused(const char *text, const char *line)
{
    struct sim_devices devices;
    capture_start(&capture);
    assert_int_equal(add(text, &devices), STN_ERR_INVALID);
    assert_said(line);
    sim_devices_fini(&devices);
}

static void the_papers_devices_are_built_in(void **state)
{
    (void)state;
    struct sim_devices devices = {0};
    assert_int_equal(sim_devices_add_builtin(&devices), STN_OK);
    const char *const names[] = {"xeon-4108", "newport", "laguna"};
    for (int i = 0; i < 3; i++) {
        struct sim_device *device = sim_devices_find(&devices, names[i]);
        assert_non_null(device);
        assert_non_null(device->title);
        assert_non_null(device->link.source);
        assert_non_null(device->power.source);
        assert_non_null(sim_device_find_net(device, "mobilenet_v2"));
    }
    struct sim_speed *speed;
    assert_int_equal(
        sim_device_require_speed(sim_devices_find(&devices, "newport"), "mobilenet_v2", 25, &speed),
        STN_OK);
    assert_close(speed->images_per_s, 3.08, 1e-12);
    assert_true(sim_devices_find(&devices, "laguna")->link.through_host);
    sim_devices_fini(&devices);
}

static void every_built_in_number_has_a_source(void **state)
{
    (void)state;
    struct sim_devices devices = {0};
    assert_int_equal(sim_devices_add_builtin(&devices), STN_OK);
    for (int i = 0; i < devices.count; i++) {
        const struct sim_device *device = &devices.devices[i];
        for (int k = 0; k < device->net_count; k++) {
            const struct sim_device_net *net = &device->nets[k];
            assert_true(net->line.each_s > 0.0 && net->line.fixed_s >= 0.0);
            assert_true(net->source || net->speed_count > 0);
            for (int s = 0; s < net->speed_count; s++) {
                assert_non_null(net->speeds[s].source);
            }
        }
    }
    sim_devices_fini(&devices);
}

static void speeds_become_a_line(void **state)
{
    (void)state;
    struct sim_devices devices;
    assert_int_equal(add("devices:\n  - name: a\n" LINK "    networks:\n"
                         "      - net: one\n"
                         "        speeds: [{batch: 20, images_per_s: 4}]\n"
                         "      - net: line\n" // 1 s + 0.1 s an image
                         "        speeds:\n"
                         "          - {batch: 10, images_per_s: 5}\n"
                         "          - {batch: 40, images_per_s: 8}\n"
                         "      - {net: given, fixed_s: 2, each_s: 0.25, source: me}\n",
                         &devices),
                     STN_OK);
    struct sim_device *a = sim_devices_find(&devices, "a");
    assert_close(sim_device_find_net(a, "one")->line.each_s, 0.25, 1e-12);
    assert_close(sim_device_find_net(a, "one")->line.fixed_s, 0.0, 0.0);
    assert_close(sim_device_find_net(a, "line")->line.fixed_s, 1.0, 1e-6);
    assert_close(sim_device_find_net(a, "line")->line.each_s, 0.1, 1e-6);
    assert_close(sim_device_find_net(a, "given")->line.fixed_s, 2.0, 0.0);
    assert_string_equal(sim_device_find_net(a, "given")->source, "me");
    sim_devices_fini(&devices);
}

static void files_add_up(void **state)
{
    (void)state;
    struct sim_devices devices = {0};
    assert_int_equal(sim_devices_add_builtin(&devices), STN_OK);
    int before = devices.count;
    const char *text = "devices:\n  - name: mine\n" LINK NETS;
    assert_int_equal(sim_devices_add_text(&devices, text, strlen(text), "d.yaml"), STN_OK);
    assert_int_equal(devices.count, before + 1);
    assert_non_null(sim_devices_find(&devices, "laguna"));
    capture_start(&capture);
    assert_int_equal(sim_devices_add_text(&devices, text, strlen(text), "e.yaml"), STN_ERR_INVALID);
    assert_said("e.yaml:2: name: 'mine' is a device already");
    sim_devices_fini(&devices);
}

static void a_tuned_plan_is_a_device_file(void **state)
{
    (void)state;
    struct sim_devices devices = {0};
    assert_int_equal(sim_devices_add_file(&devices, OLD_PLAN), STN_OK);
    assert_int_equal(devices.count, 3);
    const struct sim_device *host = sim_devices_find(&devices, "host");
    const struct sim_device_net *net = sim_device_find_net(host, "lenet");
    assert_close(net->line.fixed_s, 0.00519868261, 1e-12);
    assert_close(net->line.each_s, 0.00611932041 / 8, 1e-12); // an image's
    assert_string_equal(net->source, OLD_PLAN ", measured 2026-11-18T20:41:38Z");
    assert_close(host->link.bytes_per_s, 0.0, 0.0);
    capture_start(&capture);
    assert_int_equal(sim_devices_add_file(&devices, OLD_PLAN), STN_ERR_INVALID);
    assert_said(OLD_PLAN ": name: 'host' is a device already");
    sim_devices_fini(&devices);
}

static void a_damaged_plan_is_refused_as_by_the_trainer(void **state)
{
    (void)state;
    struct sim_devices devices = {0};
    const char *const damaged = "{\"stannis_plan\": 2, \"nodes\": [{}]}";
    capture_start(&capture);
    assert_int_equal(sim_devices_add_text(&devices, damaged, strlen(damaged), "p.json"),
                     STN_ERR_CORRUPT);
    assert_said("p.json: damaged: \"date\" is missing");
    const char *const later = "{\"stannis_plan\": 3, \"nodes\": [{}]}";
    capture_start(&capture);
    assert_int_equal(sim_devices_add_text(&devices, later, strlen(later), "p.json"),
                     STN_ERR_UNSUPPORTED);
    assert_said("p.json: a plan of format 3, this Stannis reads 2; tune again");
    sim_devices_fini(&devices);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    assert_refused("", "d.yaml:1: expected \"devices:\" with a list of devices below it");
    assert_refused("devices: 3\n", "d.yaml:1: devices: expected a list of 1 to 1000");
    assert_refused("devices:\n  - laguna\n", "d.yaml:2: expected a device as \"- name: newport\"");
    assert_refused("devices:\n  - name: a\n    pwoer: {}\n",
                   "d.yaml:3: 'pwoer': unknown key; did you mean power?");
    assert_refused("devices:\n  - title: a\n", "d.yaml:2: name is missing");
    assert_refused("devices:\n  - name: a\n", "d.yaml:2: link is missing");
    assert_refused("devices:\n  - name: a\n    link: {latency_s: 1}\n" NETS,
                   "d.yaml:3: link: bytes_per_s is missing, as bytes_per_s: 117e6");
    assert_refused("devices:\n  - name: a\n    link: {bytes_per_s: -1}\n" NETS,
                   "d.yaml:3: bytes_per_s: '-1': expected bytes a second as 117e6");
    assert_refused("devices:\n  - name: a\n    link: {bytes_per_s: 1, through_host: maybe}\n" NETS,
                   "d.yaml:3: through_host: 'maybe': expected true or false");
    assert_refused("devices:\n  - name: a\n" LINK, "d.yaml:2: networks is missing");
    assert_refused("devices:\n  - name: a\n" LINK "    networks: []\n",
                   "d.yaml:4: networks: expected a list of 1 to 1000");
    assert_refused("devices:\n  - name: a\n" LINK "    power: {idle: 9, busy: 3}\n" NETS,
                   "d.yaml:4: power: busy, 3 W, is less than idle, 9 W");
}

static void mistakes_in_networks_are_refused(void **state)
{
    (void)state;
#define NET(text) "devices:\n  - name: a\n" LINK "    networks:\n" text
    assert_refused(NET("      - {each_s: 1}\n"), "d.yaml:5: net is missing, as net: mobilenet_v2");
    assert_refused(NET("      - {net: x}\n"), "d.yaml:5: x: expected either speeds or each_s");
    assert_refused(NET("      - {net: x, each_s: 0}\n"),
                   "d.yaml:5: each_s: '0': expected seconds, more than 0");
    assert_refused(NET("      - {net: x, each_s: 1}\n      - {net: x, each_s: 2}\n"),
                   "d.yaml:6: net: 'x' is given twice for a");
    assert_refused(NET("      - {net: x, speeds: [{batch: 2}]}\n"),
                   "d.yaml:5: expected both batch and images_per_s");
    assert_refused(NET("      - net: x\n        speeds:\n"
                       "        - {batch: 4, images_per_s: 1}\n"
                       "        - {batch: 4, images_per_s: 2}\n"),
                   "d.yaml:8: batch: 4 after 4: expected rising batches");
    assert_refused(NET("      - net: x\n        speeds:\n"
                       "        - {batch: 4, images_per_s: 1}\n"
                       "        - {batch: 5, images_per_s: 2}\n"),
                   "d.yaml:8: a step of 5 images is said to be shorter than one of 4");
}

static void what_is_unknown_is_named(void **state)
{
    (void)state;
    struct sim_devices devices = {0};
    struct sim_device *device;
    struct sim_device_net *net;
    struct sim_speed *speed;
    assert_int_equal(sim_devices_add_builtin(&devices), STN_OK);
    capture_start(&capture);
    assert_int_equal(sim_devices_require(&devices, "lagune", "--csd", &device), STN_ERR_NOT_FOUND);
    assert_said("--csd lagune: unknown device; did you mean laguna?");
    device = sim_devices_find(&devices, "laguna");
    capture_start(&capture);
    assert_int_equal(sim_device_require_net(device, "vgg16", "--net", &net), STN_ERR_NOT_FOUND);
    assert_said("--net vgg16: unknown network to device laguna; there is mobilenet_v2");
    capture_start(&capture);
    assert_int_equal(sim_device_require_speed(device, "mobilenet_v2", 7, &speed),
                     STN_ERR_NOT_FOUND);
    assert_said("device laguna: no speed of mobilenet_v2 with batch 7");
    sim_devices_fini(&devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_papers_devices_are_built_in),
        cmocka_unit_test(every_built_in_number_has_a_source),
        cmocka_unit_test(speeds_become_a_line),
        cmocka_unit_test(files_add_up),
        cmocka_unit_test(a_tuned_plan_is_a_device_file),
        cmocka_unit_test(a_damaged_plan_is_refused_as_by_the_trainer),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(mistakes_in_networks_are_refused),
        cmocka_unit_test(what_is_unknown_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
