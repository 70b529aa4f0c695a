// SPDX-License-Identifier: Apache-2.0
// The device file: rows of keys for each kind of mapping, and what only several values together can
// break.
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "planfile/planfile.h"
#include "sim/device_reader.h"

enum { ITEMS_MAX = 1000, BATCH_MAX = 1000000 };

// Generous bounds, for slips of units.
#define WATTS_MAX       1e6
#define SECONDS_MAX     1e6
#define SPEED_MAX       1e9
#define BYTES_PER_S_MAX 1e15

// ---- rows --------------------------------------------------------------------------------------

struct device_entry {
    struct sim_device device;
    const struct conf_value *power, *link, *networks;
};

struct net_entry {
    struct sim_device_net net;
    const struct conf_value *speeds;
};

#define END                                                                                        \
    {                                                                                              \
        NULL, CONF_TEXT, 0, 0, 0, NULL                                                             \
    }

static const struct conf_key top_keys[] = {{"devices", CONF_VALUE, 0, 0, 0, NULL}, END};

#define FIELD(name) offsetof(struct device_entry, name)
static const struct conf_key device_keys[] = {
    {"name", CONF_TEXT, FIELD(device.name), 0, 0, NULL},
    {"title", CONF_TEXT, FIELD(device.title), 0, 0, NULL},
    {"power", CONF_VALUE, FIELD(power), 0, 0, NULL},
    {"link", CONF_VALUE, FIELD(link), 0, 0, NULL},
    {"networks", CONF_VALUE, FIELD(networks), 0, 0, NULL},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct sim_device_power, name)
static const struct conf_key power_keys[] = {
    {"base", CONF_REAL, FIELD(base_w), 0, WATTS_MAX, "watts, 0 or more"},
    {"idle", CONF_REAL, FIELD(idle_w), 0, WATTS_MAX, "watts, 0 or more"},
    {"busy", CONF_REAL, FIELD(busy_w), 0, WATTS_MAX, "watts, 0 or more"},
    {"can_off", CONF_FLAG, FIELD(can_off), 0, 0, NULL},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct sim_device_link, name)
static const struct conf_key link_keys[] = {
    {"bytes_per_s", CONF_REAL, FIELD(bytes_per_s), DBL_MIN, BYTES_PER_S_MAX,
     "bytes a second as 117e6"},
    {"latency_s", CONF_REAL, FIELD(latency_s), 0, SECONDS_MAX, "seconds, 0 or more"},
    {"through_host", CONF_FLAG, FIELD(through_host), 0, 0, NULL},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct net_entry, name)
static const struct conf_key net_keys[] = {
    {"net", CONF_TEXT, FIELD(net.net), 0, 0, NULL},
    {"fixed_s", CONF_REAL, FIELD(net.line.fixed_s), 0, SECONDS_MAX, "seconds, 0 or more"},
    {"each_s", CONF_REAL, FIELD(net.line.each_s), DBL_MIN, SECONDS_MAX, "seconds, more than 0"},
    {"source", CONF_TEXT, FIELD(net.source), 0, 0, NULL},
    {"speeds", CONF_VALUE, FIELD(speeds), 0, 0, NULL},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct sim_speed, name)
static const struct conf_key speed_keys[] = {
    {"batch", CONF_WHOLE, FIELD(batch), 1, BATCH_MAX, NULL},
    {"images_per_s", CONF_REAL, FIELD(images_per_s), DBL_MIN, SPEED_MAX,
     "images a second, more than 0"},
    {"source", CONF_TEXT, FIELD(source), 0, 0, NULL},
    END,
};
#undef FIELD

// ---- parts of a device -------------------------------------------------------------------------

// Room for the items of the list that `what` is.
static enum stn_status start_list(struct sim_reader *r, const struct conf_value *list,
                                  const char *what, size_t item, void **items, int *count)
{
    conf_go(&r->conf, list);
    *count = conf_count(list);
    if (*count < 1 || *count > ITEMS_MAX) {
        return conf_fail(&r->conf, "%s: expected a list of 1 to %d", what, ITEMS_MAX);
    }
    *items = base_arena_alloc(&r->devices->arena, (size_t)*count * item);
    return *items ? STN_OK : sim_reader_fail_memory(r);
}

static enum stn_status read_power(struct sim_reader *r, const struct conf_value *value,
                                  struct sim_device_power *out)
{
    enum stn_status status =
        conf_read_map(&r->conf, value, power_keys, "power: {idle: 20, busy: 85}", "", out);
    if (status != STN_OK) {
        return status;
    }
    if (out->busy_w < out->idle_w) {
        return conf_fail(&r->conf, "power: busy, %g W, is less than idle, %g W", out->busy_w,
                         out->idle_w);
    }
    return sim_reader_keep(r, &out->source) ? STN_OK : sim_reader_fail_memory(r);
}

