// SPDX-License-Identifier: Apache-2.0
// What a launcher needs while its children run: signals that can be read, and output passed on. For
// this folder.
#ifndef LAUNCH_SUPERVISE_H
#define LAUNCH_SUPERVISE_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>

#include "stannis/status.h"

// While a launcher waits, SIGINT, SIGTERM and SIGHUP can be read from a descriptor, and SIGPIPE is
// ignored.
struct launch_signals {
    int fd;
    sigset_t old_mask;
    struct sigaction old_pipe;
};
STN_MUST_CHECK enum stn_status launch_signals_begin(struct launch_signals *signals);
void launch_signals_end(struct launch_signals *signals);
// The signal that arrived, or 0.
int launch_signals_read(struct launch_signals *signals);

// Writes all of it to stdout or stderr. Output that cannot be written is lost: there is no place to
// report it.
void launch_write(int fd, const char *data, size_t bytes);

#endif
