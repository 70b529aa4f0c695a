// SPDX-License-Identifier: Apache-2.0
// getopt_long finds the options among the arguments; what a value must look like is said by the
// table.
#include "base/option.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { ROWS_MAX = 96, NAME_MAX_BYTES = 48, FIRST_VALUE = 256 };

// The table as getopt wants it: a long option a row, and "no-NAME" for flags. `val` is FIRST_VALUE
// + position.
struct scan_table {
    struct option longs[2 * ROWS_MAX + 1];
    const struct base_option *rows[2 * ROWS_MAX];
    const char *names[2 * ROWS_MAX + 1]; // for base_did_you_mean
    char negated[ROWS_MAX][NAME_MAX_BYTES];
    int count;
};

static void table_add(struct scan_table *table, const char *name, const struct base_option *row)
{
    int i = table->count++;
    int has_value = row->kind == BASE_OPTION_FLAG ? no_argument : required_argument;
    table->longs[i] = (struct option){name, has_value, NULL, FIRST_VALUE + i};
    table->rows[i] = row;
    table->names[i] = name;
}

static void table_fill(const struct base_command *command, struct scan_table *table)
{
    memset(table, 0, sizeof(*table));
    for (int i = 0; command->options[i].name; i++) {
        const struct base_option *row = &command->options[i];
        assert(i < ROWS_MAX);
        if (row->kind == BASE_OPTION_HEADING) {
            continue;
        }
        table_add(table, row->name, row);
        if (row->kind == BASE_OPTION_FLAG) {
            snprintf(table->negated[i], NAME_MAX_BYTES, "no-%s", row->name);
            table_add(table, table->negated[i], row);
        }
    }
}

// ---- values ------------------------------------------------------------------------------------

static enum stn_status fail_range(const struct base_option *row, const char *text, double min,
                                  double max)
{
    if (isinf(max)) {
        return stn_fail(STN_ERR_INVALID, "--%s %s: must be at least %.15g", row->name, text, min);
    }
    return stn_fail(STN_ERR_INVALID, "--%s %s: must be between %.15g and %.15g", row->name, text,
                    min, max);
}

static enum stn_status parse_integer(const struct base_option *row, const char *text,
                                     int64_t lowest, int64_t highest, int64_t *out)
{
    bool limited = row->min != 0 || row->max != 0;
    double min = limited ? row->min : (double)lowest;
    double max = limited ? row->max : (double)highest;
    int64_t value = 0;
    int error = base_parse_int64(text, &value);
    if (error == EINVAL) {
        return stn_fail(STN_ERR_INVALID, "--%s %s: not a whole number", row->name, text);
    }
    if (error || value < lowest || value > highest || (double)value < min || (double)value > max) {
        return fail_range(row, text, min, max);
    }
    *out = value;
    return STN_OK;
}

static enum stn_status parse_real(const struct base_option *row, const char *text, double *out)
{
    double value;
    if (base_parse_real(text, &value) != 0) {
        return stn_fail(STN_ERR_INVALID, "--%s %s: not a number", row->name, text);
    }
    if ((row->min != 0 || row->max != 0) && (value < row->min || value > row->max)) {
        return fail_range(row, text, row->min, row->max);
    }
    *out = value;
    return STN_OK;
}

static enum stn_status parse_seed(const struct base_option *row, const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || *end || errno == ERANGE) {
        return stn_fail(STN_ERR_INVALID, "--%s %s: not a whole number between 0 and %llu",
                        row->name, text, ULLONG_MAX);
    }
    *out = value;
    return STN_OK;
}

static enum stn_status parse_bytes(const struct base_option *row, const char *text, size_t *out)
{
    int error = base_parse_bytes(text, out);
    if (error == EINVAL) {
        return stn_fail(STN_ERR_INVALID, "--%s %s: not a size such as 1048576, 512M or 2G",
                        row->name, text);
    }
    return error ? stn_fail(STN_ERR_INVALID, "--%s %s: too large", row->name, text) : STN_OK;
}

static enum stn_status parse_choice(const struct base_option *row, const char *text, int *out)
{
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *out = i;
            return STN_OK;
        }
        int length =
            snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", row->choices[i]);
        used += (size_t)length;
        assert(used < sizeof(list));
    }
    return stn_fail(STN_ERR_INVALID, "--%s %s: must be one of %s", row->name, text, list);
}

