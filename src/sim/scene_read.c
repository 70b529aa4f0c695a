// SPDX-License-Identifier: Apache-2.0
// The file of a virtual cluster: of each entry (cluster/entry.h) what concerns virtual nodes, and
// what only several values together can break.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"
#include "cluster/entry.h"
#include "conf/conf.h"
#include "sim/scene.h"

enum { NAME_MAX_BYTES = 63 };

static const char *const shapes[] = {
    [SIM_LOAD_STEADY] = "steady", [SIM_LOAD_RAMP] = "ramp", [SIM_LOAD_ON_OFF] = "on-off", NULL};

// ---- loads -------------------------------------------------------------------------------------

struct reader {
    struct conf conf;
    const struct sim_scene_config *config;
    struct sim_scene *scene;
};

static enum stn_status shape_of(struct reader *r, const char *text, enum sim_load_shape *out)
{
    *out = SIM_LOAD_STEADY;
    for (int i = 0; text != NULL; i++) {
        if (shapes[i] == NULL) {
            return conf_fail(&r->conf, "shape: '%.80s': expected steady, ramp or on-off", text);
        }
        if (strcmp(shapes[i], text) == 0) {
            *out = (enum sim_load_shape)i;
            break;
        }
    }
    return STN_OK;
}

static enum stn_status read_load(struct reader *r, const struct cluster_entry *node, int index,
                                 struct sim_load *out)
{
    struct cluster_entry_load entry;
    enum stn_status status = cluster_entry_load(&r->conf, node, index, &entry);
    if (status == STN_OK) {
        status = shape_of(r, entry.shape, &out->shape);
    }
    if (status != STN_OK) {
        return status;
    }
    out->from = entry.from > 0 ? entry.from : 1;
    out->to = entry.to > 0 ? entry.to : INT64_MAX;
    out->slowdown = entry.slowdown;
    out->period_steps = entry.period;
    out->on_steps = entry.on;
    if (!(entry.slowdown > 0.0)) {
        return conf_fail(&r->conf, "slowdown is missing, as slowdown: 2");
    }
    if (out->to < out->from) {
        return conf_fail(&r->conf, "to: %d is before from: %d", entry.to, entry.from);
    }
    if (out->shape == SIM_LOAD_RAMP && entry.to == 0) {
        return conf_fail(&r->conf, "to is missing: a ramp needs an end");
    }
    bool is_periodic = out->shape == SIM_LOAD_ON_OFF;
    if (is_periodic ? entry.on < 1 || entry.on > entry.period : entry.on + entry.period > 0) {
        return conf_fail(&r->conf, is_periodic
                                       ? "on-off needs on and period, steps, as on: 5, period: 20"
                                       : "on and period are for shape: on-off");
    }
    return STN_OK;
}

// For nodes [first, count).
static enum stn_status read_loads(struct reader *r, const struct cluster_entry *entry, int first)
{
    int count = 0;
    enum stn_status status = cluster_entry_loads(&r->conf, entry, &count);
    for (int k = 0; k < count && status == STN_OK; k++) {
        struct sim_load load = {0};
        status = read_load(r, entry, k, &load);
        for (int i = first; i < r->scene->count && status == STN_OK; i++) {
            load.node = i;
            status = sim_scene_add_load(r->scene, &load);
        }
    }
    return status;
}

// ---- nodes -------------------------------------------------------------------------------------

// Behind one host all share its link, the host's own messages included: a ring sends them all at
// once.
static double shared_bytes_per_s(const struct sim_device_link *link,
                                 const struct cluster_entry *entry)
{
    int behind =
        entry->per_host > 0 && entry->per_host < entry->count ? entry->per_host : entry->count;
    return link->through_host ? link->bytes_per_s / (behind + 1) : link->bytes_per_s;
}

