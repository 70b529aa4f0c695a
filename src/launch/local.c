// SPDX-License-Identifier: Apache-2.0
// Starts a command once for every node. Each child leads a session, so that the processes it starts
// can be ended with it; one that leaves the session is still in the node's control group, and ends
// with that.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "emulate/emulate.h"
#include "launch/child.h"
#include "launch/launch.h"
#include "launch/supervise.h"
#include "launch/tee.h"

enum { STREAMS = 2, NODE_FDS = STREAMS + 1 };
static const int64_t grace_ns = 2000000000; // between asking nodes to end and killing them

struct node {
    pid_t pid; // 0: not running
    int pid_fd;
    int fds[STREAMS]; // its stdout and stderr; −1: at the end, or not read by us
    struct launch_tee tees[STREAMS];
};

struct family {
    const struct launch_local_config *config;
    struct emulate *emulate;
    struct launch_signals signals;
    struct node *nodes;    // [count]
    struct pollfd *polled; // [1 + count · NODE_FDS]
    int count, port, running;
    int code;        // the first exit code that was not 0
    int64_t kill_ns; // when nodes that still run are killed; 0: never; INT64_MAX: they were
};

// ---- a child -----------------------------------------------------------------------------------

struct place {
    const struct family *family;
    int rank;
};

static bool set_number(const char *name, int number)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", number);
    return setenv(name, text, 1) == 0;
}

static enum stn_status take_place(void *context)
{
    const struct place *place = context;
    const struct family *family = place->family;
    const struct cluster_node *node = &family->config->cluster->nodes[place->rank];
    int threads =
        node->threads ? node->threads : base_cpu_threads(base_cpu_share().affinity, node->cpus);
    if (!set_number("RANK", place->rank) || !set_number("LOCAL_RANK", place->rank) ||
        !set_number("WORLD_SIZE", family->count) || !set_number("MASTER_PORT", family->port) ||
        !set_number("OMP_NUM_THREADS", threads) || setenv("MASTER_ADDR", "127.0.0.1", 1) != 0 ||
        setenv("STANNIS_NODE", node->name, 1) != 0) {
        return stn_fail(STN_ERR_NO_MEMORY, "node %s: no memory for its environment", node->name);
    }
    return emulate_enter(family->emulate, place->rank, getpid());
}

static void close_streams(int ends[STREAMS][2])
{
    for (int i = 0; i < STREAMS; i++) {
        for (int j = 0; j < 2; j++) {
            if (ends[i][j] >= 0) {
                close(ends[i][j]);
            }
        }
    }
}

static enum stn_status start_node(struct family *family, int rank)
{
    struct node *node = &family->nodes[rank];
    const char *name = family->config->cluster->nodes[rank].name;
    int ends[STREAMS][2] = {{-1, -1}, {-1, -1}};
    for (int i = 0; i < STREAMS && !family->config->raw; i++) {
        if (pipe2(ends[i], O_CLOEXEC) != 0) {
            close_streams(ends);
            return stn_fail(STN_ERR_IO, "node %s: cannot make a pipe: %s", name, strerror(errno));
        }
        node->tees[i] = (struct launch_tee){.name = name, .to = STDOUT_FILENO + i};
    }
    struct place place = {family, rank};
    struct launch_child child = {.argv = family->config->argv,
                                 .out = ends[0][1],
                                 .err = ends[1][1],
                                 .death_signal = SIGKILL,
                                 .prepare = take_place,
                                 .context = &place};
    enum stn_status status = launch_child_start(&child, &node->pid);
    for (int i = 0; i < STREAMS && status == STN_OK; i++) {
        node->fds[i] = ends[i][0];
        ends[i][0] = -1;
    }
    close_streams(ends);
    if (status != STN_OK) {
        return status;
    }
    family->running++;
    node->pid_fd = pidfd_open(node->pid, 0);
    return node->pid_fd >= 0
               ? STN_OK
               : stn_fail(STN_ERR_IO, "node %s: cannot be watched: %s", name, strerror(errno));
}

// ---- all of them -------------------------------------------------------------------------------

static void signal_all(const struct family *family, int number)
{
    for (int i = 0; i < family->count; i++) {
        if (family->nodes[i].pid > 0) {
            kill(-family->nodes[i].pid, number);
        }
    }
}

static void end_all(struct family *family)
{
    if (family->kill_ns == 0) {
        signal_all(family, SIGTERM);
        family->kill_ns = base_clock_ns() + grace_ns;
    }
}

static void take_end(struct family *family, struct node *node)
{
    int wait_status;
    kill(-node->pid, SIGKILL); // what it left behind; its pid is not reused until we wait for it
    if (waitpid(node->pid, &wait_status, WNOHANG) != node->pid) {
        return;
    }
    int code = launch_exit_code(wait_status);
    close(node->pid_fd);
    node->pid_fd = -1;
    node->pid = 0;
    family->running--;
    if (code != 0) {
        family->code = family->code ? family->code : code;
        end_all(family);
    }
}

static void take_output(struct node *node, int stream)
{
    char data[LAUNCH_TEE_BYTES];
    ssize_t got = read(node->fds[stream], data, sizeof(data));
    if (got > 0) {
        launch_tee_feed(&node->tees[stream], data, (size_t)got);
    } else if (got == 0 || errno != EINTR) {
        launch_tee_end(&node->tees[stream]);
        close(node->fds[stream]);
        node->fds[stream] = -1;
    }
}

