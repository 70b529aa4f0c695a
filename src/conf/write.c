// SPDX-License-Identifier: Apache-2.0
// Builds a document, which libyaml writes with the quoting that it needs.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conf/yaml.h"

struct text {
    char *bytes;
    size_t length, capacity;
};

struct conf_writer {
    struct conf_document document;
    int root, list, item; // ids of libyaml
    bool failed;
};

// ---- building ----------------------------------------------------------------------------------

// libyaml's functions give 0 for failure, and take no const.
static int add_scalar(struct conf_writer *writer, const char *value)
{
    char *copy = strdup(value);
    int id = copy ? yaml_document_add_scalar(&writer->document.yaml, NULL, (yaml_char_t *)copy, -1,
                                             YAML_ANY_SCALAR_STYLE)
                  : 0;
    free(copy);
    writer->failed = writer->failed || id == 0;
    return id;
}

static void append_pair(struct conf_writer *writer, int map, int key, int value)
{
    writer->failed = writer->failed || !key || !value ||
                     !yaml_document_append_mapping_pair(&writer->document.yaml, map, key, value);
}

struct conf_writer *conf_writer_create(void)
{
    struct conf_writer *writer = calloc(1, sizeof(*writer));
    if (!writer || !yaml_document_initialize(&writer->document.yaml, NULL, NULL, NULL, 1, 1)) {
        free(writer);
        return NULL;
    }
    writer->root =
        yaml_document_add_mapping(&writer->document.yaml, NULL, YAML_BLOCK_MAPPING_STYLE);
    writer->failed = writer->root == 0;
    return writer;
}

void conf_writer_list(struct conf_writer *writer, const char *key)
{
    if (!writer->failed) {
        writer->list =
            yaml_document_add_sequence(&writer->document.yaml, NULL, YAML_BLOCK_SEQUENCE_STYLE);
        append_pair(writer, writer->root, add_scalar(writer, key), writer->list);
    }
}

void conf_writer_item(struct conf_writer *writer)
{
    if (!writer->failed) {
        yaml_document_t *yaml = &writer->document.yaml;
        writer->item = yaml_document_add_mapping(yaml, NULL, YAML_BLOCK_MAPPING_STYLE);
        writer->failed =
            !writer->item || !yaml_document_append_sequence_item(yaml, writer->list, writer->item);
    }
}

void conf_writer_pair(struct conf_writer *writer, const char *key, const char *value)
{
    if (!writer->failed) {
        int key_id = add_scalar(writer, key);
        append_pair(writer, writer->item, key_id, add_scalar(writer, value));
    }
}

// ---- writing -----------------------------------------------------------------------------------

// libyaml's callback; 1 is success.
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

// Deletes the document, also when it fails.
static bool emit(yaml_document_t *document, struct text *text)
{
    yaml_emitter_t emitter;
    if (!yaml_emitter_initialize(&emitter)) {
        yaml_document_delete(document);
        return false;
    }
    yaml_emitter_set_output(&emitter, append, text);
    yaml_emitter_set_width(&emitter, -1);
    bool opened = yaml_emitter_open(&emitter);
    if (!opened) {
        yaml_document_delete(document);
    }
    bool ok = opened && yaml_emitter_dump(&emitter, document) && yaml_emitter_close(&emitter);
    yaml_emitter_delete(&emitter);
    return ok;
}

enum stn_status conf_writer_finish(struct conf_writer *writer, const char *what, char **out)
{
    struct text text = {0};
    bool ok = writer && !writer->failed;
    if (ok) {
        ok = emit(&writer->document.yaml, &text);
    } else if (writer) {
        yaml_document_delete(&writer->document.yaml);
    }
    free(writer);
    if (!ok) {
        free(text.bytes);
        *out = NULL;
        return stn_fail(STN_ERR_INVALID,
                        "cannot write the %s as YAML: a text in it is not UTF-8, or memory is out",
                        what);
    }
    *out = text.bytes;
    return STN_OK;
}
