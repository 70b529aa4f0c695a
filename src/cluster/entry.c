// SPDX-License-Identifier: Apache-2.0
#include "cluster/entry.h"

#include <float.h>
#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "cluster/build.h"

enum { LOADS_MAX = 1000, COUNT_MAX = 1000000000, THREADS_MAX = 1024 };

// Generous bounds, for slips of units.
#define SECONDS_MAX     1e6
#define BYTES_PER_S_MAX 1e15
#define FACTOR_MAX      1e6

#define END                                                                                        \
    {                                                                                              \
        NULL, CONF_TEXT, 0, 0, 0, NULL                                                             \
    }

// What the table reads into: the entry, and values that are still to be read.
struct raw {
    struct cluster_entry entry;
    const char *private_text;
    const struct conf_value *device, *speed, *link;
};

#define FIELD(name) offsetof(struct raw, name)
static const struct conf_key node_keys[] = {
    {"name", CONF_TEXT, FIELD(entry.name), 0, 0, NULL},
    {"host", CONF_TEXT, FIELD(entry.host), 0, 0, NULL},
    {"threads", CONF_WHOLE, FIELD(entry.threads), 1, THREADS_MAX, NULL},
    {"cpus", CONF_REAL, FIELD(entry.cpus), DBL_MIN, DBL_MAX, "a number of CPUs as 0.25 or 2"},
    {"memory", CONF_BYTES, FIELD(entry.memory), 0, 0, "a size as 512M or 4G"},
    {"max_batch", CONF_WHOLE, FIELD(entry.max_batch), 1, COUNT_MAX, NULL},
    {"private", CONF_TEXT, FIELD(private_text), 0, 0, NULL},
    {"power", CONF_TEXT, FIELD(entry.power), 0, 0, NULL},
    {"count", CONF_WHOLE, FIELD(entry.count), 1, CLUSTER_NODES_MAX, NULL},
    {"device", CONF_VALUE, FIELD(device), 0, 0, NULL},
    {"speed", CONF_VALUE, FIELD(speed), 0, 0, NULL},
    {"share", CONF_REAL, FIELD(entry.share), 1e-6, FACTOR_MAX,
     "a part of the device's speed, as 0.25"},
    {"private_samples", CONF_WHOLE, FIELD(entry.private_samples), 0, COUNT_MAX, NULL},
    {"noise", CONF_REAL, FIELD(entry.noise), 0, 1, "a part of the time, as 0.02"},
    {"noise_memory", CONF_REAL, FIELD(entry.noise_memory), 0, 0.999, "0 to 0.999"},
    {"spikes", CONF_REAL, FIELD(entry.spikes), 0, 1, "a part of the steps, as 0.01"},
    {"spike_factor", CONF_REAL, FIELD(entry.spike_factor), 1, FACTOR_MAX, "a factor as 3"},
    {"link", CONF_VALUE, FIELD(link), 0, 0, NULL},
    {"per_host", CONF_WHOLE, FIELD(entry.per_host), 1, CLUSTER_NODES_MAX, NULL},
    {"fails_at", CONF_WHOLE, FIELD(entry.fails_at), 1, INT_MAX, NULL},
    {"loads", CONF_VALUE, FIELD(entry.loads), 0, 0, NULL},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct cluster_entry, name)
static const struct conf_key speed_keys[] = {
    {"fixed_s", CONF_REAL, FIELD(speed.fixed_s), 0, SECONDS_MAX, "seconds of a step, 0 or more"},
    {"each_s", CONF_REAL, FIELD(speed.each_s), 1e-12, SECONDS_MAX,
     "seconds of an image, more than 0"},
    END,
};
static const struct conf_key link_keys[] = {
    {"bytes_per_s", CONF_REAL, FIELD(link.bytes_per_s), DBL_MIN, BYTES_PER_S_MAX,
     "bytes a second as 117e6"},
    {"latency_s", CONF_REAL, FIELD(link.latency_s), 0, SECONDS_MAX, "seconds, 0 or more"},
    END,
};
#undef FIELD

#define FIELD(name) offsetof(struct cluster_entry_load, name)
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