static enum stn_status store_value(const struct base_option *row, const char *text, void *field)
{
    int64_t integer = 0;
    enum stn_status status = STN_OK;
    switch (row->kind) {
    case BASE_OPTION_AUTO:
        if (strcmp(text, "auto") == 0) {
            *(int *)field = -1;
            return STN_OK;
        } // fall through
    case BASE_OPTION_INT:
        status = parse_integer(row, text, INT_MIN, INT_MAX, &integer);
        if (status == STN_OK) {
            *(int *)field = (int)integer;
        }
        return status;
    case BASE_OPTION_INT64: return parse_integer(row, text, INT64_MIN, INT64_MAX, field);
    case BASE_OPTION_SEED: return parse_seed(row, text, field);
    case BASE_OPTION_REAL: return parse_real(row, text, field);
    case BASE_OPTION_BYTES: return parse_bytes(row, text, field);
    case BASE_OPTION_CHOICE: return parse_choice(row, text, field);
    case BASE_OPTION_TEXT:
        if (*text == '\0') {
            return stn_fail(STN_ERR_INVALID, "--%s: must not be empty", row->name);
        }
        *(const char **)field = text;
        return STN_OK;
    case BASE_OPTION_FLAG:
    case BASE_OPTION_HEADING: break;
    }
    assert(false && "an option without a value was given one");
    return STN_ERR_INTERNAL;
}

// ---- scanning ----------------------------------------------------------------------------------

static enum stn_status fail_unknown(const struct base_command *command, const char *typed,
                                    const struct scan_table *table)
{
    char name[NAME_MAX_BYTES];
    const char *bare = typed + strspn(typed, "-");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(bare, "="), bare);
    const char *meant = base_did_you_mean(name, table->names);
    int shown = (int)strcspn(typed, "=");
    if (meant) {
        return stn_fail(STN_ERR_INVALID, "%s: unknown option %.*s; did you mean --%s?",
                        command->name, shown, typed, meant);
    }
    return stn_fail(STN_ERR_INVALID, "%s: unknown option %.*s; see stannis %s --help",
                    command->name, shown, typed, command->name);
}

// An option that getopt recognised, with its value in optarg. `typed` is the argument that holds
// its name.
static enum stn_status take_option(const struct base_command *command,
                                   const struct scan_table *table, int index, const char *typed,
                                   const char *next, void *target)
{
    const struct base_option *row = table->rows[index];
    size_t typed_length = strcspn(typed + 2, "=");
    if (typed_length != strlen(table->names[index])) {
        return fail_unknown(command, typed, table); // getopt completes abbreviations
    }
    void *field = (char *)target + row->offset;
    if (row->kind == BASE_OPTION_FLAG) {
        *(bool *)field = table->names[index] == row->name;
        return STN_OK;
    }
    if (next && strncmp(next, "--", 2) == 0) {
        return stn_fail(STN_ERR_INVALID, "--%s needs a value, but %s follows", row->name, next);
    }
    assert(optarg); // getopt does not return an option without the value it requires
    return store_value(row, optarg, field);
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

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

static enum stn_status scan(const struct base_command *command, const struct scan_table *table,
                            int argc, char **argv, void *target)
{
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
            return stn_fail(STN_ERR_INVALID, "%s: %s needs a value", command->name, typed);
        }
        if (found == '?' && optopt >= FIRST_VALUE) {
            return stn_fail(STN_ERR_INVALID, "%s: --%s takes no value", command->name,
                            table->names[optopt - FIRST_VALUE]);
        }
        if (found == '?') {
            bool is_long = strncmp(typed, "--", 2) == 0;
            return fail_unknown(command, is_long ? typed : find_short(argc, argv, optopt), table);
        }
        enum stn_status status =
            take_option(command, table, found - FIRST_VALUE, typed, apart ? optarg : NULL, target);
        if (status != STN_OK) {
            return status;
        }
    }
}

enum stn_status base_option_parse(const struct base_command *command, int argc, char **argv,
                                  void *target, struct base_option_result *out)
{
    *out = (struct base_option_result){.help = asks_for_help(argc, argv)};
    if (out->help || argc < 1) {
        return STN_OK;
    }
    struct scan_table table;
    table_fill(command, &table);
    enum stn_status status = scan(command, &table, argc, argv, target);
    if (status != STN_OK) {
        return status;
    }
    out->operand_count = argc - optind;
    out->operands = argv + optind;
    if (out->operand_count > 0 && !command->operands) {
        return stn_fail(STN_ERR_INVALID, "%s: unexpected argument %s; see stannis %s --help",
                        command->name, out->operands[0], command->name);
    }
    return STN_OK;
}
