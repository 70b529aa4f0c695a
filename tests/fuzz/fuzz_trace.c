// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as a recorded trace, CSV or events: what is accepted is a slowdown of a node of
// the cluster for each step that it covers.
#include <stdlib.h>

#include "sim/scene.h"
#include "target.h"

enum { NODES = 3 };
static const char nodes[] = "nodes:\n  - {name: csd, count: 3, speed: {each_s: 0.1}}\n";

static void check_load(const struct sim_load *load)
{
    fuzz_check(load->shape == SIM_LOAD_RECORDED && load->node >= 0 && load->node < NODES);
    fuzz_check(load->from >= 1 && load->to >= load->from);
    for (int64_t i = 0; i <= load->to - load->from; i++) {
        fuzz_check(load->recorded[i] >= 1e-3 && load->recorded[i] <= 1e6);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_devices devices = {0};
    const struct sim_scene_config config = {
        .devices = &devices, .net = "mobilenet_v2", .micro_batch = 4};
    struct sim_scene scene;
    fuzz_quiet();
    fuzz_check(sim_scene_parse(nodes, sizeof(nodes) - 1, "nodes", &config, &scene) == STN_OK);
    char *text = fuzz_text(data, size);
    if (sim_scene_trace_text(&scene, text, size, "fuzz") == STN_OK) {
        fuzz_check(scene.load_count >= 1 && scene.load_count <= NODES);
        for (int i = 0; i < scene.load_count; i++) {
            check_load(&scene.loads[i]);
        }
    }
    free(text);
    sim_scene_fini(&scene);
    return 0;
}
