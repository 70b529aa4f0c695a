// SPDX-License-Identifier: Apache-2.0
// stannis emulate: any command, once on each of several emulated nodes of this machine.
#include <stdlib.h>

#include "cluster/cluster.h"
#include "launch/launch.h"
#include "verb.h"

struct emulate_options {
    bool raw;
};

static const struct base_option options[] = {
    {"raw", BASE_OPTION_FLAG, offsetof(struct emulate_options, raw), NULL,
     "output as it is; by default each line begins with the name of its node", 0, 0, NULL},
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static const struct base_command command = {
    "emulate", "Runs any command on emulated nodes: copies with a share of the CPUs each.",
    "SPEC [--] COMMAND…",
    "SPEC is NAME[*COUNT]=CPUS[,…]: host=1,csd*3=0.25 are the nodes host, csd.0, csd.1 and csd.2, "
    "of\n"
    "which the first may use one CPU and each of the others a quarter. The shares are kept by\n"
    "control groups, which need root or a delegated group. Options of COMMAND need the --.\n"
    "\n"
    "Each copy finds in its environment RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT\n"
    "(as PyTorch expects them), OMP_NUM_THREADS (its share, rounded up) and STANNIS_NODE (its "
    "name).\n"
    "When one fails, the others are ended; the exit code is the first that was not 0. A signal is\n"
    "passed on to all, a second one kills them.\n"
    "\n"
    "Examples\n"
    "  stannis emulate host=1,csd*3=0.25 -- python3 train_ddp.py --batch 32\n"
    "  stannis emulate fast=1,slow=0.5 -- sh -c 'echo $STANNIS_NODE: $RANK of $WORLD_SIZE'",
    options};

static enum stn_status run(int argc, char **argv)
{
    struct emulate_options o = {0};
    struct base_option_result parsed;
    bool done;
    enum stn_status status = verb_parse(&command, argc, argv, &o, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    if (parsed.operand_count < 2) {
        return stn_fail(STN_ERR_INVALID,
                        "emulate: a spec and a command are needed; for example: stannis emulate "
                        "host=1,csd*3=0.25 -- python3 train.py");
    }
    struct cluster cluster;
    status = cluster_parse_emulate(parsed.operands[0], &cluster);
    if (status != STN_OK) {
        return status;
    }
    struct launch_local_config config = {
        .cluster = &cluster, .argv = parsed.operands + 1, .raw = o.raw};
    int code = 0;
    status = launch_local_run(&config, &code);
    cluster_fini(&cluster);
    if (status == STN_OK && code != 0) {
        exit(code); // the command's own
    }
    return status;
}

const struct verb verb_emulate = {&command, run, false};
