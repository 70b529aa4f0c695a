// SPDX-License-Identifier: Apache-2.0
// Runs mpirun as a child. On SIGINT and SIGTERM mpirun ends all nodes within two seconds, but it
// hands SIGUSR1 on to them; so a user's first request to stop reaches nodes as SIGUSR1. The second
// one ends mpirun, the third kills it.
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "emulate/emulate.h"
#include "launch/child.h"
#include "launch/filter.h"
#include "launch/hosts.h"
#include "launch/line.h"
#include "launch/supervise.h"
#include "launch/witness.h"
#include "stannis/log.h"

enum { READ_BYTES = 1 << 16, SETTLE_MS = 50, INTERRUPTED = 130 };

static const char launcher_variable[] = "STANNIS_LAUNCHER"; // tells nodes the launcher's name

struct run {
    struct launch_filter filter;
    struct launch_signals signals;
    struct launch_witness witness;
    pid_t pid;
    int pid_fd, err_fd; // err_fd: −1 after its end
    int stops;          // how often a user has asked to stop
};

// ---- watching mpirun ---------------------------------------------------------------------------

static void pass_on(void *context, const char *data, size_t bytes)
{
    (void)context;
    launch_write(STDERR_FILENO, data, bytes);
}

static void take_errors(struct run *run)
{
    static char data[READ_BYTES]; // as much as a pipe holds, so that mpirun's texts come whole
    ssize_t got = read(run->err_fd, data, sizeof(data));
    if (got > 0) {
        launch_filter_feed(&run->filter, data, (size_t)got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        close(run->err_fd);
        run->err_fd = -1;
    }
}

static void take_signal(struct run *run)
{
    if (!launch_signals_read(&run->signals)) {
        return;
    }
    run->stops++;
    if (run->stops <= 2) {
        kill(run->pid, run->stops == 1 ? SIGUSR1 : SIGTERM);
    } else {
        kill(-run->pid, SIGKILL);
    }
}

// Passes on output and signals until mpirun has ended and all of its output is read.
static int watch(struct run *run)
{
    bool ended = false;
    int wait_status = 0;
    while (!ended || run->err_fd >= 0) {
        struct pollfd fds[] = {{.fd = run->err_fd, .events = POLLIN},
                               {.fd = run->signals.fd, .events = POLLIN},
                               {.fd = run->witness.fd, .events = POLLIN},
                               {.fd = ended ? -1 : run->pid_fd, .events = POLLIN}};
        bool held = run->filter.held_bytes > 0;
        int ready = poll(fds, 4, ended || held ? SETTLE_MS : -1);
        if (ready == 0) {
            launch_filter_settle(&run->filter);
            if (ended) { // another process still has the pipe; mpirun's output is read
                return wait_status;
            }
        }
        if (ready <= 0) {
            continue;
        }
        if (fds[0].revents) {
            take_errors(run);
        }
        if (fds[1].revents) {
            take_signal(run);
        }
        if (fds[2].revents) {
            launch_witness_take(&run->witness);
        }
        ended = ended || (fds[3].revents && waitpid(run->pid, &wait_status, WNOHANG) == run->pid);
    }
    return wait_status;
}

static enum stn_status run_mpirun(struct run *run, char *const *argv, int *wait_status)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return stn_fail(STN_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    }
    fcntl(ends[1], F_SETFL, 0); // mpirun expects to be able to write
    struct launch_child child = {.argv = argv, .out = -1, .err = ends[1], .death_signal = SIGTERM};
    enum stn_status status = launch_child_start(&child, &run->pid);
    close(ends[1]);
    run->err_fd = ends[0];
    if (status != STN_OK) {
        goto out_close;
    }
    run->pid_fd = pidfd_open(run->pid, 0);
    if (run->pid_fd < 0) {
        status = stn_fail(STN_ERR_IO, "cannot watch mpirun: %s", strerror(errno));
        kill(-run->pid, SIGKILL);
        waitpid(run->pid, NULL, 0);
        goto out_close;
    }
    *wait_status = watch(run);
    launch_witness_take(&run->witness);
    launch_filter_settle(&run->filter);
    close(run->pid_fd);
out_close:
    if (run->err_fd >= 0) {
        close(run->err_fd);
    }
    return status;
}

// ---- before and after --------------------------------------------------------------------------

static enum stn_status find_mpirun(void)
{
    const char *path = getenv("PATH");
    char *list = strdup(path ? path : "/usr/bin:/bin"), *rest = list, file[PATH_MAX];
    bool found = false;
    for (char *dir; !found && rest && (dir = strsep(&rest, ":"));) {
        snprintf(file, sizeof(file), "%s/mpirun", *dir ? dir : ".");
        found = access(file, X_OK) == 0;
    }
    free(list);
    return found ? STN_OK
                 : stn_fail(STN_ERR_NOT_FOUND, "mpirun is not installed; several nodes need Open "
                                               "MPI (Debian: apt install openmpi-bin)");
}

