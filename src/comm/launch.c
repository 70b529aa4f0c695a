// SPDX-License-Identifier: Apache-2.0
// Which launcher started this process, by what it left in the environment.
#include <stdlib.h>

#include "comm/comm.h"

// Names of a launcher's environment variables. A process that has those of size and rank was
// started by it.
struct launcher {
    const char *size, *rank, *local_size;
};

static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}, // mpirun
    {"PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},                                    // Hydra
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_NTASKS_PER_NODE"}, // srun; not a batch script
};

// −1: not there, or not a number.
static int environment_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value = text ? strtol(text, &end, 10) : -1;
    return text && end != text && !*end && value >= 0 && value < 1 << 20 ? (int)value : -1;
}

struct comm_launch comm_launch_detect(void)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        int size = environment_number(launchers[i].size);
        int rank = environment_number(launchers[i].rank);
        if (size >= 1 && rank >= 0 && rank < size) {
            int local = environment_number(launchers[i].local_size);
            return (struct comm_launch){true, rank, size, local >= 1 ? local : 1};
        }
    }
    return (struct comm_launch){false, 0, 1, 1};
}
