// SPDX-License-Identifier: Apache-2.0
// Learns which node ended first, and how. mpirun knows it, too, but at times ends without telling.
// Nodes on the launcher's machine keep a connection to it while they live; the kernel closes it
// before mpirun can notice their end. Nodes on other hosts have none; only mpirun can tell of them.
// For this folder.
#ifndef LAUNCH_WITNESS_H
#define LAUNCH_WITNESS_H

#include "stannis/status.h"

struct launch_witness {
    int fd;                // epoll's; readable when there is something to take
    int door;              // where nodes connect
    int killed_rank;       // the first that ended without a farewell; −1: none
    int failed_rank, code; // the first whose farewell was a code other than 0; −1: none
};

// Listens for nodes that know this name, which no other launcher has.
STN_MUST_CHECK enum stn_status launch_witness_begin(struct launch_witness *witness,
                                                    const char *name);
void launch_witness_end(struct launch_witness *witness);
// Notes what has happened since the last call, in the order in which it happened. Does not wait.
void launch_witness_take(struct launch_witness *witness);

// In a node: connects, and sends its exit code at exit. A launcher that cannot be reached is no
// error: it is on another machine.
void launch_witness_attend(const char *name, int rank);

#endif
