// SPDX-License-Identifier: Apache-2.0
// The cluster file. src/conf makes a document of it, whose values know their lines; the rows below
// say which keys an entry may have and what their values look like.
#include <float.h>
#include <stddef.h>

#include "cluster/build.h"
#include "conf/conf.h"

struct entry {
    struct cluster_node node;
    int count;
};

#define FIELD(name) offsetof(struct entry, name)

static const struct conf_key keys[] = {
    {"name", CONF_TEXT, FIELD(node.name), 0, 0, NULL},
    {"host", CONF_TEXT, FIELD(node.host), 0, 0, NULL},
    {"threads", CONF_WHOLE, FIELD(node.threads), 1, 1024, NULL},
    {"cpus", CONF_REAL, FIELD(node.cpus), DBL_MIN, DBL_MAX, "a number of CPUs as 0.25 or 2"},
    {"memory", CONF_BYTES, FIELD(node.memory), 0, 0, "a size as 512M or 4G"},
    {"max_batch", CONF_WHOLE, FIELD(node.max_batch), 1, 1000000, NULL},
    {"private", CONF_TEXT, FIELD(node.private_dir), 0, 0, NULL},
    {"count", CONF_WHOLE, FIELD(count), 1, CLUSTER_NODES_MAX, NULL},
    {NULL, CONF_TEXT, 0, 0, 0, NULL},
};

static enum stn_status read_entry(struct conf *conf, const struct conf_value *value,
                                  struct cluster_build *build)
{
    struct entry entry = {.count = 1};
    enum stn_status status =
        conf_read_map(conf, value, keys, "a node as \"- name: host\"", " for one node", &entry);
    if (status != STN_OK) {
        return status;
    }
    if (entry.node.private_dir && entry.count > 1) {
        return conf_fail(conf, "private: belongs to one node, not to count: %d of them",
                         entry.count);
    }
    if (entry.node.host && entry.node.cpus > 0) {
        return conf_fail(conf, "cpus: only nodes of this machine can be confined, and this one "
                               "has a host");
    }
    build->line = conf->line;
    return cluster_build_add(build, &entry.node, entry.count);
}

// The list below the one key at the top, "nodes".
static enum stn_status read_nodes(struct conf *conf, struct cluster_build *build)
{
    static const struct conf_key top[] = {{"nodes", CONF_VALUE, 0, 0, 0, NULL},
                                          {NULL, CONF_TEXT, 0, 0, 0, NULL}};
    const struct conf_value *list = NULL;
    enum stn_status status = conf_read_map(conf, conf_root(conf), top,
                                           "\"nodes:\" with a list of nodes below it", "", &list);
    if (status != STN_OK) {
        return status;
    }
    if (!list || conf_count(list) < 0) {
        return conf_fail(conf, "nodes: expected a list, as \"- name: host\"");
    }
    for (int i = 0; i < conf_count(list) && status == STN_OK; i++) {
        status = read_entry(conf, conf_at(conf, list, i), build);
    }
    return status;
}

// `status` is what making a document of it came to.
static enum stn_status read_document(enum stn_status status, struct conf *conf, struct cluster *out)
{
    struct cluster_build build = {.label = conf->label};
    if (status == STN_OK) {
        status = read_nodes(conf, &build);
        conf_fini(conf);
    }
    return cluster_build_end(&build, status, out);
}

enum stn_status cluster_parse_yaml(const char *text, size_t bytes, const char *label,
                                   struct cluster *out)
{
    struct conf conf;
    enum stn_status status = conf_parse(text, bytes, label, &conf);
    return read_document(status, &conf, out);
}

enum stn_status cluster_load(const char *path, struct cluster *out)
{
    struct conf conf;
    enum stn_status status = conf_load(path, "cluster file", &conf);
    return read_document(status, &conf, out);
}
