// SPDX-License-Identifier: Apache-2.0
// From text to a document, by libyaml.
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/yaml.h"

enum stn_status conf_fail(const struct conf *conf, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (conf->line > 0) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: %s", conf->label, conf->line, text);
    }
    return stn_fail(STN_ERR_INVALID, "%s: %s", conf->label, text);
}

void conf_go(struct conf *conf, const struct conf_value *value)
{
    conf->line = (int)conf_yaml(value)->start_mark.line + 1;
}

// ---- parsing -----------------------------------------------------------------------------------

static enum stn_status fail_memory(const struct conf *conf)
{
    return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory to read it", conf->label);
}

static enum stn_status fail_syntax(struct conf *conf, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        return fail_memory(conf);
    }
    // A mistake in the bytes themselves has no mark yet, since the reader is ahead of the scanner.
    bool bytes = parser->error == YAML_READER_ERROR;
    conf->line = (int)(bytes ? parser->mark.line : parser->problem_mark.line) + 1;
    return conf_fail(conf, "%s", parser->problem ? parser->problem : "not YAML");
}

// A second document in the file would be ignored silently; it is refused.
static enum stn_status check_end(struct conf *conf, yaml_parser_t *parser)
{
    yaml_document_t second;
    if (!yaml_parser_load(parser, &second)) {
        return fail_syntax(conf, parser);
    }
    const yaml_node_t *root = yaml_document_get_root_node(&second);
    conf->line = root ? (int)root->start_mark.line + 1 : 0;
    yaml_document_delete(&second);
    return root ? conf_fail(conf, "a second document; expected one") : STN_OK;
}

static enum stn_status parse_document(struct conf *conf, yaml_parser_t *parser)
{
    struct conf_document *document = malloc(sizeof(*document));
    if (!document) {
        return fail_memory(conf);
    }
    if (!yaml_parser_load(parser, &document->yaml)) {
        free(document);
        return fail_syntax(conf, parser);
    }
    conf->document = document;
    return check_end(conf, parser);
}

enum stn_status conf_parse(const char *text, size_t bytes, const char *label, struct conf *out)
{
    yaml_parser_t parser;
    *out = (struct conf){.label = label};
    if (!yaml_parser_initialize(&parser)) {
        return fail_memory(out);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    enum stn_status status = parse_document(out, &parser);
    yaml_parser_delete(&parser);
    if (status != STN_OK) {
        conf_fini(out);
    }
    return status;
}

void conf_fini(struct conf *conf)
{
    if (conf->document) {
        yaml_document_delete(&conf->document->yaml);
        free(conf->document);
    }
    conf->document = NULL;
}

// ---- walking -----------------------------------------------------------------------------------

const struct conf_value *conf_root(const struct conf *conf)
{
    return conf_value_of(yaml_document_get_root_node(&conf->document->yaml));
}

int conf_count(const struct conf_value *value)
{
    const yaml_node_t *list = conf_yaml(value);
    if (list->type != YAML_SEQUENCE_NODE) {
        return -1;
    }
    return (int)(list->data.sequence.items.top - list->data.sequence.items.start);
}

const struct conf_value *conf_at(const struct conf *conf, const struct conf_value *list, int i)
{
    return conf_value_of(yaml_document_get_node(&conf->document->yaml,
                                                conf_yaml(list)->data.sequence.items.start[i]));
}
