// SPDX-License-Identifier: Apache-2.0
// The nodes of a plan file as devices: measured on this cluster, so the best source there is. JSON
// is YAML, so it is read in the same way. A plan has no power, and its exchange is of all nodes
// together: such devices' links are no bottleneck.
#include <float.h>

#include "sim/device_reader.h"

enum { NODES_MAX = 1000, MICRO_BATCH_MAX = 1000000 };

bool sim_reader_is_plan(const struct sim_reader *r)
{
    return conf_find(&r->conf, conf_root(&r->conf), "stannis_plan") != NULL;
}

// The value under a row's name, which has to be there.
static enum stn_status need(struct sim_reader *r, const struct yaml_node_s *map,
                            const struct conf_key *key, void *field)
{
    const struct yaml_node_s *value = conf_find(&r->conf, map, key->name);
    if (!value) {
        conf_go(&r->conf, map);
        return conf_fail(&r->conf, "%s is missing", key->name);
    }
    return conf_read_value(&r->conf, value, key, field);
}

struct plan {
    const char *net, *date;
    int micro_batch;
};

static enum stn_status read_header(struct sim_reader *r, struct plan *out)
{
    static const struct conf_key net = {"net", CONF_TEXT, 0, 0, 0, NULL};
    static const struct conf_key date = {"date", CONF_TEXT, 0, 0, 0, NULL};
    static const struct conf_key size = {"micro_batch", CONF_WHOLE, 0, 1, MICRO_BATCH_MAX, NULL};
    const struct yaml_node_s *root = conf_root(&r->conf);
    enum stn_status status = need(r, root, &net, &out->net);
    if (status == STN_OK) {
        status = need(r, root, &date, &out->date);
    }
    return status == STN_OK ? need(r, root, &size, &out->micro_batch) : status;
}

static enum stn_status read_node(struct sim_reader *r, const struct plan *plan,
                                 const struct yaml_node_s *value, struct sim_device *out)
{
    static const struct conf_key name = {"name", CONF_TEXT, 0, 0, 0, NULL};
    static const struct conf_key fixed = {"fixed_seconds", CONF_REAL,           0, 0,
                                          DBL_MAX,         "seconds, 0 or more"};
    static const struct conf_key each = {"each_seconds", CONF_REAL, 0,
                                         1e-12,          1e6,       "seconds, more than 0"};
    struct sim_device_net *net = base_arena_alloc(&r->devices->arena, sizeof(*net));
    if (!net) {
        return sim_reader_fail_memory(r);
    }
    *net = (struct sim_device_net){0};
    *out = (struct sim_device){.nets = net, .net_count = 1};
    enum stn_status status = need(r, value, &name, &out->name);
    if (status == STN_OK) {
        status = need(r, value, &fixed, &net->line.fixed_s);
    }
    if (status == STN_OK) {
        status = need(r, value, &each, &net->line.each_s);
    }
    if (status != STN_OK) {
        return status;
    }
    if (sim_devices_find(r->devices, out->name)) {
        return conf_fail(&r->conf, "name: '%.80s' is a device already", out->name);
    }
    net->line.each_s /= plan->micro_batch;
    net->net = plan->net;
    net->source =
        base_arena_printf(&r->devices->arena, "%s, measured %s", r->conf.label, plan->date);
    bool kept = net->source && sim_reader_keep(r, &net->net) && sim_reader_keep(r, &out->name);
    return kept ? STN_OK : sim_reader_fail_memory(r);
}

enum stn_status sim_reader_read_plan(struct sim_reader *r)
{
    static const struct conf_key nodes = {"nodes", CONF_VALUE, 0, 0, 0, NULL};
    const struct yaml_node_s *list = NULL;
    struct plan plan = {.micro_batch = 1};
    enum stn_status status = read_header(r, &plan);
    if (status == STN_OK) {
        status = need(r, conf_root(&r->conf), &nodes, &list);
    }
    if (status != STN_OK) {
        return status;
    }
    int count = conf_count(list);
    if (count < 1 || count > NODES_MAX - r->devices->count) {
        return conf_fail(&r->conf, "nodes: expected a list of 1 to %d", NODES_MAX);
    }
    status = sim_reader_reserve(r, count);
    for (int i = 0; i < count && status == STN_OK; i++) {
        struct sim_device *device = &r->devices->devices[r->devices->count];
        status = read_node(r, &plan, conf_at(&r->conf, list, i), device);
        r->devices->count += status == STN_OK;
    }
    return status;
}
