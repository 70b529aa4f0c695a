// SPDX-License-Identifier: Apache-2.0
#include "sim/rack.h"

// A ring of n nodes sends n messages at once; where the host forwards all of them, each has its
// n-th part of what the host can do. A host that is loaded forwards as much slower.
static struct sim_link link_of(const struct sim_rack_config *config)
{
    const struct sim_device_link *link =
        config->csd.count > 0 ? &config->csd.link : &config->host.link;
    struct sim_link out = {.bytes_per_s = link->bytes_per_s, .latency_s = link->latency_s};
    if (link->through_host) {
        out.bytes_per_s /= (config->host.count + config->csd.count) * config->slowdown;
    }
    return out;
}

static struct sim_node node_of(const struct sim_rack_config *config,
                               const struct sim_rack_part *part, const char *name, int kind)
{
    struct plan_line line = part->line;
    line.each_s *= config->micro_batch;
    return (struct sim_node){.name = name,
                             .kind = kind,
                             .curve = {.line = line},
                             .cap = part->cap / config->micro_batch,
                             .private_samples = part->private_samples,
                             .link = link_of(config)};
}

// False: no memory.
static bool add_part(struct sim_rack *rack, const struct sim_rack_config *config,
                     const struct sim_rack_part *part, const struct sim_device_power *power,
                     const char *name)
{
    int first = rack->cluster.count;
    for (int i = first; i < first + part->count; i++) {
        const char *each = base_arena_printf(&rack->arena, "%s.%d", name, i - first);
        if (!each) {
            return false;
        }
        rack->nodes[i] = node_of(config, part, each, first);
        rack->powers[i] = power;
    }
    rack->cluster.count += part->count;
    return true;
}

enum stn_status sim_rack_init(struct sim_rack *rack, const struct sim_rack_config *config)
{
    size_t count = (size_t)config->host.count + (size_t)config->csd.count;
    *rack = (struct sim_rack){.power_host = config->host.power, .power_csd = config->csd.power};
    rack->nodes = base_arena_alloc(&rack->arena, count * sizeof(*rack->nodes));
    rack->powers = base_arena_alloc(&rack->arena, count * sizeof(*rack->powers));
    if (!rack->nodes || !rack->powers ||
        !add_part(rack, config, &config->host, &rack->power_host, "host") ||
        !add_part(rack, config, &config->csd, &rack->power_csd, "csd")) {
        sim_rack_fini(rack);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %zu virtual nodes", count);
    }
    rack->cluster.nodes = rack->nodes;
    if (config->slowdown > 1.0) {
        rack->load = (struct sim_load){.node = 0,
                                       .shape = SIM_LOAD_STEADY,
                                       .from = config->slowdown_from,
                                       .to = INT64_MAX,
                                       .slowdown = config->slowdown};
        rack->cluster.loads = &rack->load;
        rack->cluster.load_count = 1;
    }
    return STN_OK;
}

void sim_rack_fini(struct sim_rack *rack)
{
    base_arena_fini(&rack->arena);
    *rack = (struct sim_rack){0};
}
