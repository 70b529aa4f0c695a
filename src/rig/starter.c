// SPDX-License-Identifier: Apache-2.0
// Requests and answers are whole messages on a socket pair. What runs in the child calls only what
// may be called after a fork of a process with threads: tests begin it late.
#include "rig/starter.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig/program.h"

struct request {
    double share;
    int32_t stop; // this pid; 0: start one
    int32_t gzip;
};

struct answer {
    int32_t pid;   // of what was started
    int32_t value; // errno where that failed; how what was stopped had ended
};

static struct {
    pthread_mutex_t lock;
    pid_t pid; // 0: there is none
    int fd;
} starter = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

// ---- the child ---------------------------------------------------------------------------------

static struct answer start(const struct request *request)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        rig_program_run(request->gzip != 0, request->share, parent);
    }
    return (struct answer){.pid = pid, .value = pid < 0 ? errno : 0};
}

static struct answer stop(pid_t pid)
{
    int wait_status = 0;
    kill(pid, SIGKILL); // still ours: nobody else waits for it
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    return (struct answer){.pid = pid, .value = wait_status};
}

// The node finishes its step when it is asked to end, and so do its programs.
static void ignore_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        signal(numbers[i], SIG_IGN);
    }
}

noreturn static void serve(int fd, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(0); // it ended before the kernel knew that we end with it
    }
    ignore_signals();
    fd = dup2(fd, 0); // the only one it needs
    close_range(1, UINT_MAX, 0);
    struct request request;
    ssize_t got;
    while ((got = recv(fd, &request, sizeof(request), 0)) == (ssize_t)sizeof(request) ||
           (got < 0 && errno == EINTR)) {
        if (got < 0) {
            continue;
        }
        const struct answer answer = request.stop > 0 ? stop(request.stop) : start(&request);
        if (send(fd, &answer, sizeof(answer), 0) != (ssize_t)sizeof(answer)) {
            break;
        }
    }
    _exit(0);
}

// ---- the parent --------------------------------------------------------------------------------

enum stn_status rig_starter_begin(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return stn_fail(STN_ERR_IO, "cannot make a socket pair: %s", strerror(errno));
    }
    pthread_mutex_lock(&starter.lock);
    pid_t parent = getpid(), pid = starter.pid ? -1 : fork();
    if (pid == 0) {
        serve(ends[1], parent);
    }
    int error = starter.pid ? EALREADY : errno;
    close(ends[1]);
    if (pid > 0) {
        starter.pid = pid;
        starter.fd = ends[0];
    } else {
        close(ends[0]);
    }
    pthread_mutex_unlock(&starter.lock);
    return pid > 0 ? STN_OK
                   : stn_fail(STN_ERR_IO, "cannot start the process that starts programs: %s",
                              strerror(error));
}

void rig_starter_end(void)
{
    pthread_mutex_lock(&starter.lock);
    if (starter.pid) {
        close(starter.fd);
        kill(starter.pid, SIGKILL);
        while (waitpid(starter.pid, NULL, 0) < 0 && errno == EINTR) {
        }
        starter.pid = 0;
        starter.fd = -1;
    }
    pthread_mutex_unlock(&starter.lock);
}

// False: nobody answers.
static bool ask(const struct request *request, struct answer *out)
{
    ssize_t done;
    pthread_mutex_lock(&starter.lock);
    do {
        done = send(starter.fd, request, sizeof(*request), MSG_NOSIGNAL);
    } while (done < 0 && errno == EINTR);
    bool ok = done == (ssize_t)sizeof(*request);
    while (ok && (done = recv(starter.fd, out, sizeof(*out), 0)) < 0 && errno == EINTR) {
    }
    pthread_mutex_unlock(&starter.lock);
    return ok && done == (ssize_t)sizeof(*out);
}

enum stn_status rig_starter_start(const char *node, bool gzip, double share, pid_t *pid, int *fd)
{
    const struct request request = {.share = share, .gzip = gzip};
    struct answer answer;
    if (!ask(&request, &answer)) {
        return stn_fail(STN_ERR_IO,
                        "node %s: the process that starts programs which interfere is not there",
                        node);
    }
    if (answer.pid < 0) {
        return stn_fail(STN_ERR_IO, "node %s: cannot start a program that interferes: %s", node,
                        strerror(answer.value));
    }
    *fd = pidfd_open(answer.pid, 0);
    if (*fd < 0) {
        int error = errno, wait_status;
        (void)rig_starter_stop(answer.pid, &wait_status);
        return stn_fail(STN_ERR_IO, "node %s: cannot watch a program that interferes: %s", node,
                        strerror(error));
    }
    *pid = answer.pid;
    return STN_OK;
}

bool rig_starter_stop(pid_t pid, int *wait_status)
{
    const struct request request = {.stop = pid};
    struct answer answer;
    bool ok = ask(&request, &answer);
    *wait_status = ok ? answer.value : 0;
    return ok;
}
