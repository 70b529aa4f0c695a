// SPDX-License-Identifier: Apache-2.0
// Starts another program as a child that cannot outlive this process. For this folder.
#ifndef LAUNCH_CHILD_H
#define LAUNCH_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "stannis/status.h"

struct launch_child {
    char *const *argv; // argv[0] is looked up in PATH; NULL at the end
    int out, err;      // descriptors for its stdout and stderr; −1: ours. Its stdin is /dev/null
    int death_signal;  // that it gets when this process ends, in whatever way
    // Runs in the child before the program, still with our stderr; may be NULL. If it fails it has
    // logged why.
    enum stn_status (*prepare)(void *context);
    void *context;
};

// The child has a session of its own, so that a terminal's Ctrl-C reaches this process only, and
// default signal handling. Call from a thread that lives as long as the child should.
STN_MUST_CHECK enum stn_status launch_child_start(const struct launch_child *child, pid_t *out);
// The code that a shell would give: the exit code, or 128 + the signal that ended the child.
int launch_exit_code(int wait_status);

#endif
