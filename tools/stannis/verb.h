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

// What the command line asks of a verb or a subcommand.
struct verb_call {
    struct stn_settings settings; // from their defaults
    struct command_line line;
    char **whole; // the program's whole line as it was, for starting it again; NULL at the end
};

// A verb that fails has already said why.
typedef enum stn_status verb_run(const struct verb_call *call);

struct verb {
    const struct command *command;
    verb_run *run;
    bool computes; // with a team of threads
    // Its subcommands by index, NULL after the last; NULL: it has none.
    const struct command *(*subcommand)(int index);
    // Takes the line in place of `run` where there are subcommands; argv[0] is the verb.
    enum stn_status (*dispatch)(int argc, char **argv);
};

extern const struct verb verb_train, verb_eval, verb_predict, verb_tune, verb_bench, verb_models,
    verb_emulate, verb_size, verb_sim, verb_csd, verb_power;

// Parses the line, whose argv[0] is the verb or the subcommand, and runs what it asks for; for
// --help, prints the help instead.
STN_MUST_CHECK enum stn_status verb_start(const struct command *command, verb_run *run, int argc,
                                          char **argv);
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