// The value of `private` is a folder, or for the simulator, which opens none, a number of samples.
// A folder whose name is a number is written ./500.
static enum stn_status read_private(struct conf *conf, const char *text,
                                    struct cluster_entry *entry)
{
    int64_t samples;
    if (!text || text[strspn(text, "0123456789")] != '\0') {
        entry->private_dir = text;
        return STN_OK;
    }
    if (entry->private_samples > 0) {
        return conf_fail(conf, "private: '%.80s' is a number of samples, and so is private_samples",
                         text);
    }
    if (base_parse_int64(text, &samples) != 0 || samples > COUNT_MAX) {
        return conf_fail(conf, "private: '%.80s': expected a folder, or at most %d samples", text,
                         COUNT_MAX);
    }
    entry->private_samples = (int)samples;
    return STN_OK;
}

static enum stn_status read_device(struct conf *conf, const struct conf_value *value,
                                   struct cluster_entry *entry)
{
    static const struct conf_key key = {"device", CONF_TEXT, 0, 0, 0, NULL};
    enum stn_status status = conf_read_value(conf, value, &key, &entry->device);
    entry->device_line = conf->line;
    return status;
}

static enum stn_status read_speed(struct conf *conf, const struct conf_value *value,
                                  struct cluster_entry *entry)
{
    entry->has_speed = true;
    enum stn_status status =
        conf_read_map(conf, value, speed_keys, "speed: {fixed_s: 0.05, each_s: 0.02}", "", entry);
    if (status == STN_OK && !(entry->speed.each_s > 0.0)) {
        status = conf_fail(conf, "speed: each_s is missing, the seconds of an image");
    }
    return status;
}

static enum stn_status read_link(struct conf *conf, const struct conf_value *value,
                                 struct cluster_entry *entry)
{
    entry->has_link = true;
    return conf_read_map(conf, value, link_keys, "link: {bytes_per_s: 117e6}", "", entry);
}

static enum stn_status check_loads(struct conf *conf, const struct cluster_entry *entry)
{
    int count = 0;
    struct cluster_entry_load load;
    enum stn_status status = cluster_entry_loads(conf, entry, &count);
    for (int i = 0; i < count && status == STN_OK; i++) {
        status = cluster_entry_load(conf, entry, i, &load);
    }
    return status;
}

enum stn_status cluster_entry_read(struct conf *conf, const struct conf_value *value,
                                   struct cluster_entry *out)
{
    struct raw raw = {.entry = {.count = 1, .noise = -1.0, .spike_factor = 3.0}};
    enum stn_status status =
        conf_read_map(conf, value, node_keys, "a node as \"- name: host\"", " for one node", &raw);
    if (status == STN_OK) {
        status = read_private(conf, raw.private_text, &raw.entry);
    }
    if (status == STN_OK && raw.device) {
        status = read_device(conf, raw.device, &raw.entry);
    }
    if (status == STN_OK && raw.speed) {
        status = read_speed(conf, raw.speed, &raw.entry);
    }
    if (status == STN_OK && raw.link) {
        status = read_link(conf, raw.link, &raw.entry);
    }
    if (status == STN_OK) {
        status = check_loads(conf, &raw.entry);
    }
    if (status == STN_OK) {
        conf_go(conf, value);
        *out = raw.entry;
    }
    return status;
}

enum stn_status cluster_entry_loads(struct conf *conf, const struct cluster_entry *entry,
                                    int *count)
{
    *count = 0;
    if (!entry->loads) {
        return STN_OK;
    }
    int there = conf_count(entry->loads);
    conf_go(conf, entry->loads);
    if (there < 1 || there > LOADS_MAX) {
        return conf_fail(conf, "loads: expected a list of 1 to %d", LOADS_MAX);
    }
    *count = there;
    return STN_OK;
}

enum stn_status cluster_entry_load(struct conf *conf, const struct cluster_entry *entry, int index,
                                   struct cluster_entry_load *out)
{
    *out = (struct cluster_entry_load){0};
    return conf_read_map(conf, conf_at(conf, entry->loads, index), load_keys,
                         "a load as {from: 100, to: 200, slowdown: 2}", "", out);
}

void cluster_entry_name(const struct cluster_entry *entry, char *name, size_t size)
{
    cluster_default_name(entry->host, name, size);
}
