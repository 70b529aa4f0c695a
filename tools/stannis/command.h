// SPDX-License-Identifier: Apache-2.0
// A verb's command line: which settings it takes says the table of settings, and its help is made
// of the same rows. Not for several threads at once.
#ifndef TOOLS_STANNIS_COMMAND_H
#define TOOLS_STANNIS_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "settings/settings.h"

// A verb: "stannis train".
struct command {
    enum stn_verb verb;
    const char *summary;
    const char *operands; // "IMAGE…", or NULL when there are none
    const char *about;    // paragraphs below the options, or NULL
    const char *examples; // a line each
};

enum command_help { COMMAND_NO_HELP, COMMAND_SHORT_HELP, COMMAND_WHOLE_HELP };

struct command_line {
    int operand_count;
    char **operands;        // borrowed from argv, which is reordered
    enum command_help help; // asked for: nothing else was checked
};

// Parses argv[1…] into `settings`, which hold the defaults. Long options only (and -h), as --name
// VALUE or --name=VALUE, in any order with operands; after "--" all are operands. Names are not
// abbreviated. Texts are borrowed from argv.
STN_MUST_CHECK enum stn_status command_parse(const struct command *command, int argc, char **argv,
                                             struct settings *settings, struct command_line *out);

// What most people need, on one screen; or everything.
void command_print_help(const struct command *command, enum command_help help, FILE *out);

#endif