static enum stn_status use_device(struct reader *r, const struct cluster_entry *entry,
                                  struct sim_node *node, const struct sim_device_power **power)
{
    char where[256] = BASE_SETTING "device";
    if (entry->device) {
        snprintf(where, sizeof(where), "%.180s:%d: device", r->conf.label, entry->device_line);
    }
    struct sim_device *device;
    struct sim_device_net *net;
    enum stn_status status = sim_devices_require(
        r->config->devices, entry->device ? entry->device : r->config->device, where, &device);
    if (status == STN_OK) {
        status = sim_device_require_net(device, r->config->net, where, &net);
    }
    if (status != STN_OK) {
        return status;
    }
    node->curve.line = net->line;
    node->link.bytes_per_s = shared_bytes_per_s(&device->link, entry);
    node->link.latency_s = device->link.latency_s;
    *power = device->power.busy_w > 0.0 ? &device->power : NULL;
    return STN_OK;
}

static enum stn_status check_entry(struct reader *r, const struct cluster_entry *entry)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (entry->name[strspn(entry->name, letters)] != '\0' ||
        strlen(entry->name) > NAME_MAX_BYTES - 7) {
        return conf_fail(&r->conf,
                         "name: '%.80s': expected letters, digits, '.', '_' and '-', at most %d",
                         entry->name, NAME_MAX_BYTES - 7);
    }
    if (entry->device && entry->has_speed) {
        return conf_fail(&r->conf, "%s: expected either a device or a speed", entry->name);
    }
    if (!entry->device && !entry->has_speed && !r->config->device) {
        return conf_fail(&r->conf,
                         "%s: expected either a device or a speed, or " BASE_SETTING
                         "device NAME for nodes that "
                         "say neither",
                         entry->name);
    }
    if (entry->max_batch > 0 && entry->max_batch < r->config->micro_batch) {
        return conf_fail(&r->conf, "max_batch: %d is less than a micro-batch, %d images",
                         entry->max_batch, r->config->micro_batch);
    }
    if (entry->memory > 0 && entry->memory < r->config->needed_bytes) {
        return conf_fail(&r->conf,
                         "memory: %zu MiB; %s with micro-batches of %d needs %zu MiB: take a "
                         "smaller " BASE_SETTING "micro-batch",
                         entry->memory >> 20, r->config->net, r->config->micro_batch,
                         (r->config->needed_bytes >> 20) + 1);
    }
    return STN_OK;
}

static enum stn_status add_nodes(struct reader *r, const struct cluster_entry *entry,
                                 struct sim_node *node, const struct sim_device_power *power)
{
    enum stn_status status = STN_OK;
    if (entry->count > SIM_SCENE_NODES_MAX - r->scene->count) {
        return conf_fail(&r->conf, "more than %d nodes", SIM_SCENE_NODES_MAX);
    }
    for (int i = 0; i < entry->count && status == STN_OK; i++) {
        char name[NAME_MAX_BYTES + 1];
        int length = (int)strlen(entry->name);
        if (entry->count > 1) {
            snprintf(name, sizeof(name), "%.*s.%d", length, entry->name, i);
        } else {
            snprintf(name, sizeof(name), "%.*s", length, entry->name);
        }
        node->name = name;
        status = sim_scene_add_node(r->scene, node, power); // copies it
    }
    node->name = NULL;
    return status;
}

// What noise and share are where the entry does not say: the program's, and what a real node of
// that many CPUs would be.
static void set_times(const struct reader *r, const struct cluster_entry *entry,
                      struct sim_node *node)
{
    double share = entry->share > 0.0 ? entry->share : entry->cpus > 0.0 ? entry->cpus : 1.0;
    node->curve.line.fixed_s /= share;
    node->curve.line.each_s *= r->config->micro_batch / share;
    node->noise =
        (struct sim_noise){.relative = entry->noise < 0.0 ? r->config->noise : entry->noise,
                           .memory = entry->noise_memory,
                           .spikes = entry->spikes,
                           .spike_factor = entry->spike_factor};
}

