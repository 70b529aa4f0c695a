// SPDX-License-Identifier: Apache-2.0
// The cluster file, as a training reads it: of each entry what concerns real nodes.
#include <stddef.h>

#include "cluster/build.h"
#include "cluster/entry.h"
#include "conf/conf.h"

static enum stn_status read_entry(struct conf *conf, const struct conf_value *value,
                                  struct cluster_build *build)
{
    struct cluster_entry entry;
    enum stn_status status = cluster_entry_read(conf, value, &entry);
    if (status != STN_OK) {
        return status;
    }
    if (entry.private_dir && entry.count > 1) {
        return conf_fail(conf, "private: belongs to one node, not to count: %d of them",
                         entry.count);
    }
    if (entry.host && entry.cpus > 0) {
        return conf_fail(conf, "cpus: only nodes of this machine can be confined, and this one "
                               "has a host");
    }
    const struct cluster_node node = {
        .name = entry.name,
        .host = entry.host,
        .threads = entry.threads,
        .cpus = entry.cpus,
        .memory = entry.memory,
        .max_batch = entry.max_batch,
        .private_dir = entry.private_dir,
        .power = entry.power,
    };
    build->line = conf->line;
    return cluster_build_add(build, &node, entry.count);
}

// Reads the list below "nodes", the only key at the top.
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

// `status` is that of making a document of the text.
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
