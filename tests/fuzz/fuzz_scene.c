// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as the file of a virtual cluster, as --interfere and as --trace: what is accepted
// can be simulated, or is refused by the simulator with a status; nothing crashes.
#include <stdlib.h>

#include "sim/scene.h"
#include "target.h"

static const char nodes[] = "nodes:\n  - {name: a, speed: {each_s: 0.1}}\n"
                            "  - {name: b, speed: {each_s: 0.2}}\n";

// A few steps on what was read.
static void try(const struct sim_scene *scene)
{
    struct sim_cluster cluster = sim_scene_cluster(scene);
    struct sim_config config = sim_defaults();
    struct sim_result result;
    config.micro_batch = 4;
    config.micro_batches = 64;
    config.public_samples = 5000;
    config.steps = 3;
    if (scene->count <= 1000 && sim_run(&cluster, &config, NULL, &result) == STN_OK) {
        sim_result_fini(&result);
    }
}

static enum stn_status disturb(struct sim_scene *scene, char *text, size_t size)
{
    enum stn_status interfered = sim_scene_interfere(scene, text);
    enum stn_status traced = sim_scene_trace_text(scene, text, size, "fuzz");
    return interfered ? traced : STN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sim_devices devices;
    struct sim_scene scene;
    const struct sim_scene_config config = {
        .devices = &devices, .net = "mobilenet_v2", .micro_batch = 4};
    fuzz_quiet();
    if (devices.count == 0 && sim_devices_add_builtin(&devices) != STN_OK) {
        abort();
    }
    char *text = fuzz_text(data, size);
    if (sim_scene_parse(text, size, "fuzz", &config, &scene) == STN_OK) {
        try(&scene);
        sim_scene_fini(&scene);
    }
    if (sim_scene_parse(nodes, sizeof(nodes) - 1, "nodes", &config, &scene) != STN_OK) {
        abort();
    }
    if (disturb(&scene, text, size) == STN_OK) {
        try(&scene);
    }
    sim_scene_fini(&scene);
    free(text);
    return 0;
}
