// SPDX-License-Identifier: Apache-2.0
// stannis emulate: any command, once on each of several emulated nodes of this machine.
#include <stdlib.h>

#include "cluster/cluster.h"
#include "launch/launch.h"
#include "verb.h"

static const struct command command = {
    .verb = STN_VERB_EMULATE,
    .summary = "Runs a command on emulated nodes: copies with a share of the CPUs.",
    .operands = "SPEC [--] COMMAND…",
    .about = "SPEC is NAME[*COUNT]=CPUS[,…]: host=1,csd*3=0.25 are the nodes host, csd.0,\n"
             "csd.1 and csd.2, of which the first may use one CPU and each of the others a\n"
             "quarter. The shares are kept by control groups, which need root or a delegated\n"
             "group. Options of COMMAND need the --.\n"
             "\n"
             "Each copy finds in its environment RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and\n"
             "MASTER_PORT (as PyTorch expects them), OMP_NUM_THREADS (its share, rounded up)\n"
             "and STANNIS_NODE (its name). When one fails, the others are ended; the exit code\n"
             "is the first that was not 0. A signal is passed on to all, a second one kills\n"
             "them.",
    .examples = "  stannis emulate host=1,csd*3=0.25 -- python3 train_ddp.py --batch 32\n"
                "  stannis emulate fast=1,slow=0.5 -- sh -c 'echo $STANNIS_NODE: $RANK'",
};

static enum stn_status run(const struct verb_call *call)
{
    if (call->line.operand_count < 2) {
        return stn_fail(STN_ERR_INVALID,
                        "emulate: a spec and a command are needed; for example: stannis emulate "
                        "host=1,csd*3=0.25 -- python3 train.py");
    }
    struct cluster cluster;
    enum stn_status status = cluster_parse_emulate(call->line.operands[0], &cluster);
    if (status != STN_OK) {
        return status;
    }
    struct launch_local_config config = {
        .cluster = &cluster, .argv = call->line.operands + 1, .raw = call->settings.values.raw};
    int code = 0;
    status = launch_local_run(&config, &code);
    cluster_fini(&cluster);
    if (status == STN_OK && code != 0) {
        exit(code); // the command's own
    }
    return status;
}

const struct verb verb_emulate = {&command, run, false, NULL, NULL};
