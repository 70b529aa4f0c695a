// SPDX-License-Identifier: Apache-2.0
// A cluster as a cluster file.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "conf/conf.h"

static void write_count(struct conf_writer *writer, const char *key, size_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%zu", value);
    if (value > 0) {
        conf_writer_pair(writer, key, text);
    }
}

static void write_text(struct conf_writer *writer, const char *key, const char *value)
{
    if (value) {
        conf_writer_pair(writer, key, value);
    }
}

// Writes as few digits as give the same number when they are read.
static void write_cpus(struct conf_writer *writer, double value)
{
    char text[40];
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value) {
        snprintf(text, sizeof(text), "%.17g", value);
    }
    if (value != 0) {
        conf_writer_pair(writer, "cpus", text);
    }
}

// A folder whose name is a number would be read as a number of samples (cluster/entry.c).
static void write_private(struct conf_writer *writer, const char *folder)
{
    char path[PATH_MAX];
    if (folder && folder[strspn(folder, "0123456789")] == '\0') {
        snprintf(path, sizeof(path), "./%s", folder);
        folder = path;
    }
    write_text(writer, "private", folder);
}

static void write_node(struct conf_writer *writer, const struct cluster_node *node)
{
    conf_writer_item(writer);
    conf_writer_pair(writer, "name", node->name);
    write_text(writer, "host", node->host);
    write_count(writer, "threads", (size_t)node->threads);
    write_cpus(writer, node->cpus);
    write_count(writer, "memory", node->memory);
    write_count(writer, "max_batch", (size_t)node->max_batch);
    write_private(writer, node->private_dir);
    write_text(writer, "power", node->power);
}

enum stn_status cluster_format(const struct cluster *cluster, char **out)
{
    struct conf_writer *writer = conf_writer_create();
    if (writer) {
        conf_writer_list(writer, "nodes");
    }
    for (int i = 0; i < cluster->count && writer; i++) {
        write_node(writer, &cluster->nodes[i]);
    }
    return conf_writer_finish(writer, "cluster", out);
}
