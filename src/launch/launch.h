// SPDX-License-Identifier: Apache-2.0
// Starts this program on all nodes of a cluster with mpirun, and stays until they have ended:
// signals are passed on, nodes end with the launcher (also when it is killed), and what mpirun
// would say in twenty lines becomes one.
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include <stdbool.h>

#include "cluster/cluster.h"
#include "stannis/status.h"

struct launch_config {
    const struct cluster *cluster;
    char *const *argv;      // of this program, NULL at the end; handed to every node unchanged
    const char *ssh;        // command to reach other hosts; NULL: "ssh"
    double timeout_seconds; // for reaching a host
};

// The mpirun line, quoted for a shell, to be freed.
STN_MUST_CHECK enum stn_status launch_line(const struct launch_config *config, char **out);
// Checks that every host answers and has the same version, makes the emulated shares, runs. The
// exit code of the nodes goes to *exit_code.
STN_MUST_CHECK enum stn_status launch_run(const struct launch_config *config, int *exit_code);

#endif
