// SPDX-License-Identifier: Apache-2.0
#include "sim/scene.h"

#include <stdlib.h>
#include <string.h>

static enum stn_status fail_memory(const struct sim_scene *scene)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d virtual nodes and %d loads", scene->count,
                    scene->load_count);
}

void sim_scene_fini(struct sim_scene *scene)
{
    base_arena_fini(&scene->arena);
    *scene = (struct sim_scene){0};
}

struct sim_cluster sim_scene_cluster(const struct sim_scene *scene)
{
    return (struct sim_cluster){.nodes = scene->nodes,
                                .count = scene->count,
                                .loads = scene->loads,
                                .load_count = scene->load_count};
}

int sim_scene_find(const struct sim_scene *scene, const char *name)
{
    for (int i = 0; i < scene->count; i++) {
        if (strcmp(scene->nodes[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

// The arena gives nothing back: doubling wastes no more than what is used in the end.
static void *grown(struct sim_scene *scene, const void *items, size_t size, int count, int capacity)
{
    void *more = base_arena_alloc(&scene->arena, (size_t)capacity * size);
    if (more != NULL && count > 0) {
        memcpy(more, items, (size_t)count * size);
    }
    return more;
}

static bool reserve_node(struct sim_scene *scene)
{
    if (scene->count < scene->capacity) {
        return true;
    }
    int capacity = scene->capacity > 0 ? 2 * scene->capacity : 64;
    struct sim_node *nodes = grown(scene, scene->nodes, sizeof(*nodes), scene->count, capacity);
    const struct sim_device_power **powers =
        grown(scene, scene->powers, sizeof(*powers), scene->count, capacity);
    if (nodes == NULL || powers == NULL) {
        return false;
    }
    scene->nodes = nodes;
    scene->powers = powers;
    scene->capacity = capacity;
    return true;
}

// The first node that is as fast.
static int kind_of(struct sim_scene *scene, const struct sim_node *node)
{
    for (int i = 0; i < scene->kind_count; i++) {
        const struct plan_line *line = &scene->nodes[scene->kinds[i]].curve.line;
        if (line->fixed_s == node->curve.line.fixed_s && line->each_s == node->curve.line.each_s) {
            return scene->kinds[i];
        }
    }
    if (scene->kind_count < SIM_SCENE_KINDS_MAX) {
        scene->kinds[scene->kind_count++] = scene->count;
    }
    return scene->count;
}

enum stn_status sim_scene_add_node(struct sim_scene *scene, const struct sim_node *node,
                                   const struct sim_device_power *power)
{
    if (scene->count == SIM_SCENE_NODES_MAX) {
        return stn_fail(STN_ERR_INVALID, "more than %d virtual nodes", SIM_SCENE_NODES_MAX);
    }
    if (!reserve_node(scene)) {
        return fail_memory(scene);
    }
    struct sim_node *added = &scene->nodes[scene->count];
    *added = *node;
    added->name = base_arena_strdup(&scene->arena, node->name);
    added->kind = kind_of(scene, node);
    if (added->name == NULL) {
        return fail_memory(scene);
    }
    scene->powers[scene->count++] = power;
    return STN_OK;
}

enum stn_status sim_scene_add_load(struct sim_scene *scene, const struct sim_load *load)
{
    if (scene->load_count == scene->load_capacity) {
        int capacity = scene->load_capacity > 0 ? 2 * scene->load_capacity : 64;
        struct sim_load *loads =
            grown(scene, scene->loads, sizeof(*loads), scene->load_count, capacity);
        if (loads == NULL) {
            return fail_memory(scene);
        }
        scene->loads = loads;
        scene->load_capacity = capacity;
    }
    scene->loads[scene->load_count++] = *load;
    return STN_OK;
}

enum stn_status sim_scene_add(struct sim_scene *scene, const struct sim_scene_config *config,
                              const char *name, const char *device_name, double share,
                              const char *where)
{
    struct sim_device *device;
    struct sim_device_net *net;
    enum stn_status status = sim_devices_require(config->devices, device_name, where, &device);
    if (status == STN_OK) {
        status = sim_device_require_net(device, config->net, where, &net);
    }
    if (status != STN_OK) {
        return status;
    }
    const struct sim_node node = {
        .name = name,
        .curve.line = {.fixed_s = net->line.fixed_s / share,
                       .each_s = net->line.each_s * config->micro_batch / share},
        .noise = {.relative = config->noise},
        .link = {.bytes_per_s = device->link.bytes_per_s, .latency_s = device->link.latency_s},
    };
    return sim_scene_add_node(scene, &node, device->power.busy_w > 0.0 ? &device->power : NULL);
}
