// SPDX-License-Identifier: Apache-2.0
// Command-line options as a table: one row gives the flag's name, type, range, where its value goes
// and its help text. Parsing, --help and "did you mean" all read the same rows. Pure but for
// messages; not for several threads at once.
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stannis/status.h"

enum base_option_kind {
    BASE_OPTION_FLAG,    // bool; no value; --no-NAME sets false
    BASE_OPTION_INT,     // int, within min … max
    BASE_OPTION_AUTO,    // int, within min … max, or −1 for "auto"
    BASE_OPTION_INT64,   // int64_t, within min … max
    BASE_OPTION_SEED,    // uint64_t
    BASE_OPTION_REAL,    // double, within min … max
    BASE_OPTION_BYTES,   // size_t: 512M, 2G, 1048576
    BASE_OPTION_TEXT,    // const char *, borrowed from argv
    BASE_OPTION_CHOICE,  // int: index into `choices`; −1 may say that none was given
    BASE_OPTION_HEADING, // no option: `name` heads the rows below it in --help
};

struct base_option {
    const char *name; // without dashes
    enum base_option_kind kind;
    size_t offset;     // of the field in the target struct
    const char *value; // "N", "DIR": shown in help; NULL for flags and choices
    const char *help;  // the default is added, unless the text speaks of a "default" itself
    double min, max;   // INT, AUTO, INT64, REAL; both 0: no limits; max INFINITY: none above
    const char *const *choices; // CHOICE: NULL at the end
};

// A verb: "stannis train". `options` ends with a row whose name is NULL.
struct base_command {
    const char *name, *summary;
    const char *operands; // "IMAGE…", or NULL when there are none
    const char *details;  // paragraphs and examples shown below the options, or NULL
    const struct base_option *options;
};

struct base_option_result {
    int operand_count;
    char **operands; // borrowed from argv, which is reordered
    bool help;       // --help was given: nothing else was checked
};

// Parses argv[1…] into `target`, whose fields already hold the defaults. Long options only (and
// -h), as --name VALUE or
// --name=VALUE, in any order with operands; after "--" all are operands. Names are not abbreviated.
STN_MUST_CHECK enum stn_status base_option_parse(const struct base_command *command, int argc,
                                                 char **argv, void *target,
                                                 struct base_option_result *out);
// Defaults are read from `defaults`, a target as the command would start with.
void base_option_help(const struct base_command *command, const void *defaults, FILE *out);
// The candidate nearest to `word` if near enough to be a typing slip, else NULL. `candidates` ends
// with NULL.
const char *base_did_you_mean(const char *word, const char *const *candidates);

#endif
