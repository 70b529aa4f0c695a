// SPDX-License-Identifier: Apache-2.0
#include "launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// In the child: tells the parent the errno of what failed; 0 if `prepare` did, which has logged
// why.
static void tell_parent(int fd, int error)
{
    while (write(fd, &error, sizeof(error)) < 0 && errno == EINTR) {
    }
    _exit(127);
}

static void reset_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        signal(numbers[i], SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void become(const struct launch_child *child, pid_t parent, int failure)
{
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, child->death_signal) != 0) {
        tell_parent(failure, errno);
    }
    if (getppid() != parent) {
        _exit(127); // the parent ended before the death signal was set
    }
    reset_signals();
    if (child->prepare && child->prepare(child->context) != STN_OK) {
        tell_parent(failure, 0);
    }
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        (child->out >= 0 && dup2(child->out, STDOUT_FILENO) < 0) ||
        (child->err >= 0 && dup2(child->err, STDERR_FILENO) < 0)) {
        tell_parent(failure, errno);
    }
    execvp(child->argv[0], child->argv);
    tell_parent(failure, errno);
}

enum stn_status launch_child_start(const struct launch_child *child, pid_t *out)
{
    int failure[2], error = 0;
    if (pipe2(failure, O_CLOEXEC) != 0) {
        return stn_fail(STN_ERR_IO, "cannot start %s: %s", child->argv[0], strerror(errno));
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        become(child, parent, failure[1]);
    }
    int fork_error = errno;
    close(failure[1]);
    if (pid < 0) {
        close(failure[0]);
        return stn_fail(STN_ERR_IO, "cannot start %s: %s", child->argv[0], strerror(fork_error));
    }
    ssize_t got;
    do { // the pipe ends when the program runs
        got = read(failure[0], &error, sizeof(error));
    } while (got < 0 && errno == EINTR);
    close(failure[0]);
    if (got == (ssize_t)sizeof(error)) {
        waitpid(pid, NULL, 0);
        return error ? stn_fail(STN_ERR_IO, "cannot start %s: %s", child->argv[0], strerror(error))
                     : STN_ERR_IO;
    }
    *out = pid;
    return STN_OK;
}

int launch_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
