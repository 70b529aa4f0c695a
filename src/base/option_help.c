// SPDX-License-Identifier: Apache-2.0
// --help, from the same rows that parse.
#include <math.h>
#include <string.h>

#include "base/option.h"

enum { HELP_COLUMN = 28, WIDTH = 96 };

// Characters on the screen: bytes of UTF-8 that do not continue another.
static int columns(const char *text, size_t bytes)
{
    int count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

// Writes the text from `column` on and wraps at words, indented to HELP_COLUMN.
static void print_wrapped(const char *text, int column, FILE *out)
{
    bool first = true;
    while (*text) {
        size_t word = strcspn(text, " ");
        int width = columns(text, word);
        if (!first && column + 1 + width > WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
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

static void describe_default(const struct base_option *row, const void *defaults, char *text,
                             size_t size)
{
    const void *field = (const char *)defaults + row->offset;
    text[0] = '\0';
    switch (row->kind) {
    case BASE_OPTION_AUTO:
    case BASE_OPTION_INT: snprintf(text, size, "%d", *(const int *)field); break;
    case BASE_OPTION_INT64: snprintf(text, size, "%lld", (long long)*(const int64_t *)field); break;
    case BASE_OPTION_SEED:
        snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    case BASE_OPTION_REAL: snprintf(text, size, "%g", *(const double *)field); break;
    case BASE_OPTION_BYTES: snprintf(text, size, "%zu", *(const size_t *)field); break;
    case BASE_OPTION_CHOICE:
        if (*(const int *)field >= 0) {
            snprintf(text, size, "%s", row->choices[*(const int *)field]);
        }
        break;
    case BASE_OPTION_TEXT:
        if (*(const char *const *)field) {
            snprintf(text, size, "%s", *(const char *const *)field);
        }
        break;
    case BASE_OPTION_FLAG:
        if (*(const bool *)field) {
            snprintf(text, size, "on");
        }
        break;
    case BASE_OPTION_HEADING: break;
    }
}

static int print_name(const struct base_option *row, const void *defaults, FILE *out)
{
    char left[160];
    // A flag that is on is shown by the word that turns it off.
    bool negated =
        row->kind == BASE_OPTION_FLAG && *(const bool *)((const char *)defaults + row->offset);
    size_t used = (size_t)snprintf(left, sizeof(left), "  --%s%s", negated ? "no-" : "", row->name);
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

static void print_row(const struct base_option *row, const void *defaults, FILE *out)
{
    if (row->kind == BASE_OPTION_HEADING) {
        fprintf(out, "\n%s\n", row->name);
        return;
    }
    int column = print_name(row, defaults, out);
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    char value[128], text[1024];
    describe_default(row, defaults, value, sizeof(value));
    if (*value && !strstr(row->help, "default")) {
        snprintf(text, sizeof(text), "%s (default %s)", row->help, value);
    } else {
        snprintf(text, sizeof(text), "%s", row->help);
    }
    print_wrapped(text, HELP_COLUMN, out);
}

void base_option_help(const struct base_command *command, const void *defaults, FILE *out)
{
    fprintf(out, "Usage: stannis %s [OPTION]…%s%s\n%s\n", command->name,
            command->operands ? " " : "", command->operands ? command->operands : "",
            command->summary);
    if (command->options[0].name && command->options[0].kind != BASE_OPTION_HEADING) {
        fputs("\nOptions\n", out);
    }
    for (const struct base_option *row = command->options; row->name; row++) {
        print_row(row, defaults, out);
    }
    if (command->details) {
        fprintf(out, "\n%s\n", command->details);
    }
}
