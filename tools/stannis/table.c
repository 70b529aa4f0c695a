// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <math.h>

static const char *kind_name(enum stn_setting_kind kind)
{
    switch (kind) {
    case STN_SETTING_FLAG: return "flag";
    case STN_SETTING_INT: return "int";
    case STN_SETTING_AUTO: return "auto";
    case STN_SETTING_INT64: return "int64";
    case STN_SETTING_SEED: return "seed";
    case STN_SETTING_REAL: return "real";
    case STN_SETTING_BYTES: return "bytes";
    case STN_SETTING_TEXT: return "text";
    case STN_SETTING_CHOICE: return "choice";
    }
    return "";
}

static json_t *limit(const struct stn_setting *row, double value)
{
    return row->has_limits && isfinite(value) ? json_real(value) : json_null();
}

static json_t *choices(const struct stn_setting *row)
{
    json_t *list = json_array();
    for (int i = 0; row->choices && row->choices[i]; i++) {
        json_array_append_new(list, json_string(row->choices[i]));
    }
    return list;
}

static json_t *describe_row(const struct stn_setting *row)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:b, s:b, s:b}", "name",
                     row->name, "kind", kind_name(row->kind), "group", row->group, "help",
                     row->help, "value", row->value, "default", row->initial, "choices",
                     choices(row), "min", limit(row, row->min), "max", limit(row, row->max),
                     "below_max", row->below_max, "usual", row->usual, "program", row->program);
}

static json_t *describe_verb(const struct command *command)
{
    json_t *options = json_array();
    for (int i = 0; i < stn_setting_count(); i++) {
        const struct stn_setting *row = stn_setting_at(i);
        if (row->verbs & command->verb) {
            json_array_append_new(options, describe_row(row));
        }
    }
    return json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:o}", "verb", stn_verb_name(command->verb),
                     "summary", command->summary, "operands", command->operands, "about",
                     command->about, "examples", command->examples, "options", options);
}

enum stn_status table_print(const struct verb *const verbs[], int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        const struct command *command;
        json_array_append_new(list, describe_verb(verbs[i]->command));
        for (int j = 0; verbs[i]->subcommand && (command = verbs[i]->subcommand(j)); j++) {
            json_array_append_new(list, describe_verb(command));
        }
    }
    return verb_print_json(list);
}
