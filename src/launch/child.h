// SPDX-License-Identifier: Apache-2.0
// Another program as a child that cannot outlive this process. For this folder.
#ifndef LAUNCH_CHILD_H
#define LAUNCH_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "stannis/status.h"

struct launch_child {
    char *const *argv; // argv[0] is looked up in PATH; NULL at the end
    int out, err;      // what its stdout and stderr become; −1: ours. Its stdin is /dev/null
    int death_signal;  // what it gets when this process ends, however that happens
    // Runs in the child before the program does, still with our stderr; may be NULL. Whoever fails
    // has said why.
    enum stn_status (*prepare)(void *context);
    void *context;
};

// In a session of its own, so that a terminal's Ctrl-C reaches us only, with default signal
// handling. Call from a thread that lives as long as the child should.
STN_MUST_CHECK enum stn_status launch_child_start(const struct launch_child *child, pid_t *out);
// As a shell says it: the exit code, or 128 + the signal that ended it.
int launch_exit_code(int wait_status);

#endif