static enum stn_status read_link(struct sim_reader *r, const struct conf_value *value,
                                 struct sim_device_link *out)
{
    enum stn_status status =
        conf_read_map(&r->conf, value, link_keys, "link: {bytes_per_s: 117e6}", "", out);
    if (status != STN_OK) {
        return status;
    }
    if (!(out->bytes_per_s > 0.0)) {
        return conf_fail(&r->conf, "link: bytes_per_s is missing, as bytes_per_s: 117e6");
    }
    return sim_reader_keep(r, &out->source) ? STN_OK : sim_reader_fail_memory(r);
}

static enum stn_status read_speed(struct sim_reader *r, const struct conf_value *value,
                                  const struct sim_speed *previous, struct sim_speed *out)
{
    enum stn_status status = conf_read_map(&r->conf, value, speed_keys,
                                           "a speed as {batch: 25, images_per_s: 3.08}", "", out);
    if (status != STN_OK) {
        return status;
    }
    if (out->batch == 0 || !(out->images_per_s > 0.0)) {
        return conf_fail(&r->conf, "expected both batch and images_per_s");
    }
    if (previous && out->batch <= previous->batch) {
        return conf_fail(&r->conf, "batch: %d after %d: expected rising batches", out->batch,
                         previous->batch);
    }
    if (previous && out->batch / out->images_per_s < previous->batch / previous->images_per_s) {
        return conf_fail(&r->conf, "a step of %d images is said to be shorter than one of %d",
                         out->batch, previous->batch);
    }
    return sim_reader_keep(r, &out->source) ? STN_OK : sim_reader_fail_memory(r);
}

// The line that fits the speeds; of one alone, the one through the origin.
static enum stn_status fit_line(struct sim_reader *r, struct sim_device_net *net)
{
    if (net->speed_count == 1) {
        net->line = (struct plan_line){.each_s = 1.0 / net->speeds[0].images_per_s};
        return STN_OK;
    }
    struct plan_point *points =
        base_arena_alloc(&r->devices->arena, (size_t)net->speed_count * sizeof(*points));
    if (!points) {
        return sim_reader_fail_memory(r);
    }
    for (int i = 0; i < net->speed_count; i++) {
        points[i].micro_batches = net->speeds[i].batch;
        points[i].speed = net->speeds[i].images_per_s;
    }
    struct plan_curve curve;
    enum stn_status status = plan_curve_from_points(points, net->speed_count, &curve);
    if (status == STN_OK) {
        net->line = curve.line;
    }
    return status;
}

static enum stn_status read_speeds(struct sim_reader *r, const struct conf_value *list,
                                   struct sim_device_net *net)
{
    enum stn_status status = start_list(r, list, "speeds", sizeof(*net->speeds),
                                        (void **)&net->speeds, &net->speed_count);
    for (int i = 0; i < net->speed_count && status == STN_OK; i++) {
        struct sim_speed *previous = i > 0 ? &net->speeds[i - 1] : NULL;
        status = read_speed(r, conf_at(&r->conf, list, i), previous, &net->speeds[i]);
    }
    return status == STN_OK ? fit_line(r, net) : status;
}

static enum stn_status read_net(struct sim_reader *r, const struct conf_value *value,
                                struct sim_device_net *out)
{
    struct net_entry entry = {0};
    enum stn_status status = conf_read_map(&r->conf, value, net_keys,
                                           "a network as \"- net: mobilenet_v2\"", "", &entry);
    if (status != STN_OK) {
        return status;
    }
    if (!entry.net.net) {
        return conf_fail(&r->conf, "net is missing, as net: mobilenet_v2");
    }
    if ((entry.net.line.each_s > 0.0) == (entry.speeds != NULL)) {
        return conf_fail(&r->conf, "%.80s: expected either speeds or each_s", entry.net.net);
    }
    *out = entry.net;
    if (!sim_reader_keep(r, &out->net) || !sim_reader_keep(r, &out->source)) {
        return sim_reader_fail_memory(r);
    }
    return entry.speeds ? read_speeds(r, entry.speeds, out) : STN_OK;
}

