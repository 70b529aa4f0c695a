// SPDX-License-Identifier: Apache-2.0
// Children that run until they end, with their output and our signals passed on. For this folder.
#ifndef LAUNCH_SUPERVISE_H
#define LAUNCH_SUPERVISE_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>

#include "stannis/status.h"

// While a launcher waits, SIGINT, SIGTERM and SIGHUP are something to read, and a reader that goes
// away is no reason to die.
struct launch_signals {
    int fd;
    sigset_t old_mask;
    struct sigaction old_pipe;
};
STN_MUST_CHECK enum stn_status launch_signals_begin(struct launch_signals *signals);
void launch_signals_end(struct launch_signals *signals);
// The signal that arrived, or 0.
int launch_signals_read(struct launch_signals *signals);

// All of it, to one of our own descriptors; what cannot be written is lost, as there is nobody to
// tell.
void launch_write(int fd, const char *data, size_t bytes);

#endif
