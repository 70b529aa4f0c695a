// SPDX-License-Identifier: Apache-2.0
// The file of a virtual cluster: rows of keys, and what only several values together can break.
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "sim/scene.h"

enum { NAME_MAX_BYTES = 63, LOADS_MAX = 1000, COUNT_MAX = 1000000000 };

// Generous bounds, for slips of units.
#define SECONDS_MAX     1e6
#define BYTES_PER_S_MAX 1e15
#define FACTOR_MAX      1e6

struct entry {
    const char *name;
    int count, max_batch, private_samples, per_host, fails_at;
    size_t memory;
    double share;
    struct sim_noise noise;
    const struct conf_value *device, *speed, *link, *loads;
};

struct load_entry {
    int from, to, period, on;
    double slowdown;
    const char *shape;
};

static const char *const shapes[] = {
    [SIM_LOAD_STEADY] = "steady", [SIM_LOAD_RAMP] = "ramp", [SIM_LOAD_ON_OFF] = "on-off", NULL};

// ---- rows --------------------------------------------------------------------------------------

#define END                                                                                        \
    {                                                                                              \
        NULL, CONF_TEXT, 0, 0, 0, NULL                                                             \
    }

static const struct conf_key top_keys[] = {{"nodes", CONF_VALUE, 0, 0, 0, NULL}, END};

#define FIELD(name) offsetof(struct entry, name)
static const struct conf_key node_keys[] = {
    {"name", CONF_TEXT, FIELD(name), 0, 0, NULL},
    {"device", CONF_VALUE, FIELD(device), 0, 0, NULL},
    {"speed", CONF_VALUE, FIELD(speed), 0, 0, NULL},
    {"count", CONF_WHOLE, FIELD(count), 1, SIM_SCENE_NODES_MAX, NULL},
    {"share", CONF_REAL, FIELD(share), 1e-6, FACTOR_MAX, "a part of the device's speed, as 0.25"},
    {"max_batch", CONF_WHOLE, FIELD(max_batch), 1, COUNT_MAX, NULL},
    {"memory", CONF_BYTES, FIELD(memory), 0, 0, "a size as 512M or 4G"},
    {"private", CONF_WHOLE, FIELD(private_samples), 0, COUNT_MAX, NULL},
    {"noise", CONF_REAL, FIELD(noise.relative), 0, 1, "a part of the time, as 0.02"},
    {"noise_memory", CONF_REAL, FIELD(noise.memory), 0, 0.999, "0 to 0.999"},
    {"spikes", CONF_REAL, FIELD(noise.spikes), 0, 1, "a part of the steps, as 0.01"},
    {"spike_factor", CONF_REAL, FIELD(noise.spike_factor), 1, FACTOR_MAX, "a factor as 3"},
    {"link", CONF_VALUE, FIELD(link), 0, 0, NULL},
    {"per_host", CONF_WHOLE, FIELD(per_host), 1, SIM_SCENE_NODES_MAX, NULL},
    {"fails_at", CONF_WHOLE, FIELD(fails_at), 1, INT_MAX, NULL},
    {"loads", CONF_VALUE, FIELD(loads), 0, 0, NULL},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct plan_line, name)
static const struct conf_key speed_keys[] = {
    {"fixed_s", CONF_REAL, FIELD(fixed_s), 0, SECONDS_MAX, "seconds of a step, 0 or more"},
    {"each_s", CONF_REAL, FIELD(each_s), 1e-12, SECONDS_MAX, "seconds of an image, more than 0"},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct sim_link, name)
static const struct conf_key link_keys[] = {
    {"bytes_per_s", CONF_REAL, FIELD(bytes_per_s), DBL_MIN, BYTES_PER_S_MAX,
     "bytes a second as 117e6"},
    {"latency_s", CONF_REAL, FIELD(latency_s), 0, SECONDS_MAX, "seconds, 0 or more"},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct load_entry, name)
static const struct conf_key load_keys[] = {
    {"from", CONF_WHOLE, FIELD(from), 1, INT_MAX, NULL},
    {"to", CONF_WHOLE, FIELD(to), 1, INT_MAX, NULL},
    {"slowdown", CONF_REAL, FIELD(slowdown), 1, FACTOR_MAX, "a factor of 1 or more, as 2"},
    {"shape", CONF_TEXT, FIELD(shape), 0, 0, NULL},
    {"period", CONF_WHOLE, FIELD(period), 1, INT_MAX, NULL},
    {"on", CONF_WHOLE, FIELD(on), 1, INT_MAX, NULL},
    END,
};
#undef FIELD

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