static enum stn_status read_nets(struct sim_reader *r, const struct conf_value *list,
                                 struct sim_device *device)
{
    enum stn_status status = start_list(r, list, "networks", sizeof(*device->nets),
                                        (void **)&device->nets, &device->net_count);
    int wanted = device->net_count;
    device->net_count = 0;
    for (int i = 0; i < wanted && status == STN_OK; i++) {
        const struct conf_value *value = conf_at(&r->conf, list, i);
        struct sim_device_net *net = &device->nets[i];
        status = read_net(r, value, net);
        if (status == STN_OK && sim_device_find_net(device, net->net)) {
            conf_go(&r->conf, value);
            status =
                conf_fail(&r->conf, "net: '%.80s' is given twice for %s", net->net, device->name);
        }
        device->net_count = i + 1;
    }
    return status;
}

// ---- the list ----------------------------------------------------------------------------------

static enum stn_status read_device(struct sim_reader *r, const struct conf_value *value,
                                   struct sim_device *out)
{
    struct device_entry entry = {0};
    enum stn_status status =
        conf_read_map(&r->conf, value, device_keys, "a device as \"- name: newport\"", "", &entry);
    if (status != STN_OK) {
        return status;
    }
    const char *missing = !entry.device.name ? "name"
                          : !entry.link      ? "link"
                          : !entry.networks  ? "networks"
                                             : NULL;
    if (missing) {
        return conf_fail(&r->conf, "%s is missing", missing);
    }
    if (sim_devices_find(r->devices, entry.device.name)) {
        return conf_fail(&r->conf, "name: '%.80s' is a device already", entry.device.name);
    }
    *out = entry.device;
    if (!sim_reader_keep(r, &out->name) || !sim_reader_keep(r, &out->title)) {
        return sim_reader_fail_memory(r);
    }
    if (entry.power) {
        status = read_power(r, entry.power, &out->power);
    }
    if (status == STN_OK) {
        status = read_link(r, entry.link, &out->link);
    }
    return status == STN_OK ? read_nets(r, entry.networks, out) : status;
}

static enum stn_status read_devices(struct sim_reader *r)
{
    const struct conf_value *list = NULL;
    enum stn_status status =
        conf_read_map(&r->conf, conf_root(&r->conf), top_keys,
                      "\"devices:\" with a list of devices below it", "", &list);
    if (status != STN_OK) {
        return status;
    }
    int count = list ? conf_count(list) : -1;
    if (count < 1 || count > ITEMS_MAX - r->devices->count) {
        return conf_fail(&r->conf, "devices: expected a list of 1 to %d", ITEMS_MAX);
    }
    status = sim_reader_reserve(r, count);
    for (int i = 0; i < count && status == STN_OK; i++) {
        struct sim_device *device = &r->devices->devices[r->devices->count];
        status = read_device(r, conf_at(&r->conf, list, i), device);
        r->devices->count += status == STN_OK;
    }
    return status;
}

// ---- files -------------------------------------------------------------------------------------

enum stn_status sim_reader_fail_memory(const struct sim_reader *r)
{
    return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for its devices", r->conf.label);
}

bool sim_reader_keep(struct sim_reader *r, const char **text)
{
    if (*text) {
        *text = base_arena_strdup(&r->devices->arena, *text);
        return *text != NULL;
    }
    return true;
}

enum stn_status sim_reader_reserve(struct sim_reader *r, int count)
{
    struct sim_devices *devices = r->devices;
    size_t all = (size_t)devices->count + (size_t)count;
    struct sim_device *room = base_arena_alloc(&devices->arena, all * sizeof(*room));
    if (!room) {
        return sim_reader_fail_memory(r);
    }
    if (devices->count > 0) {
        memcpy(room, devices->devices, (size_t)devices->count * sizeof(*room));
    }
    devices->devices = room;
    return STN_OK;
}

static enum stn_status read_plan(struct sim_reader *r, const char *text, size_t bytes)
{
    struct stn_plan *plan;
    enum stn_status status = planfile_parse(text, bytes, r->conf.label, &plan);
    if (status == STN_OK) {
        status = sim_reader_add_plan(r, plan);
        stn_plan_destroy(plan);
    }
    return status;
}

enum stn_status sim_devices_add_text(struct sim_devices *devices, const char *text, size_t bytes,
                                     const char *label)
{
    struct sim_reader r = {.conf = {.label = label}, .devices = devices};
    if (planfile_is(text, bytes)) {
        return read_plan(&r, text, bytes);
    }
    enum stn_status status = conf_parse(text, bytes, label, &r.conf);
    if (status == STN_OK) {
        status = read_devices(&r);
        conf_fini(&r.conf);
    }
    return status;
}

enum stn_status sim_devices_add_file(struct sim_devices *devices, const char *path)
{
    char *text;
    size_t bytes;
    enum stn_status status = conf_load_text(path, "device file", &text, &bytes);
    if (status == STN_OK) {
        status = sim_devices_add_text(devices, text, bytes, path);
        free(text);
    }
    return status;
}
