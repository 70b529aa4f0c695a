// SPDX-License-Identifier: Apache-2.0
// A small process that starts others for this one. A training must not fork: MPI may have memory
// that a child must not touch, and there are threads. So `stannis train --interfere` forks once,
// before it has either; this child waits for requests on a socket, and what it starts are its own
// children.
//
// It stands where its parent stood at the fork: in the node's control group, with the environment
// of that moment. It ends with its parent, however that ends, and its children end with it: the
// kernel kills them. The parent is the thread that began it.
//
// There is one for a process, as there is one MPI. Any thread may ask; one is answered at a time.
#ifndef RIG_STARTER_H
#define RIG_STARTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "stannis/status.h"

STN_MUST_CHECK enum stn_status rig_starter_begin(void);
// With all that it started. Nothing happens if none was begun.
void rig_starter_end(void);

// A program as program.h has it; `node` is for messages. *fd is readable when it has ended; its pid
// stays its own until rig_starter_stop.
STN_MUST_CHECK enum stn_status rig_starter_start(const char *node, bool gzip, double share,
                                                 pid_t *pid, int *fd);
// Kills the program if it still runs, and says how it ended, as waitpid does. False: the starter is
// gone, and with it the program.
bool rig_starter_stop(pid_t pid, int *wait_status);

#endif
