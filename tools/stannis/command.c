// SPDX-License-Identifier: Apache-2.0
// getopt_long finds the options among the arguments; what a value must look like is said by the
// table of settings.
#include "command.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "base/suggest.h"

enum { ROWS_MAX = 128, NAME_MAX_BYTES = 48, FIRST_VALUE = 256 };

// The verb's rows as getopt wants them: a long option a row, and "no-NAME" for flags. `val` is
// FIRST_VALUE + position.
struct scan_table {
    struct option longs[2 * ROWS_MAX + 1];
    const struct settings_row *rows[2 * ROWS_MAX];
    const char *names[2 * ROWS_MAX + 1]; // for base_did_you_mean
    char negated[ROWS_MAX][NAME_MAX_BYTES];
    int count, negated_count;
};

static void table_add(struct scan_table *table, const char *name, const struct settings_row *row)
{
    int i = table->count++;
    int has_value = row->face.kind == STN_SETTING_FLAG ? no_argument : required_argument;
    table->longs[i] = (struct option){name, has_value, NULL, FIRST_VALUE + i};
    table->rows[i] = row;
    table->names[i] = name;
}

static void table_fill(const struct command *command, struct scan_table *table)
{
    memset(table, 0, sizeof(*table));
    for (int i = 0; i < settings_row_count; i++) {
        const struct settings_row *row = &settings_rows[i];
        if (!(row->face.verbs & command->verb)) {
            continue;
        }
        assert(table->count + 2 < 2 * ROWS_MAX && table->negated_count < ROWS_MAX);
        table_add(table, row->face.name, row);
        if (row->face.kind == STN_SETTING_FLAG) {
            char *name = table->negated[table->negated_count++];
            snprintf(name, NAME_MAX_BYTES, "no-%s", row->face.name);
            table_add(table, name, row);
        }
    }
}

static enum stn_status fail_unknown(const struct command *command, const char *typed,
                                    const struct scan_table *table)
{
    char name[NAME_MAX_BYTES];
    const char *verb = stn_verb_name(command->verb);
    const char *bare = typed + strspn(typed, "-");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(bare, "="), bare);
    const char *meant = base_did_you_mean(name, table->names);
    int shown = (int)strcspn(typed, "=");
    if (meant) {
        return stn_fail(STN_ERR_INVALID, "%s: unknown option %.*s; did you mean --%s?", verb, shown,
                        typed, meant);
    }
    return stn_fail(STN_ERR_INVALID, "%s: unknown option %.*s; see stannis %s --help=all", verb,
                    shown, typed, verb);
}

// An option that getopt recognised, with its value in optarg. `typed` is the argument that holds
// its name.
static enum stn_status take_option(const struct command *command, const struct scan_table *table,
                                   int index, const char *typed, const char *next,
                                   struct settings *settings)
{
    const struct settings_row *row = table->rows[index];
    size_t typed_length = strcspn(typed + 2, "=");
    if (typed_length != strlen(table->names[index])) {
        return fail_unknown(command, typed, table); // getopt completes abbreviations
    }
    if (row->face.kind == STN_SETTING_FLAG) {
        bool negated = table->names[index] != row->face.name;
        return settings_parse(row, negated ? "off" : "on", settings);
    }
    if (next && strncmp(next, "--", 2) == 0) {
        return stn_fail(STN_ERR_INVALID, "--%s needs a value, but %s follows", row->face.name,
                        next);
    }
    assert(optarg); // getopt does not return an option without the value it requires
    return settings_parse(row, optarg, settings);
}

// The argument in which getopt met the one-letter option `letter`; we have none of these but -h.
static const char *find_short(int argc, char **argv, int letter)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '-' && strchr(argv[i] + 1, letter)) {
            return argv[i];
        }
    }
    return "-";
}

static enum command_help asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return COMMAND_SHORT_HELP;
        }
        if (strcmp(argv[i], "--help=all") == 0) {
            return COMMAND_WHOLE_HELP;
        }
    }
    return COMMAND_NO_HELP;
}

static enum stn_status scan(const struct command *command, const struct scan_table *table, int argc,
                            char **argv, struct settings *settings)
{
    const char *verb = stn_verb_name(command->verb);
    opterr = 0;
    optind = 0; // glibc: start afresh, also after another table
    for (;;) {
        int found = getopt_long(argc, argv, ":", table->longs, NULL);
        if (found == -1) {
            return STN_OK;
        }
        // The value may be an argument of its own: then the name is the one before.
        bool apart = optarg && optarg == argv[optind - 1];
        const char *typed = argv[optind - 1 - (apart ? 1 : 0)];
        if (found == ':') {
            return stn_fail(STN_ERR_INVALID, "%s: %s needs a value", verb, typed);
        }
        if (found == '?' && optopt >= FIRST_VALUE) {
            return stn_fail(STN_ERR_INVALID, "%s: --%s takes no value", verb,
                            table->names[optopt - FIRST_VALUE]);
        }
        if (found == '?') {
            bool is_long = strncmp(typed, "--", 2) == 0;
            return fail_unknown(command, is_long ? typed : find_short(argc, argv, optopt), table);
        }
        enum stn_status status = take_option(command, table, found - FIRST_VALUE, typed,
                                             apart ? optarg : NULL, settings);
        if (status != STN_OK) {
            return status;
        }
    }
}

enum stn_status command_parse(const struct command *command, int argc, char **argv,
                              struct settings *settings, struct command_line *out)
{
    *out = (struct command_line){.help = asks_for_help(argc, argv)};
    if (out->help || argc < 1) {
        return STN_OK;
    }
    struct scan_table table;
    table_fill(command, &table);
    enum stn_status status = scan(command, &table, argc, argv, settings);
    if (status != STN_OK) {
        return status;
    }
    out->operand_count = argc - optind;
    out->operands = argv + optind;
    if (out->operand_count > 0 && !command->operands) {
        const char *verb = stn_verb_name(command->verb);
        return stn_fail(STN_ERR_INVALID, "%s: unexpected argument %s; see stannis %s --help", verb,
                        out->operands[0], verb);
    }
    return STN_OK;
}
