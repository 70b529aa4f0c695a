// SPDX-License-Identifier: Apache-2.0
#include "cluster/build.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

enum stn_status cluster_fail(const struct cluster_build *build, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (build->line > 0) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: %s", build->label, build->line, text);
    }
    return stn_fail(STN_ERR_INVALID, "%s: %s", build->label, text);
}

static enum stn_status fail_memory(const struct cluster_build *build)
{
    return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for %d nodes", build->label,
                    build->cluster.count);
}

// Whether this is a name: ssh and mpirun would take one with a leading dash for an option.
static bool is_word(const char *text, size_t length)
{
    return length > 0 && *text != '-' && strspn(text, letters) >= length;
}

// [USER@]HOST
static bool is_host(const char *text)
{
    const char *at = strchr(text, '@'), *host = at ? at + 1 : text;
    return (!at || is_word(text, (size_t)(at - text))) && is_word(host, strlen(host));
}

static enum stn_status check_texts(const struct cluster_build *build,
                                   const struct cluster_node *node)
{
    if (node->host && !is_host(node->host)) {
        return cluster_fail(build, "host: '%.80s': expected a host's name or address", node->host);
    }
    if (node->name && !is_word(node->name, strlen(node->name))) {
        return cluster_fail(build, "name: '%.80s': expected letters, digits, '.', '_' and '-'",
                            node->name);
    }
    return STN_OK;
}

void cluster_default_name(const char *host, char *name, size_t size)
{
    if (host) {
        const char *at = strchr(host, '@');
        snprintf(name, size, "%s", at ? at + 1 : host);
    } else if (gethostname(name, size - 1) != 0 || !is_word(name, strlen(name))) {
        snprintf(name, size, "localhost");
    }
}

// Makes room. An arena frees nothing before its end; as the room doubles, what is left behind is
// less than what is used in the end.
static bool reserve(struct cluster_build *build, int count)
{
    if (count <= build->capacity) {
        return true;
    }
    struct cluster *cluster = &build->cluster;
    int capacity = count > 2 * build->capacity ? count : 2 * build->capacity;
    struct cluster_node *nodes =
        base_arena_alloc(&cluster->arena, (size_t)capacity * sizeof(*nodes));
    int *lines = base_arena_alloc(&cluster->arena, (size_t)capacity * sizeof(*lines));
    if (!nodes || !lines) {
        return false;
    }
    if (cluster->count > 0) {
        memcpy(nodes, cluster->nodes, (size_t)cluster->count * sizeof(*nodes));
        memcpy(lines, build->lines, (size_t)cluster->count * sizeof(*lines));
    }
    cluster->nodes = nodes;
    build->lines = lines;
    build->capacity = capacity;
    return true;
}

static enum stn_status append(struct cluster_build *build, const struct cluster_node *node,
                              const char *name)
{
    struct cluster *cluster = &build->cluster;
    struct base_arena *arena = &cluster->arena;
    struct cluster_node *added = &cluster->nodes[cluster->count];
    *added = *node;
    added->name = base_arena_strdup(arena, name);
    added->host = node->host ? base_arena_strdup(arena, node->host) : NULL;
    added->private_dir = node->private_dir ? base_arena_strdup(arena, node->private_dir) : NULL;
    added->power = node->power ? base_arena_strdup(arena, node->power) : NULL;
    if (!added->name || !added->host != !node->host || !added->private_dir != !node->private_dir ||
        !added->power != !node->power) {
        return fail_memory(build);
    }
    build->lines[cluster->count++] = build->line;
    return STN_OK;
}

enum stn_status cluster_build_add(struct cluster_build *build, const struct cluster_node *node,
                                  int count)
{
    enum stn_status status = check_texts(build, node);
    if (status != STN_OK) {
        return status;
    }
    if (count > CLUSTER_NODES_MAX - build->cluster.count) {
        return cluster_fail(build, "more than %d nodes", CLUSTER_NODES_MAX);
    }
    char base[256] = "", name[sizeof(base) + 16];
    cluster_default_name(node->host, base, sizeof(base));
    if (node->name) {
        snprintf(base, sizeof(base), "%s", node->name);
    }
    if (!reserve(build, build->cluster.count + count)) {
        return fail_memory(build);
    }
    for (int i = 0; i < count && status == STN_OK; i++) {
        snprintf(name, sizeof(name), "%s", base);
        if (count > 1) {
            snprintf(name, sizeof(name), "%s.%d", base, i);
        }
        if (strlen(name) > CLUSTER_NAME_MAX) {
            return cluster_fail(build, "name: '%.80s': longer than %d characters", name,
                                CLUSTER_NAME_MAX);
        }
        status = append(build, node, name);
    }
    return status;
}

// ---- the end -----------------------------------------------------------------------------------

// By name; equal ones in the order they were given.
static int compare_names(const void *left, const void *right)
{
    const struct cluster_node *a = *(struct cluster_node *const *)left;
    const struct cluster_node *b = *(struct cluster_node *const *)right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a > b) - (a < b);
}

static enum stn_status fail_twice(struct cluster_build *build, int first, int second)
{
    const char *name = build->cluster.nodes[second].name;
    build->line = build->lines[second];
    if (build->line > 0) {
        return cluster_fail(build, "name: '%s' is already the node of line %d", name,
                            build->lines[first]);
    }
    char example[CLUSTER_NAME_MAX + 32];
    snprintf(example, sizeof(example), "%s%s", name, build->repeat);
    return cluster_fail(build, "'%s' is given twice; several nodes alike are written %s", name,
                        example);
}

static enum stn_status check_unique(struct cluster_build *build)
{
    struct cluster *cluster = &build->cluster;
    struct cluster_node **sorted = calloc((size_t)cluster->count + 1, sizeof(*sorted));
    if (!sorted) {
        return fail_memory(build);
    }
    for (int i = 0; i < cluster->count; i++) {
        sorted[i] = &cluster->nodes[i];
    }
    qsort(sorted, (size_t)cluster->count, sizeof(struct cluster_node *), compare_names);
    enum stn_status status = STN_OK;
    for (int i = 1; i < cluster->count && status == STN_OK; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            status = fail_twice(build, (int)(sorted[i - 1] - cluster->nodes),
                                (int)(sorted[i] - cluster->nodes));
        }
    }
    free(sorted);
    return status;
}

enum stn_status cluster_build_end(struct cluster_build *build, enum stn_status status,
                                  struct cluster *out)
{
    if (status == STN_OK && build->cluster.count == 0) {
        status = cluster_fail(build, "there are no nodes");
    }
    if (status == STN_OK) {
        status = check_unique(build);
    }
    if (status != STN_OK) {
        cluster_fini(&build->cluster);
        *out = (struct cluster){0};
        return status;
    }
    *out = build->cluster;
    return STN_OK;
}
