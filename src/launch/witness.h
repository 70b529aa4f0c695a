// SPDX-License-Identifier: Apache-2.0
// Which node ended first, and how. mpirun knows it too, but at times ends without a word. Nodes on
// the launcher's machine keep a connection to it while they live; the kernel closes it before
// mpirun can notice their end. Nodes on other hosts have none: of them only mpirun can tell. For
// this folder.
#ifndef LAUNCH_WITNESS_H
#define LAUNCH_WITNESS_H

#include "stannis/status.h"

struct launch_witness {
    int fd;                // epoll's; readable when there is something to take
    int door;              // where nodes connect
    int killed_rank;       // the first that ended without a farewell; −1: none
    int failed_rank, code; // the first whose farewell was a code other than 0; −1: none
};

// For nodes that know this name, which no other launcher has.
STN_MUST_CHECK enum stn_status launch_witness_begin(struct launch_witness *witness,
                                                    const char *name);
void launch_witness_end(struct launch_witness *witness);
// What has happened since, in the order in which it happened. Does not wait.
void launch_witness_take(struct launch_witness *witness);

// In a node: connects, and says farewell at exit. A launcher that cannot be reached is not an
// error: it is on another machine.
void launch_witness_attend(const char *name, int rank);

#endif