static enum stn_status read_node(struct reader *r, const struct conf_value *value)
{
    struct cluster_entry entry;
    struct sim_node node = {0};
    const struct sim_device_power *power = NULL;
    char name[256];
    enum stn_status status = cluster_entry_read(&r->conf, value, &entry);
    if (status == STN_OK && !entry.name) {
        cluster_entry_name(&entry, name, sizeof(name));
        entry.name = name;
    }
    if (status == STN_OK) {
        status = check_entry(r, &entry);
    }
    if (status == STN_OK && entry.has_speed) {
        node.curve.line =
            (struct plan_line){.fixed_s = entry.speed.fixed_s, .each_s = entry.speed.each_s};
    } else if (status == STN_OK) {
        status = use_device(r, &entry, &node, &power);
    }
    if (status != STN_OK) {
        return status;
    }
    if (entry.has_link) {
        node.link = (struct sim_link){.bytes_per_s = entry.link.bytes_per_s,
                                      .latency_s = entry.link.latency_s};
    }
    set_times(r, &entry, &node);
    node.cap = entry.max_batch / r->config->micro_batch;
    node.private_samples = entry.private_samples;
    node.fails_at = entry.fails_at;
    int first = r->scene->count;
    status = add_nodes(r, &entry, &node, power);
    return status == STN_OK ? read_loads(r, &entry, first) : status;
}

// ---- the file ----------------------------------------------------------------------------------

static int compare_names(const void *left, const void *right)
{
    return strcmp((*(const struct sim_node *const *)left)->name,
                  (*(const struct sim_node *const *)right)->name);
}

static enum stn_status check_unique(struct reader *r)
{
    size_t count = (size_t)r->scene->count;
    const struct sim_node **sorted = malloc(count * sizeof(struct sim_node *));
    if (sorted == NULL) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for %zu nodes", r->conf.label, count);
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &r->scene->nodes[i];
    }
    qsort(sorted, count, sizeof(struct sim_node *), compare_names);
    enum stn_status status = STN_OK;
    for (size_t i = 1; i < count && status == STN_OK; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            status = conf_fail(&r->conf, "name: '%s' is given twice", sorted[i]->name);
        }
    }
    free(sorted);
    return status;
}

static enum stn_status read_nodes(struct reader *r)
{
    static const struct conf_key top[] = {{"nodes", CONF_VALUE, 0, 0, 0, NULL},
                                          {NULL, CONF_TEXT, 0, 0, 0, NULL}};
    const struct conf_value *list = NULL;
    enum stn_status status = conf_read_map(&r->conf, conf_root(&r->conf), top,
                                           "\"nodes:\" with a list of nodes below it", "", &list);
    if (status != STN_OK) {
        return status;
    }
    int count = list ? conf_count(list) : -1;
    if (count < 1) {
        return conf_fail(&r->conf, "nodes: expected a list, as \"- name: host\"");
    }
    for (int i = 0; i < count && status == STN_OK; i++) {
        status = read_node(r, conf_at(&r->conf, list, i));
    }
    if (status == STN_OK) {
        conf_go(&r->conf, list);
        status = check_unique(r);
    }
    return status;
}

static enum stn_status read_all(struct reader *r)
{
    enum stn_status status = read_nodes(r);
    conf_fini(&r->conf);
    if (status != STN_OK) {
        sim_scene_fini(r->scene);
    }
    return status;
}

enum stn_status sim_scene_parse(const char *text, size_t bytes, const char *label,
                                const struct sim_scene_config *config, struct sim_scene *out)
{
    struct reader r = {.config = config, .scene = out};
    *out = (struct sim_scene){0};
    enum stn_status status = conf_parse(text, bytes, label, &r.conf);
    return status == STN_OK ? read_all(&r) : status;
}

enum stn_status sim_scene_load(const char *path, const struct sim_scene_config *config,
                               struct sim_scene *out)
{
    struct reader r = {.config = config, .scene = out};
    *out = (struct sim_scene){0};
    enum stn_status status = conf_load(path, "cluster file", &r.conf);
    return status == STN_OK ? read_all(&r) : status;
}
