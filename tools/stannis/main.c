// SPDX-License-Identifier: Apache-2.0
// stannis VERB [OPTION]…: finds the verb and turns its status into an exit code.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/setting_mark.h"
#include "base/suggest.h"
#include "comm/comm.h"
#include "emulate/emulate.h"
#include "launch/launch.h"
#include "stannis/stannis.h"
#include "table.h"
#include "verb.h"

static const struct verb *const verbs[] = {&verb_train, &verb_eval,   &verb_predict, &verb_tune,
                                           &verb_bench, &verb_models, &verb_emulate, &verb_size,
                                           &verb_sim,   &verb_csd,    &verb_power,   NULL};
enum { VERB_COUNT = sizeof(verbs) / sizeof(verbs[0]) - 1 };

static void print_help(void)
{
    puts("Stannis trains image classifiers on CPUs.\n"
         "\n"
         "Usage: stannis VERB [OPTION]…\n"
         "\n"
         "Verbs");
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        const struct command *command = (*verb)->command;
        printf("  %-9s%s\n", stn_verb_name(command->verb), command->summary);
    }
    puts("\n"
         "Options\n"
         "  --help, -h     this text; after a verb: what most people need of it\n"
         "  --help=all     after a verb: all its options\n"
         "  --version, -V  the version\n"
         "\n"
         "Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1\n"
         "failed, 2 a mistake in the command or its input, 130 interrupted (a training is\n"
         "saved first).\n"
         "\n"
         "Examples\n"
         "  stannis train --net lenet --data fashion-mnist --epochs 3\n"
         "  stannis eval --checkpoint run/best.safetensors\n"
         "  stannis predict --checkpoint run/best.safetensors photo1.jpg photo2.png");
}

static const struct verb *find_verb(const char *name)
{
    if (strcmp(name, "plan") == 0) {
        stn_log(STN_LOG_WARN, "stannis plan is called stannis size now");
        name = "size";
    }
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        if (strcmp(name, stn_verb_name((*verb)->command->verb)) == 0) {
            return *verb;
        }
    }
    return NULL;
}

static enum stn_status fail_unknown(const char *name)
{
    const char *names[VERB_COUNT + 1] = {NULL};
    for (int i = 0; verbs[i]; i++) {
        names[i] = stn_verb_name(verbs[i]->command->verb);
    }
    const char *kind = *name == '-' ? "option" : "verb";
    const char *meant = base_did_you_mean(name, names);
    if (meant) {
        return stn_fail(STN_ERR_INVALID, "unknown %s %s; did you mean %s?", kind, name, meant);
    }
    return stn_fail(STN_ERR_INVALID, "unknown %s %s; see stannis --help", kind, name);
}

static enum stn_status start(const struct verb *verb, int argc, char **argv)
{
    return verb->dispatch ? verb->dispatch(argc, argv)
                          : verb_start(verb->command, verb->run, argc, argv);
}

// stannis help [VERB [SUBCOMMAND] [all]]
static enum stn_status help(int argc, char **argv)
{
    if (argc == 0) {
        print_help();
        return STN_OK;
    }
    if (strcmp(argv[0], "--json") == 0) {
        return table_print(verbs, VERB_COUNT);
    }
    const struct verb *verb = find_verb(argv[0]);
    if (!verb) {
        return fail_unknown(argv[0]);
    }
    // The verb's own, of a subcommand of it where one is named.
    static char usual[] = "--help", whole[] = "--help=all";
    bool all = argc > 1 && strcmp(argv[argc - 1], "all") == 0;
    char *subcommand = argc - all > 1 ? argv[1] : NULL;
    char *words[] = {argv[0],
                     subcommand ? subcommand
                     : all      ? whole
                                : usual,
                     all ? whole : usual, NULL};
    return start(verb, subcommand ? 3 : 2, words);
}

// How long a thread spins at a barrier before it sleeps, in turns of libgomp's loop: some tens of
// microseconds. Its default of milliseconds is a little faster for small ops on an idle machine; on
// a busy one spinning takes the core from the thread that is waited for: docs/decisions/0006.
static const char spin_count[] = "1000";

// libgomp reads its settings when it is loaded, so the program has to start once more. Settings
// that are there (from this program, a moment ago, or from the user) stay; if it fails, work goes
// on.
static void start_with_short_spins(char **argv)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    bool set = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT");
    if (!set && length > 0 && setenv("GOMP_SPINCOUNT", spin_count, 1) == 0) {
        program[length] = '\0';
        execv(program, argv);
    }
}

// As one of several nodes: bound to the launcher, and in our share of the CPUs before there are
// threads. Nothing of it outside of a launcher.
static enum stn_status take_place(void)
{
    struct comm_launch launch = comm_launch_detect();
    launch_attach(launch.rank);
    return launch.launched ? emulate_join(launch.rank) : STN_OK;
}

static enum stn_status dispatch(int argc, char **argv)
{
    if (argc < 2) {
        return stn_fail(STN_ERR_INVALID, "no verb given; see stannis --help");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return STN_OK;
    }
    if (strcmp(argv[1], "help") == 0) {
        return help(argc - 2, argv + 2);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("stannis " STN_VERSION);
        if (argc > 2 && strcmp(argv[2], "--protocol") == 0) {
            char protocol[LAUNCH_PROTOCOL_BYTES];
            launch_protocol(protocol);
            puts(protocol);
        }
        return STN_OK;
    }
    const struct verb *verb = find_verb(argv[1]);
    if (!verb) {
        return fail_unknown(argv[1]);
    }
    if (verb->computes) {
        start_with_short_spins(argv);
    }
    enum stn_status status = take_place();
    return status == STN_OK ? start(verb, argc - 1, argv + 1) : status;
}

int main(int argc, char **argv)
{
    base_setting_prefix("--");
    enum stn_status status = dispatch(argc, argv);
    // A result that could not be written is no result.
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == STN_OK) {
        status = stn_fail(STN_ERR_IO, "cannot write to standard output: %s", strerror(errno));
    }
    return stn_status_exit_code(status);
}
