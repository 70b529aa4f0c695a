// SPDX-License-Identifier: Apache-2.0
#include "launch/supervise.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum stn_status launch_signals_begin(struct launch_signals *signals)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd < 0) {
        return stn_fail(STN_ERR_IO, "cannot wait for signals: %s", strerror(errno));
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, &signals->old_pipe);
    sigprocmask(SIG_BLOCK, &set, &signals->old_mask);
    return STN_OK;
}

void launch_signals_end(struct launch_signals *signals)
{
    while (launch_signals_read(signals)) {
        // A signal that came now is too late: the children have ended.
    }
    close(signals->fd);
    sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
    sigaction(SIGPIPE, &signals->old_pipe, NULL);
}

int launch_signals_read(struct launch_signals *signals)
{
    struct signalfd_siginfo info;
    ssize_t got = read(signals->fd, &info, sizeof(info));
    return got == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void launch_write(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(fd, data, bytes);
        if (written > 0) {
            data += written;
            bytes -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}
