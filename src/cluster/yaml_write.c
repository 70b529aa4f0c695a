// SPDX-License-Identifier: Apache-2.0
// A cluster as a cluster file: a document is built and libyaml writes it, with the quoting it
// needs.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "cluster/cluster.h"

struct text {
    char *bytes;
    size_t length, capacity;
};

// For libyaml: 1 is success.
static int append(void *context, unsigned char *buffer, size_t size)
{
    struct text *text = context;
    size_t needed = text->length + size + 1;
    if (needed > text->capacity) {
        size_t capacity = needed > 2 * text->capacity ? needed : 2 * text->capacity;
        char *bytes = realloc(text->bytes, capacity);
        if (!bytes) {
            return 0;
        }
        text->bytes = bytes;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, buffer, size);
    text->length += size;
    text->bytes[text->length] = '\0';
    return 1;
}

// libyaml's functions give 0 for failure, and take no const.
static int add_scalar(yaml_document_t *document, const char *value)
{
    char *copy = strdup(value);
    int id = copy ? yaml_document_add_scalar(document, NULL, (yaml_char_t *)copy, -1,
                                             YAML_ANY_SCALAR_STYLE)
                  : 0;
    free(copy);
    return id;
}

static bool add_pair(yaml_document_t *document, int mapping, const char *key, const char *value)
{
    int key_id = add_scalar(document, key);
    int value_id = key_id ? add_scalar(document, value) : 0;
    return value_id && yaml_document_append_mapping_pair(document, mapping, key_id, value_id);
}

static bool add_count(yaml_document_t *document, int mapping, const char *key, size_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%zu", value);
    return value == 0 || add_pair(document, mapping, key, text);
}

// As few digits as give the same number back.
static bool add_cpus(yaml_document_t *document, int mapping, double value)
{
    char text[40];
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value) {
        snprintf(text, sizeof(text), "%.17g", value);
    }
    return value == 0 || add_pair(document, mapping, "cpus", text);
}

static bool add_node(yaml_document_t *document, int list, const struct cluster_node *node)
{
    int mapping = yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE);
    return mapping && yaml_document_append_sequence_item(document, list, mapping) &&
           add_pair(document, mapping, "name", node->name) &&
           (!node->host || add_pair(document, mapping, "host", node->host)) &&
           add_count(document, mapping, "threads", (size_t)node->threads) &&
           add_cpus(document, mapping, node->cpus) &&
           add_count(document, mapping, "memory", node->memory) &&
           add_count(document, mapping, "max_batch", (size_t)node->max_batch) &&
           (!node->private_dir || add_pair(document, mapping, "private", node->private_dir));
}

static bool fill(yaml_document_t *document, const struct cluster *cluster)
{
    int root = yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE);
    int key = root ? add_scalar(document, "nodes") : 0;
    int list = key ? yaml_document_add_sequence(document, NULL, YAML_BLOCK_SEQUENCE_STYLE) : 0;
    if (!list || !yaml_document_append_mapping_pair(document, root, key, list)) {
        return false;
    }
    for (int i = 0; i < cluster->count; i++) {
        if (!add_node(document, list, &cluster->nodes[i])) {
            return false;
        }
    }
    return true;
}

static bool dump(yaml_emitter_t *emitter, const struct cluster *cluster)
{
    yaml_document_t document;
    if (!yaml_document_initialize(&document, NULL, NULL, NULL, 1, 1)) {
        return false;
    }
    if (!fill(&document, cluster)) {
        yaml_document_delete(&document);
        return false;
    }
    return yaml_emitter_dump(emitter, &document); // which deletes it, whatever happens
}

static bool emit(const struct cluster *cluster, struct text *text)
{
    yaml_emitter_t emitter;
    if (!yaml_emitter_initialize(&emitter)) {
        return false;
    }
    yaml_emitter_set_output(&emitter, append, text);
    yaml_emitter_set_width(&emitter, -1);
    bool ok =
        yaml_emitter_open(&emitter) && dump(&emitter, cluster) && yaml_emitter_close(&emitter);
    yaml_emitter_delete(&emitter);
    return ok;
}

enum stn_status cluster_format(const struct cluster *cluster, char **out)
{
    struct text text = {0};
    if (!emit(cluster, &text)) {
        free(text.bytes);
        *out = NULL;
        return stn_fail(STN_ERR_INVALID, "cannot write the cluster as YAML: a path is not UTF-8, "
                                         "or memory is out");
    }
    *out = text.bytes;
    return STN_OK;
}