// Passes a first signal on to the nodes; a second one kills them.
static void take_signal(struct family *family, int *signals)
{
    int number = launch_signals_read(&family->signals);
    if (number) {
        signal_all(family, ++*signals == 1 ? number : SIGKILL);
    }
}

static nfds_t fill_polled(struct family *family)
{
    nfds_t used = 0;
    family->polled[used++] = (struct pollfd){.fd = family->signals.fd, .events = POLLIN};
    for (int i = 0; i < family->count; i++) {
        const struct node *node = &family->nodes[i];
        for (int j = 0; j < STREAMS; j++) {
            family->polled[used++] = (struct pollfd){.fd = node->fds[j], .events = POLLIN};
        }
        family->polled[used++] = (struct pollfd){.fd = node->pid_fd, .events = POLLIN};
    }
    return used;
}

static int poll_ms(const struct family *family)
{
    if (family->kill_ns == 0 || family->kill_ns == INT64_MAX) {
        return -1;
    }
    int64_t left_ns = family->kill_ns - base_clock_ns();
    return left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0;
}

static void watch(struct family *family)
{
    int signals = 0;
    while (family->running > 0) {
        int ready = poll(family->polled, fill_polled(family), poll_ms(family));
        if (ready == 0) {
            signal_all(family, SIGKILL);
            family->kill_ns = INT64_MAX;
        }
        if (ready <= 0) {
            continue;
        }
        if (family->polled[0].revents) {
            take_signal(family, &signals);
        }
        for (int i = 0; i < family->count; i++) {
            const struct pollfd *polled = &family->polled[1 + i * NODE_FDS];
            for (int j = 0; j < STREAMS; j++) {
                if (polled[j].revents) {
                    take_output(&family->nodes[i], j);
                }
            }
            if (polled[STREAMS].revents) {
                take_end(family, &family->nodes[i]);
            }
        }
    }
}

// Reads the last output of nodes that have ended, without waiting: a process that is none of the
// nodes may still hold a pipe.
static void read_rest(struct family *family)
{
    nfds_t used = fill_polled(family);
    family->polled[0].fd = -1;
    while (poll(family->polled, used, 0) > 0) {
        for (int i = 0; i < family->count; i++) {
            for (int j = 0; j < STREAMS; j++) {
                if (family->polled[1 + i * NODE_FDS + j].revents) {
                    take_output(&family->nodes[i], j);
                }
            }
        }
        used = fill_polled(family);
        family->polled[0].fd = -1;
    }
}

// ---- begin and end -----------------------------------------------------------------------------

// Finds a port that is free now. Another program may take it before it is used; ports cannot be
// reserved for others.
static enum stn_status find_port(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
              getsockname(fd, (struct sockaddr *)&address, &size) == 0;
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (!ok) {
        return stn_fail(STN_ERR_IO, "cannot find a free port: %s", strerror(error));
    }
    *port = ntohs(address.sin_port);
    return STN_OK;
}

static enum stn_status check_nodes(const struct cluster *cluster)
{
    for (int i = 0; i < cluster->count; i++) {
        if (cluster->nodes[i].host) {
            return stn_fail(STN_ERR_INVALID, "node %s: is on host %s, but emulated nodes are here",
                            cluster->nodes[i].name, cluster->nodes[i].host);
        }
    }
    return STN_OK;
}

static enum stn_status make_shares(struct family *family)
{
    enum stn_status status = emulate_create(family->config->cluster, &family->emulate);
    if (status == STN_OK && emulate_method(family->emulate) == EMULATE_PACING) {
        status = stn_fail(STN_ERR_UNSUPPORTED,
                          "control groups cannot be made here (they need root, or a delegated "
                          "group), and only stannis itself can keep to a share without");
    }
    return status;
}

static enum stn_status run_all(struct family *family)
{
    enum stn_status status = STN_OK;
    for (int i = 0; i < family->count && status == STN_OK; i++) {
        status = start_node(family, i);
    }
    if (status != STN_OK) {
        signal_all(family, SIGKILL);
    }
    watch(family);
    return status;
}

enum stn_status launch_local_run(const struct launch_local_config *config, int *exit_code)
{
    int count = config->cluster->count;
    struct family family = {.config = config, .count = count};
    enum stn_status status = check_nodes(config->cluster);
    if (status == STN_OK) {
        status = find_port(&family.port);
    }
    if (status == STN_OK) {
        status = launch_signals_begin(&family.signals);
    }
    if (status != STN_OK) {
        return status;
    }
    family.nodes = calloc((size_t)count, sizeof(*family.nodes));
    family.polled = calloc(1 + (size_t)count * NODE_FDS, sizeof(*family.polled));
    if (!family.nodes || !family.polled) {
        status = stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", count);
        goto out_free;
    }
    for (int i = 0; i < count; i++) {
        family.nodes[i].pid_fd = family.nodes[i].fds[0] = family.nodes[i].fds[1] = -1;
    }
    status = make_shares(&family);
    if (status != STN_OK) {
        goto out_shares;
    }
    status = run_all(&family);
    *exit_code = family.code;
out_shares:
    emulate_destroy(family.emulate);
    read_rest(&family);
out_free:
    free(family.polled);
    free(family.nodes);
    launch_signals_end(&family.signals);
    return status;
}
