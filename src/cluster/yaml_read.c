// SPDX-License-Identifier: Apache-2.0
// The cluster file. libyaml makes a document of it, whose nodes know their lines; the rows below say which keys an entry
// may have and what their values look like.
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/number.h"
#include "base/option.h"
#include "cluster/build.h"

enum { FILE_BYTES_MAX = 16 << 20 };

struct entry {
    struct cluster_node node;
    int count;
};

enum kind { TEXT, WHOLE, CPUS, BYTES };

struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    int max; // WHOLE, from 1
};

static const struct key keys[] = {
    {"name", TEXT, offsetof(struct entry, node.name), 0},
    {"host", TEXT, offsetof(struct entry, node.host), 0},
    {"threads", WHOLE, offsetof(struct entry, node.threads), 1024},
    {"cpus", CPUS, offsetof(struct entry, node.cpus), 0},
    {"memory", BYTES, offsetof(struct entry, node.memory), 0},
    {"max_batch", WHOLE, offsetof(struct entry, node.max_batch), 1000000},
    {"private", TEXT, offsetof(struct entry, node.private_dir), 0},
    {"count", WHOLE, offsetof(struct entry, count), CLUSTER_NODES_MAX},
};
enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

// ---- scalars --------------------------------------------------------------------------------------------

static int line_of(const yaml_node_t *node)
{
    return (int)node->start_mark.line + 1;
}

// The text of a scalar, or NULL: no scalar, empty, or with control characters, which no value needs.
static const char *text_of(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.length == 0) {
        return NULL;
    }
    const char *text = (const char *)node->data.scalar.value;
    for (size_t i = 0; i < node->data.scalar.length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == '\x7f') {
            return NULL;
        }
    }
    return text;
}

static enum stn_status fail_key(struct cluster_build *build, const char *text,
                                const char *const *names)
{
    const char *meant = base_did_you_mean(text, names);
    if (meant) {
        return cluster_fail(build, "'%.80s': unknown key; did you mean %s?", text, meant);
    }
    char list[160] = "";
    size_t used = 0;
    for (int i = 0; names[i]; i++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    return cluster_fail(build, "'%.80s': unknown key; there is %s", text, list);
}

static enum stn_status find_key(struct cluster_build *build, const yaml_node_t *node,
                                const struct key **out)
{
    const char *names[KEY_COUNT + 1] = {NULL};
    const char *text = text_of(node);
    build->line = line_of(node);
    if (!text) {
        return cluster_fail(build, "expected a key, as name: or host:");
    }
    for (int i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].name;
        if (strcmp(text, keys[i].name) == 0) {
            *out = &keys[i];
            return STN_OK;
        }
    }
    return fail_key(build, text, names);
}

static enum stn_status fail_value(struct cluster_build *build, const struct key *key,
                                  const char *text)
{
    switch (key->kind) {
    case WHOLE:
        return cluster_fail(build, "%s: '%.80s': expected a whole number from 1 to %d", key->name,
                            text, key->max);
    case CPUS:
        return cluster_fail(build, "%s: '%.80s': expected a number of CPUs as 0.25 or 2", key->name,
                            text);
    case BYTES:
        return cluster_fail(build, "%s: '%.80s': expected a size as 512M or 4G", key->name, text);
    case TEXT: break;
    }
    return cluster_fail(build, "%s: expected one line of text", key->name);
}

static enum stn_status store_value(struct cluster_build *build, const struct key *key,
                                   const yaml_node_t *node, struct entry *entry)
{
    void *field = (char *)entry + key->offset;
    const char *text = text_of(node);
    int64_t whole;
    build->line = line_of(node);
    if (!text) {
        return cluster_fail(build, "%s: expected one value on one line", key->name);
    }
    switch (key->kind) {
    case TEXT: *(const char **)field = text; return STN_OK;
    case WHOLE:
        if (base_parse_int64(text, &whole) == 0 && whole >= 1 && whole <= key->max) {
            *(int *)field = (int)whole;
            return STN_OK;
        }
        break;
    case CPUS:
        if (base_parse_real(text, field) == 0 && *(double *)field > 0) {
            return STN_OK;
        }
        break;
    case BYTES:
        if (base_parse_bytes(text, field) == 0 && *(size_t *)field > 0) {
            return STN_OK;
        }
        break;
    }
    return fail_value(build, key, text);
}

// ---- structure ------------------------------------------------------------------------------------------

