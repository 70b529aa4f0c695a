// SPDX-License-Identifier: Apache-2.0
// The nodes of a plan file as devices: measured on this cluster, so the best source there is. A
// plan has no power, and its exchange is of all nodes together: such devices' links are no
// bottleneck.
#include "planfile/planfile.h"
#include "sim/device_reader.h"

enum { NODES_MAX = 1000 };

static enum stn_status add_node(struct sim_reader *r, const struct stn_plan *plan,
                                const struct stn_plan_node *node, struct sim_device *out)
{
    struct base_arena *arena = &r->devices->arena;
    struct sim_device_net *net = base_arena_alloc(arena, sizeof(*net));
    if (!net) {
        return sim_reader_fail_memory(r);
    }
    if (sim_devices_find(r->devices, node->name)) {
        return conf_fail(&r->conf, "name: '%.80s' is a device already", node->name);
    }
    *net = (struct sim_device_net){
        .net = base_arena_strdup(arena, plan->info.net),
        .source = base_arena_printf(arena, "%s, measured %s", r->conf.label, plan->info.date),
        .line = {.fixed_s = node->fixed_seconds,
                 .each_s = node->each_seconds / plan->info.micro_batch},
    };
    *out = (struct sim_device){
        .name = base_arena_strdup(arena, node->name), .nets = net, .net_count = 1};
    return net->net && net->source && out->name ? STN_OK : sim_reader_fail_memory(r);
}

enum stn_status sim_reader_add_plan(struct sim_reader *r, const struct stn_plan *plan)
{
    if (plan->info.nodes > NODES_MAX - r->devices->count) {
        return conf_fail(&r->conf, "a plan of %d nodes; at most %d devices are kept",
                         plan->info.nodes, NODES_MAX);
    }
    enum stn_status status = sim_reader_reserve(r, plan->info.nodes);
    for (int i = 0; i < plan->info.nodes && status == STN_OK; i++) {
        struct sim_device *device = &r->devices->devices[r->devices->count];
        status = add_node(r, plan, &plan->node[i], device);
        r->devices->count += status == STN_OK;
    }
    return status;
}
