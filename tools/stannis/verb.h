// SPDX-License-Identifier: Apache-2.0
// The verbs of the program, one cmd_NAME.c each: what is said of it, and a function that runs.
// stdout is for results, stderr for progress and messages.
#ifndef TOOLS_STANNIS_VERB_H
#define TOOLS_STANNIS_VERB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "stannis/session.h"
#include "stannis/status.h"

struct verb {
    const struct command *command;
    // argv[0] is the verb. A verb that fails has already said why.
    enum stn_status (*run)(int argc, char **argv);
    bool computes; // with a team of threads
    // Its subcommands by index, NULL after the last; NULL: it has none.
    const struct command *(*subcommand)(int index);
};

extern const struct verb verb_train, verb_eval, verb_predict, verb_tune, verb_bench, verb_models,
    verb_emulate, verb_size, verb_sim, verb_csd, verb_power;

// The settings of the command line, from their defaults; or, for --help, prints the help and sets
// *done.
STN_MUST_CHECK enum stn_status verb_parse(const struct command *command, int argc, char **argv,
                                          struct stn_settings *settings, struct command_line *line,
                                          bool *done);
// A program's whole line (its name, then the verb's argv), NULL at the end, as it was before
// parsing; to be freed. The texts are borrowed. NULL when memory is out.
char **verb_copy_arguments(int argc, char **argv);
// Fails with one line when a needed option is missing.
STN_MUST_CHECK enum stn_status verb_require(const struct command *command, const char *option,
                                            const char *value, const char *example);
// Refuses a network that does not exist and names those that do.
STN_MUST_CHECK enum stn_status verb_check_net(const char *net);
// The session of a verb; `alone`: nothing that other nodes take part in.
STN_MUST_CHECK enum stn_status verb_open_session(bool alone, struct stn_session **out);
// Prints an object as one line on stdout, and drops the reference. NULL, what jansson gives when it
// cannot make one, fails.
STN_MUST_CHECK enum stn_status verb_print_json(json_t *object);

#endif