// Tells nodes by their environment which launcher this is, and how large its terminal is: their own
// stderr is a pipe.
static void export_ourselves(const char *name)
{
    struct winsize window;
    char text[32];
    setenv(launcher_variable, name, 1);
    unsetenv(LAUNCH_TERMINAL_VARIABLE);
    if (isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0) {
        snprintf(text, sizeof(text), "%dx%d", window.ws_col, window.ws_row);
        setenv(LAUNCH_TERMINAL_VARIABLE, text, 1);
    }
}

static bool is_confined(const struct cluster *cluster)
{
    for (int i = 0; i < cluster->count; i++) {
        if (cluster->nodes[i].cpus > 0) {
            return true;
        }
    }
    return false;
}

static enum stn_status make_shares(const struct cluster *cluster, struct emulate **out)
{
    if (!is_confined(cluster)) {
        return STN_OK;
    }
    enum stn_status status = emulate_create(cluster, out);
    if (status == STN_OK) {
        status = emulate_export(*out);
    }
    if (status == STN_OK) {
        stn_log(STN_LOG_INFO, "CPU shares of %d nodes: by %s", cluster->count,
                emulate_method_text(emulate_method(*out)));
    }
    return status;
}

static const char *name_of(const struct cluster *cluster, int rank)
{
    return rank >= 0 && rank < cluster->count ? cluster->nodes[rank].name : "?";
}

static void tell_killed(const char *node, int number)
{
    stn_log(STN_LOG_ERROR, "node %s was ended by signal %d (%s)", node, number, strsignal(number));
}

// Logs why the nodes failed when no node has done so, from mpirun's texts and from the witness.
static void explain(const struct run *run, const struct cluster *cluster, int code)
{
    int rank, number;
    char reason[400];
    const struct launch_witness *witness = &run->witness;
    if (run->filter.last && run->filter.last != '\n') {
        launch_write(STDERR_FILENO, "\n", 1); // behind a node's progress line
    }
    if (launch_filter_death(&run->filter, &rank, &number)) {
        tell_killed(name_of(cluster, rank), number);
    } else if (witness->killed_rank >= 0 && code > 128) {
        tell_killed(name_of(cluster, witness->killed_rank), code - 128);
    } else if (witness->failed_rank >= 0) {
        stn_log(STN_LOG_ERROR, "node %s ended with code %d and did not say why",
                name_of(cluster, witness->failed_rank), witness->code);
    } else if (launch_filter_exit(&run->filter, &rank)) {
        stn_log(STN_LOG_ERROR, "node %s ended with code %d and did not say why",
                name_of(cluster, rank), code);
    } else if (launch_filter_host(&run->filter, reason, sizeof(reason))) {
        stn_log(STN_LOG_ERROR, "host %s was lost: the connection to its mpirun daemon has ended",
                reason);
    } else if (launch_filter_reason(&run->filter, reason, sizeof(reason))) {
        stn_log(STN_LOG_ERROR, "the nodes could not run; mpirun says: %s", reason);
    } else {
        stn_log(STN_LOG_ERROR, "a node ended with code %d and did not say why", code);
    }
}

// Our exit code, from mpirun's.
static int conclude(const struct run *run, const struct cluster *cluster, int code)
{
    if (run->stops > 0 && (code > 128 || run->stops > 1)) {
        return INTERRUPTED; // nodes could not catch the signal yet, or were not waited for
    }
    if (code == 0 || code == INTERRUPTED) {
        return code;
    }
    if (!run->filter.node_failed) {
        explain(run, cluster, code);
    }
    return code > 128 ? 1 : code;
}

enum stn_status launch_run(const struct launch_config *config, int *exit_code)
{
    struct run run = {.filter = {.pass = pass_on}, .err_fd = -1};
    struct emulate *emulate = NULL;
    struct launch_words words = {0};
    int wait_status = 0;
    char name[48]; // no other launcher has it, on any machine or in any container
    snprintf(name, sizeof(name), "%d.%lld", getpid(), (long long)base_clock_ns());
    enum stn_status status = find_mpirun();
    if (status == STN_OK && launch_is_remote(config->cluster)) {
        status = launch_check_hosts(config);
    }
    if (status == STN_OK) {
        status = launch_signals_begin(&run.signals);
    }
    if (status != STN_OK) {
        return status;
    }
    status = launch_witness_begin(&run.witness, name);
    if (status != STN_OK) {
        goto out_signals;
    }
    export_ourselves(name);
    status = make_shares(config->cluster, &emulate);
    if (status == STN_OK) {
        status = launch_line_make(config, &words);
    }
    if (status == STN_OK) {
        status = run_mpirun(&run, words.items, &wait_status);
    }
    if (status == STN_OK) {
        *exit_code = conclude(&run, config->cluster, launch_exit_code(wait_status));
    }
    launch_words_fini(&words);
    emulate_destroy(emulate);
    launch_witness_end(&run.witness);
out_signals:
    launch_signals_end(&run.signals);
    return status;
}

void launch_attach(int rank)
{
    const char *name = getenv(launcher_variable);
    if (name) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        launch_witness_attend(name, rank);
    }
}
