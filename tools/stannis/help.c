// SPDX-License-Identifier: Apache-2.0
// A verb's help, from the rows that parse.
#include <string.h>

#include "command.h"

enum { HELP_COLUMN = 26, WIDTH = 79, TEXT_BYTES = 1024 };

// Characters on the screen: bytes of UTF-8 that do not continue another.
static int columns(const char *text, size_t bytes)
{
    int count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

// Writes the text from `column` on and wraps at words, indented by `indent`.
static void print_wrapped(const char *text, int column, int indent, FILE *out)
{
    bool first = true;
    while (*text) {
        size_t word = strcspn(text, " ");
        int width = columns(text, word);
        if (!first && column + 1 + width > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += width;
        text += word + strspn(text + word, " ");
        first = false;
    }
    fputc('\n', out);
}

// A setting named in backquotes gets its dashes.
static void name_options(const char *from, char *to, size_t bytes)
{
    bool inside = false;
    size_t used = 0;
    for (; *from && used + 3 < bytes; from++) {
        if (*from != '`') {
            to[used++] = *from;
            continue;
        }
        inside = !inside;
        if (inside) {
            to[used++] = '-';
            to[used++] = '-';
        }
    }
    to[used] = '\0';
}

static int print_name(const struct stn_setting *row, FILE *out)
{
    char left[160];
    // A flag that is on is there to be turned off.
    bool on = row->kind == STN_SETTING_FLAG && strcmp(row->initial, "on") == 0;
    size_t used = (size_t)snprintf(left, sizeof(left), "  --%s%s", on ? "[no-]" : "", row->name);
    if (row->value) {
        used += (size_t)snprintf(left + used, sizeof(left) - used, " %s", row->value);
    }
    for (int i = 0; !row->value && row->choices && row->choices[i] && used < sizeof(left); i++) {
        used += (size_t)snprintf(left + used, sizeof(left) - used, "%c%s", i ? '|' : ' ',
                                 row->choices[i]);
    }
    fputs(left, out);
    return columns(left, strlen(left));
}

static void print_row(const struct stn_setting *row, enum command_help help, FILE *out)
{
    int column = print_name(row, out);
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    char text[TEXT_BYTES];
    name_options(row->help, text, sizeof(text));
    char *end = strstr(text, "; ");
    if (help == COMMAND_SHORT_HELP && end) {
        *end = '\0';
    }
    size_t used = strlen(text);
    bool off = row->kind == STN_SETTING_FLAG && strcmp(row->initial, "off") == 0;
    if (row->initial && !off && !strstr(row->help, "default")) {
        snprintf(text + used, sizeof(text) - used, " (default %s)", row->initial);
    }
    print_wrapped(text, HELP_COLUMN, HELP_COLUMN, out);
}

// ---- groups ------------------------------------------------------------------------------------

static bool belongs(const struct command *command, const struct stn_setting *row, const char *group)
{
    return (row->verbs & command->verb) && row->group == group;
}

static bool has_usual(const struct command *command, const char *group)
{
    for (int i = 0; i < stn_setting_count(); i++) {
        const struct stn_setting *row = stn_setting_at(i);
        if (belongs(command, row, group) && row->usual) {
            return true;
        }
    }
    return false;
}

static void print_rows(const struct command *command, const char *group, bool usual,
                       enum command_help help, FILE *out)
{
    for (int i = 0; i < stn_setting_count(); i++) {
        const struct stn_setting *row = stn_setting_at(i);
        if (belongs(command, row, group) && row->usual == usual) {
            print_row(row, help, out);
        }
    }
}

static void print_group(const struct command *command, const char *group, enum command_help help,
                        FILE *out)
{
    char heading[TEXT_BYTES];
    name_options(group, heading, sizeof(heading));
    fprintf(out, "\n%s\n", heading);
    print_rows(command, group, true, help, out);
    if (help == COMMAND_WHOLE_HELP) {
        print_rows(command, group, false, help, out);
    }
}

// In the order of the table; those with usual rows and those without apart.
static void print_groups(const struct command *command, bool usual, enum command_help help,
                         FILE *out)
{
    const char *last = NULL;
    for (int i = 0; i < stn_setting_count(); i++) {
        const struct stn_setting *row = stn_setting_at(i);
        if ((row->verbs & command->verb) && row->group != last) {
            last = row->group;
            if (has_usual(command, last) == usual) {
                print_group(command, last, help, out);
            }
        }
    }
}

void command_print_help(const struct command *command, enum command_help help, FILE *out)
{
    const char *verb = stn_verb_name(command->verb);
    fprintf(out, "Usage: stannis %s [OPTION]…%s%s\n%s\n", verb, command->operands ? " " : "",
            command->operands ? command->operands : "", command->summary);
    print_groups(command, true, help, out);
    if (help == COMMAND_WHOLE_HELP) {
        print_groups(command, false, help, out);
        if (command->about) {
            fprintf(out, "\n%s\n", command->about);
        }
        fprintf(out, "\nExamples\n%s\n", command->examples);
    } else {
        size_t first = strcspn(command->examples, "\n");
        fprintf(out, "\nExamples\n%.*s\n\nAll options: stannis %s --help=all\n", (int)first,
                command->examples, verb);
    }
}
