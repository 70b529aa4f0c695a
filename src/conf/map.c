// SPDX-License-Identifier: Apache-2.0
// Reads mappings and scalars by the rows that describe them.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/suggest.h"
#include "conf/yaml.h"

// ---- scalars -----------------------------------------------------------------------------------

// The text of a scalar, or NULL: no scalar, empty, or with control characters, which no value
// needs.
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

static enum stn_status fail_value(struct conf *conf, const struct conf_key *key, const char *text)
{
    if (key->kind == CONF_WHOLE) {
        return conf_fail(conf, "%s: '%.80s': expected a whole number from %.0f to %.0f", key->name,
                         text, key->min, key->max);
    }
    return conf_fail(conf, "%s: '%.80s': expected %s", key->name, text,
                     key->kind == CONF_FLAG ? "true or false" : key->expected);
}

static bool parse_whole(const char *text, const struct conf_key *key, int *out)
{
    int64_t whole;
    if (base_parse_int64(text, &whole) != 0 || (double)whole < key->min ||
        (double)whole > key->max) {
        return false;
    }
    *out = (int)whole;
    return true;
}

static bool parse_real(const char *text, const struct conf_key *key, double *out)
{
    double real;
    if (base_parse_real(text, &real) != 0 || real < key->min || real > key->max) {
        return false;
    }
    *out = real;
    return true;
}

static bool parse_flag(const char *text, bool *out)
{
    *out = strcmp(text, "true") == 0;
    return *out || strcmp(text, "false") == 0;
}

static bool parse(const char *text, const struct conf_key *key, void *field)
{
    switch (key->kind) {
    case CONF_TEXT: *(const char **)field = text; return true;
    case CONF_WHOLE: return parse_whole(text, key, field);
    case CONF_REAL: return parse_real(text, key, field);
    case CONF_BYTES: return base_parse_bytes(text, field) == 0 && *(size_t *)field > 0;
    case CONF_FLAG: return parse_flag(text, field);
    case CONF_VALUE: break;
    }
    return false;
}

enum stn_status conf_read_value(struct conf *conf, const struct conf_value *value,
                                const struct conf_key *key, void *field)
{
    conf_go(conf, value);
    if (key->kind == CONF_VALUE) {
        *(const struct conf_value **)field = value;
        return STN_OK;
    }
    const char *text = text_of(conf_yaml(value));
    if (!text) {
        return conf_fail(conf, "%s: expected one value on one line", key->name);
    }
    return parse(text, key, field) ? STN_OK : fail_value(conf, key, text);
}

// ---- mappings ----------------------------------------------------------------------------------

static enum stn_status fail_key(struct conf *conf, const char *text, const struct conf_key keys[])
{
    const char *names[CONF_KEYS_MAX + 1] = {NULL};
    char list[320] = "";
    size_t used = 0;
    for (int i = 0; i < CONF_KEYS_MAX && keys[i].name && used < sizeof(list); i++) {
        names[i] = keys[i].name;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *meant = base_did_you_mean(text, names);
    if (meant) {
        return conf_fail(conf, "'%.80s': unknown key; did you mean %s?", text, meant);
    }
    return conf_fail(conf, "'%.80s': unknown key; there is %s", text, list);
}

static enum stn_status find_key(struct conf *conf, const struct conf_value *value,
                                const struct conf_key keys[], int *out)
{
    const char *text = text_of(conf_yaml(value));
    conf_go(conf, value);
    if (!text) {
        return conf_fail(conf, "expected a key, as %s:", keys[0].name);
    }
    for (int i = 0; keys[i].name; i++) {
        if (strcmp(text, keys[i].name) == 0) {
            *out = i;
            return STN_OK;
        }
    }
    return fail_key(conf, text, keys);
}

static const struct conf_value *value_at(const struct conf *conf, int index)
{
    return conf_value_of(yaml_document_get_node(&conf->document->yaml, index));
}

enum stn_status conf_read_map(struct conf *conf, const struct conf_value *map,
                              const struct conf_key keys[], const char *expected, const char *twice,
                              void *target)
{
    bool seen[CONF_KEYS_MAX] = {false};
    const yaml_node_t *yaml = conf_yaml(map);
    conf->line = map ? (int)yaml->start_mark.line + 1 : 1;
    if (!map || yaml->type != YAML_MAPPING_NODE) {
        return conf_fail(conf, "expected %s", expected);
    }
    for (const yaml_node_pair_t *pair = yaml->data.mapping.pairs.start;
         pair < yaml->data.mapping.pairs.top; pair++) {
        int key = 0;
        enum stn_status status = find_key(conf, value_at(conf, pair->key), keys, &key);
        if (status != STN_OK) {
            return status;
        }
        if (seen[key]) {
            return conf_fail(conf, "%s: given twice%s", keys[key].name, twice);
        }
        seen[key] = true;
        status = conf_read_value(conf, value_at(conf, pair->value), &keys[key],
                                 (char *)target + keys[key].offset);
        if (status != STN_OK) {
            return status;
        }
    }
    conf_go(conf, map);
    return STN_OK;
}