static enum stn_status read_load(struct reader *r, const struct conf_value *value,
                                 struct sim_load *out)
{
    struct load_entry entry = {0};
    enum stn_status status = conf_read_map(
        &r->conf, value, load_keys, "a load as {from: 100, to: 200, slowdown: 2}", "", &entry);
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
static enum stn_status read_loads(struct reader *r, const struct conf_value *list, int first)
{
    conf_go(&r->conf, list);
    int count = conf_count(list);
    if (count < 1 || count > LOADS_MAX) {
        return conf_fail(&r->conf, "loads: expected a list of 1 to %d", LOADS_MAX);
    }
    enum stn_status status = STN_OK;
    for (int k = 0; k < count && status == STN_OK; k++) {
        struct sim_load load = {0};
        status = read_load(r, conf_at(&r->conf, list, k), &load);
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
static double shared_bytes_per_s(const struct sim_device_link *link, const struct entry *entry)
{
    int behind =
        entry->per_host > 0 && entry->per_host < entry->count ? entry->per_host : entry->count;
    return link->through_host ? link->bytes_per_s / (behind + 1) : link->bytes_per_s;
}

static enum stn_status use_device(struct reader *r, const struct entry *entry,
                                  struct sim_node *node, const struct sim_device_power **power)
{
    static const struct conf_key key = {"device", CONF_TEXT, 0, 0, 0, NULL};
    const char *name = NULL;
    conf_go(&r->conf, entry->device);
    enum stn_status status = conf_read_value(&r->conf, entry->device, &key, &name);
    if (status != STN_OK) {
        return status;
    }
    char where[256];
    snprintf(where, sizeof(where), "%.180s:%d: device", r->conf.label, r->conf.line);
    struct sim_device *device;
    struct sim_device_net *net;
    status = sim_devices_require(r->config->devices, name, where, &device);
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

static enum stn_status use_speed(struct reader *r, const struct conf_value *value,
                                 struct sim_node *node)
{
    enum stn_status status = conf_read_map(
        &r->conf, value, speed_keys, "speed: {fixed_s: 0.05, each_s: 0.02}", "", &node->curve.line);
    if (status == STN_OK && !(node->curve.line.each_s > 0.0)) {
        status = conf_fail(&r->conf, "speed: each_s is missing, the seconds of an image");
    }
    return status;
}

static enum stn_status check_entry(struct reader *r, const struct entry *entry)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (entry->name == NULL) {
        return conf_fail(&r->conf, "name is missing, as name: csd");
    }
    if (entry->name[strspn(entry->name, letters)] != '\0' ||
        strlen(entry->name) > NAME_MAX_BYTES - 7) {
        return conf_fail(&r->conf,
                         "name: '%.80s': expected letters, digits, '.', '_' and '-', at most %d",
                         entry->name, NAME_MAX_BYTES - 7);
    }
    if ((entry->device == NULL) == (entry->speed == NULL)) {
        return conf_fail(&r->conf, "%s: expected either a device or a speed", entry->name);
    }
    if (entry->max_batch > 0 && entry->max_batch < r->config->micro_batch) {
        return conf_fail(&r->conf, "max_batch: %d is less than a micro-batch, %d images",
                         entry->max_batch, r->config->micro_batch);
    }
    if (entry->memory > 0 && entry->memory < r->config->needed_bytes) {
        return conf_fail(&r->conf,
                         "memory: %zu MiB; %s with micro-batches of %d needs %zu MiB: take a "
                         "smaller --micro-batch",
                         entry->memory >> 20, r->config->net, r->config->micro_batch,
                         (r->config->needed_bytes >> 20) + 1);
    }
    return STN_OK;
}

static enum stn_status add_nodes(struct reader *r, const struct entry *entry, struct sim_node *node,
                                 const struct sim_device_power *power)
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

static enum stn_status read_node(struct reader *r, const struct conf_value *value)
{
    struct entry entry = {
        .count = 1, .share = 1.0, .noise = {.relative = r->config->noise, .spike_factor = 3.0}};
    struct sim_node node = {0};
    const struct sim_device_power *power = NULL;
    enum stn_status status = conf_read_map(&r->conf, value, node_keys, "a node as \"- name: csd\"",
                                           " for one node", &entry);
    if (status == STN_OK) {
        status = check_entry(r, &entry);
    }
    if (status == STN_OK) {
        status =
            entry.device ? use_device(r, &entry, &node, &power) : use_speed(r, entry.speed, &node);
    }
    if (status == STN_OK && entry.link) {
        node.link = (struct sim_link){0};
        status = conf_read_map(&r->conf, entry.link, link_keys, "link: {bytes_per_s: 117e6}", "",
                               &node.link);
    }
    if (status != STN_OK) {
        return status;
    }
    node.curve.line.fixed_s /= entry.share;
    node.curve.line.each_s *= r->config->micro_batch / entry.share;
    node.cap = entry.max_batch / r->config->micro_batch;
    node.private_samples = entry.private_samples;
    node.noise = entry.noise;
    node.fails_at = entry.fails_at;
    int first = r->scene->count;
    status = add_nodes(r, &entry, &node, power);
    return status == STN_OK && entry.loads ? read_loads(r, entry.loads, first) : status;
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
    const struct conf_value *list = NULL;
    enum stn_status status = conf_read_map(&r->conf, conf_root(&r->conf), top_keys,
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