static enum stn_status read_entry(struct cluster_build *build, yaml_document_t *document,
                                  const yaml_node_t *node)
{
    struct entry entry = {.count = 1};
    bool seen[KEY_COUNT] = {false};
    build->line = line_of(node);
    if (node->type != YAML_MAPPING_NODE) {
        return cluster_fail(build, "expected a node as \"- name: host\"");
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const struct key *key = NULL;
        enum stn_status status = find_key(build, yaml_document_get_node(document, pair->key), &key);
        if (status != STN_OK) {
            return status;
        }
        if (seen[key - keys]) {
            return cluster_fail(build, "%s: given twice for one node", key->name);
        }
        seen[key - keys] = true;
        status = store_value(build, key, yaml_document_get_node(document, pair->value), &entry);
        if (status != STN_OK) {
            return status;
        }
    }
    build->line = line_of(node);
    if (entry.node.private_dir && entry.count > 1) {
        return cluster_fail(build, "private: belongs to one node, not to count: %d of them",
                            entry.count);
    }
    if (entry.node.host && entry.node.cpus > 0) {
        return cluster_fail(build, "cpus: only nodes of this machine can be confined, and this one "
                                   "has a host");
    }
    return cluster_build_add(build, &entry.node, entry.count);
}

// The list below the one key at the top, "nodes".
static enum stn_status find_list(struct cluster_build *build, yaml_document_t *document,
                                 const yaml_node_t **out)
{
    static const char *const names[] = {"nodes", NULL};
    const yaml_node_t *root = yaml_document_get_root_node(document);
    build->line = root ? line_of(root) : 1;
    if (!root || root->type != YAML_MAPPING_NODE) {
        return cluster_fail(build, "expected \"nodes:\" with a list of nodes below it");
    }
    *out = NULL;
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(document, pair->key);
        const char *text = text_of(key);
        build->line = line_of(key);
        if (!text || strcmp(text, names[0]) != 0) {
            return fail_key(build, text ? text : "?", names);
        }
        if (*out) {
            return cluster_fail(build, "nodes: given twice");
        }
        *out = yaml_document_get_node(document, pair->value);
    }
    if (!*out || (*out)->type != YAML_SEQUENCE_NODE) {
        return cluster_fail(build, "nodes: expected a list, as \"- name: host\"");
    }
    return STN_OK;
}

static enum stn_status read_document(struct cluster_build *build, yaml_document_t *document)
{
    const yaml_node_t *list = NULL;
    enum stn_status status = find_list(build, document, &list);
    if (status != STN_OK) {
        return status;
    }
    for (yaml_node_item_t *item = list->data.sequence.items.start;
         item < list->data.sequence.items.top && status == STN_OK; item++) {
        status = read_entry(build, document, yaml_document_get_node(document, *item));
    }
    return status;
}

static enum stn_status fail_syntax(struct cluster_build *build, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory to read it", build->label);
    }
    // What is wrong in the bytes themselves has no mark yet: the reader is ahead of the scanner.
    bool bytes = parser->error == YAML_READER_ERROR;
    build->line = (int)(bytes ? parser->mark.line : parser->problem_mark.line) + 1;
    return cluster_fail(build, "%s", parser->problem ? parser->problem : "not YAML");
}

// A second document in the file would be ignored silently; it is refused.
static enum stn_status check_end(struct cluster_build *build, yaml_parser_t *parser)
{
    yaml_document_t document;
    if (!yaml_parser_load(parser, &document)) {
        return fail_syntax(build, parser);
    }
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    build->line = root ? line_of(root) : 0;
    yaml_document_delete(&document);
    return root ? cluster_fail(build, "a second document; expected one") : STN_OK;
}

enum stn_status cluster_parse_yaml(const char *text, size_t bytes, const char *label,
                                   struct cluster *out)
{
    struct cluster_build build = {.label = label};
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser)) {
        enum stn_status status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory to read it", label);
        return cluster_build_end(&build, status, out);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    enum stn_status status;
    if (yaml_parser_load(&parser, &document)) {
        status = read_document(&build, &document);
        if (status == STN_OK) {
            status = check_end(&build, &parser);
        }
        yaml_document_delete(&document);
    } else {
        status = fail_syntax(&build, &parser);
    }
    yaml_parser_delete(&parser);
    return cluster_build_end(&build, status, out);
}

// ---- the file -------------------------------------------------------------------------------------------

enum stn_status cluster_load(const char *path, struct cluster *out)
{
    *out = (struct cluster){0};
    FILE *f = fopen(path, "re");
    if (!f) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: cannot read the cluster file: %s", path,
                        strerror(errno));
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    size_t bytes = text ? fread(text, 1, FILE_BYTES_MAX + 1, f) : 0;
    int error = ferror(f) ? errno : 0;
    fclose(f);
    enum stn_status status;
    if (!text) {
        status = stn_fail(STN_ERR_NO_MEMORY, "%s: no memory to read it", path);
    } else if (error) {
        status =
            stn_fail(STN_ERR_IO, "%s: cannot read the cluster file: %s", path, strerror(error));
    } else if (bytes > FILE_BYTES_MAX) {
        status = stn_fail(STN_ERR_INVALID, "%s: larger than %d MiB; is it a cluster file?", path,
                          FILE_BYTES_MAX >> 20);
    } else {
        status = cluster_parse_yaml(text, bytes, path, out);
    }
    free(text);
    return status;
}
