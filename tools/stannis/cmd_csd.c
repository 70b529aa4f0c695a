// SPDX-License-Identifier: Apache-2.0
// stannis csd SUBCOMMAND: software CSDs.
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "verb.h"

#ifdef STANNIS_CSD
#include "csd.h"

static const struct csd_subcommand *const subcommands[] = {
    &csd_create, &csd_start, &csd_ls,  &csd_stop,    &csd_format,
    &csd_stat,   &csd_bench, &csd_nbd, &csd_destroy, &csd_run_one,
};
enum { SUBCOMMAND_COUNT = sizeof(subcommands) / sizeof(subcommands[0]) };
#endif

static const struct command command = {
    .verb = STN_VERB_CSD,
    .summary = "Makes and runs computational storage devices in software.",
    .operands = "SUBCOMMAND",
    .about = "A rack is a folder with a device csd.N a folder: a media file, sparse, that\n"
             "holds what is on its flash, and keys apart from it (mode 0600), without which\n"
             "the media file says nothing. Data sets are namespaces: public ones are for the\n"
             "host and the in-storage engine, private ones for the engine alone. docs/csd.md\n"
             "says what is modelled and what is not.",
    .examples = "  stannis csd create rack --count 4 --profile newport --size 4G\n"
                "  stannis csd start rack\n"
                "  stannis csd format rack/csd.0 --namespace photos --size 1G --public\n"
                "  stannis csd nbd rack/csd.0:photos --socket photos.sock\n"
                "  stannis csd stat rack/csd.0\n"
                "  stannis csd stop rack",
};

#ifdef STANNIS_CSD

static const char *subcommand_name(const struct csd_subcommand *subcommand)
{
    return stn_verb_name(subcommand->command->verb) + strlen("csd ");
}

static void print_subcommands(void)
{
    puts("\nSubcommands");
    for (int i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (!subcommands[i]->internal) {
            printf("  %-10s%s\n", subcommand_name(subcommands[i]),
                   subcommands[i]->command->summary);
        }
    }
    puts("\n\"stannis csd SUBCOMMAND --help\" shows the options of each.");
}

static enum stn_status fail_unknown(const char *name)
{
    const char *names[SUBCOMMAND_COUNT + 1] = {NULL};
    for (int i = 0, count = 0; i < SUBCOMMAND_COUNT; i++) {
        if (!subcommands[i]->internal) {
            names[count++] = subcommand_name(subcommands[i]);
        }
    }
    const char *meant = base_did_you_mean(name, names);
    if (meant) {
        return stn_fail(STN_ERR_INVALID, "csd: unknown subcommand %s; did you mean %s?", name,
                        meant);
    }
    return stn_fail(STN_ERR_INVALID, "csd: unknown subcommand %s; see stannis csd --help", name);
}

static const struct command *subcommand_at(int index)
{
    return index < SUBCOMMAND_COUNT ? subcommands[index]->command : NULL;
}

static enum stn_status dispatch(int argc, char **argv)
{
    if (argc < 2) {
        return stn_fail(STN_ERR_INVALID, "csd: no subcommand given; see stannis csd --help");
    }
    bool whole = strcmp(argv[1], "--help=all") == 0;
    if (whole || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        command_print_help(&command, whole ? COMMAND_WHOLE_HELP : COMMAND_SHORT_HELP, stdout);
        print_subcommands();
        return STN_OK;
    }
    for (int i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(argv[1], subcommand_name(subcommands[i])) == 0) {
            return verb_start(subcommands[i]->command, subcommands[i]->run, argc - 1, argv + 1);
        }
    }
    return fail_unknown(argv[1]);
}

const struct verb verb_csd = {&command, NULL, false, subcommand_at, dispatch};

#else

static enum stn_status run(const struct verb_call *call)
{
    (void)call;
    return stn_fail(STN_ERR_UNSUPPORTED,
                    "csd: this program was built without libisal or libcrypto; install libisal-dev "
                    "and libssl-dev and build it again");
}

const struct verb verb_csd = {&command, run, false, NULL, NULL};

#endif
