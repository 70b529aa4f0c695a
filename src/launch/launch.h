// SPDX-License-Identifier: Apache-2.0
// Starts this program on all nodes of a cluster with mpirun, and stays until they have ended. It
// passes signals on; nodes end with the launcher, also when that is killed; and of mpirun's twenty
// lines about a failure it makes one.
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include <stdbool.h>

#include "cluster/cluster.h"
#include "stannis/status.h"

// What `stannis --version --protocol` prints below the version: "protocol 1 0123456789abcdef", by
// which two programs know whether they understand each other (wire/wire.h).
enum { LAUNCH_PROTOCOL_BYTES = 40 };
void launch_protocol(char text[LAUNCH_PROTOCOL_BYTES]);

// "COLUMNSxROWS" of the launcher's terminal, for nodes, whose own stderr is a pipe.
#define LAUNCH_TERMINAL_VARIABLE "STANNIS_TERMINAL"

struct launch_config {
    const struct cluster *cluster;
    char *const *argv;      // of this program, NULL at the end; handed to every node unchanged
    const char *ssh;        // command to reach other hosts; NULL: "ssh"
    double timeout_seconds; // for reaching a host
};

// The mpirun line, quoted for a shell, to be freed.
STN_MUST_CHECK enum stn_status launch_line(const struct launch_config *config, char **out);
// Checks that every host answers and that its program speaks the same protocol, makes the emulated
// shares, runs. The exit code of the nodes goes to *exit_code. A first SIGINT, SIGTERM or SIGHUP
// reaches nodes as SIGUSR1: they should stop as after Ctrl-C. A second one ends them.
STN_MUST_CHECK enum stn_status launch_run(const struct launch_config *config, int *exit_code);
// A node calls it first of all in main: from then on the node ends with mpirun, however that ends,
// and the launcher learns of the node's end. Does nothing in a process that launch_run did not
// start.
void launch_attach(int rank);

// Runs any command once for every node of a cluster on this machine, without mpirun. Each node is a
// child in its CPU share, and learns its place from RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
// MASTER_PORT, OMP_NUM_THREADS and STANNIS_NODE. When one fails, the others are ended.
struct launch_local_config {
    const struct cluster *cluster;
    char *const *argv; // NULL at the end
    bool raw;          // false: each line of output begins with the node's name
};
// *exit_code is the first that was not 0.
STN_MUST_CHECK enum stn_status launch_local_run(const struct launch_local_config *config,
                                                int *exit_code);

#endif
