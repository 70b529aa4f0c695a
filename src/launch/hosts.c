// SPDX-License-Identifier: Apache-2.0
// Runs `PROGRAM --version --protocol && command -v orted` on each other host. orted is the daemon
// that mpirun starts there.
#include "launch/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/child.h"
#include "launch/line.h"
#include "stannis/stannis.h"
#include "wire/wire.h"

enum { BATCH_MAX = 64, SSH_FAILED = 255, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };
static const char version[] = "stannis " STN_VERSION, protocol_word[] = "protocol ";

struct host_check {
    const struct cluster_node *node;
    pid_t pid;
    int fd; // stdout and stderr of the command; −1: at the end
    char text[1024];
    size_t bytes;
    int exit_code; // −1: it did not end in time
};

// ---- running -----------------------------------------------------------------------------------

static enum stn_status start(const struct launch_config *config, const char *command,
                             const struct cluster_node *node, struct host_check *check)
{
    int ends[2];
    *check = (struct host_check){.node = node, .fd = -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return stn_fail(STN_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    }
    struct launch_words words = {0};
    launch_line_ssh(config, &words);
    launch_words_add(&words, "%s", node->host);
    launch_words_add(&words, "%s", command);
    struct launch_child child = {
        .argv = words.items, .out = ends[1], .err = ends[1], .death_signal = SIGKILL};
    enum stn_status status = words.failed ? stn_fail(STN_ERR_NO_MEMORY, "no memory to start ssh")
                                          : launch_child_start(&child, &check->pid);
    close(ends[1]);
    launch_words_fini(&words);
    if (status != STN_OK) {
        close(ends[0]);
        return status;
    }
    check->fd = ends[0];
    return STN_OK;
}

static void take(struct host_check *check)
{
    char rest[256];
    size_t room = sizeof(check->text) - 1 - check->bytes;
    ssize_t got =
        read(check->fd, room ? check->text + check->bytes : rest, room ? room : sizeof(rest));
    if (got > 0) {
        check->bytes += room ? (size_t)got : 0;
    } else if (got == 0 || errno != EINTR) {
        close(check->fd);
        check->fd = -1;
    }
}

// Reads until the output of all has ended, or time is up.
static void listen_to(struct host_check *checks, int count, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd fds[BATCH_MAX];
        int open = 0;
        for (int i = 0; i < count; i++) {
            fds[i] = (struct pollfd){.fd = checks[i].fd, .events = POLLIN};
            open += checks[i].fd >= 0;
        }
        int64_t left_ns = deadline_ns - base_clock_ns();
        if (open == 0 || left_ns <= 0) {
            return;
        }
        int ready = poll(fds, (nfds_t)count, (int)(left_ns / 1000000) + 1);
        for (int i = 0; ready > 0 && i < count; i++) {
            if (fds[i].revents) {
                take(&checks[i]);
            }
        }
    }
}

static void finish(struct host_check *check)
{
    int wait_status = 0;
    bool late = check->fd >= 0;
    if (late) {
        kill(-check->pid, SIGKILL);
        close(check->fd);
    }
    while (waitpid(check->pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    check->exit_code = late ? -1 : launch_exit_code(wait_status);
    check->text[check->bytes] = '\0';
}

// ---- judging -----------------------------------------------------------------------------------

// The first line that begins with `word`, or for "" the last line that is not empty. The text is
// cut into its lines.
static const char *find_line(char *text, const char *word)
{
    const char *found = NULL;
    char *save;
    for (char *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save)) {
        if (strncmp(line, word, strlen(word)) == 0 && (!found || !*word)) {
            found = line;
        }
    }
    return found;
}

static enum stn_status judge_failure(struct host_check *check, const char *program)
{
    const char *name = check->node->name, *host = check->node->host;
    char protocol[LAUNCH_PROTOCOL_BYTES];
    launch_protocol(protocol);
    bool has_program = strstr(check->text, protocol) != NULL;
    const char *last = find_line(check->text, "");
    last = last ? last : "it said nothing";
    if (check->exit_code == SSH_FAILED) {
        return stn_fail(STN_ERR_NODE_LOST, "node %s: cannot reach host %s: %s", name, host, last);
    }
    if (has_program) {
        return stn_fail(STN_ERR_NOT_FOUND,
                        "node %s: host %s has no orted; install Open MPI there (openmpi-bin)", name,
                        host);
    }
    if (check->exit_code == NOT_FOUND || check->exit_code == NOT_EXECUTABLE) {
        return stn_fail(STN_ERR_NOT_FOUND, "node %s: host %s has no program %s; install %s there",
                        name, host, program, version);
    }
    return stn_fail(STN_ERR_INVALID, "node %s: %s --version on host %s failed with code %d: %s",
                    name, program, host, check->exit_code, last);
}

void launch_protocol(char text[LAUNCH_PROTOCOL_BYTES])
{
    snprintf(text, LAUNCH_PROTOCOL_BYTES, "%s%d %016" PRIx64, protocol_word, WIRE_PROTOCOL,
             wire_hash());
}

// Programs understand each other if they speak the same protocol, whatever their versions.
static enum stn_status judge_protocol(struct host_check *check, const char *program)
{
    const char *name = check->node->name, *host = check->node->host;
    char ours[LAUNCH_PROTOCOL_BYTES], text[sizeof(check->text)];
    launch_protocol(ours);
    memcpy(text, check->text, sizeof(text));
    const char *theirs = find_line(text, protocol_word);
    const char *their_version = find_line(check->text, "stannis ");
    if (!their_version) {
        return stn_fail(STN_ERR_INVALID, "node %s: %s on host %s does not tell its version", name,
                        program, host);
    }
    if (!theirs || strcmp(theirs, ours) != 0) {
        return stn_fail(STN_ERR_INVALID,
                        "node %s: host %s has %s of %s, but this is %s of %s; install the same "
                        "Stannis there",
                        name, host, their_version, theirs ? theirs : "no protocol", version, ours);
    }
    return STN_OK;
}

static enum stn_status judge(struct host_check *check, const char *program, double timeout_seconds)
{
    const char *name = check->node->name, *host = check->node->host;
    if (check->exit_code < 0) {
        return stn_fail(STN_ERR_NODE_LOST, "node %s: host %s did not answer within %g s", name,
                        host, timeout_seconds);
    }
    if (check->exit_code != 0) {
        return judge_failure(check, program);
    }
    return judge_protocol(check, program);
}

// ---- all of them -------------------------------------------------------------------------------

// Whether a host is this machine, where mpirun needs no ssh.
static bool is_own_host(const char *host)
{
    char own[HOST_NAME_MAX + 1] = "";
    gethostname(own, sizeof(own) - 1);
    size_t length = strcspn(own, ".");
    bool is_short_name = length > 0 && strncmp(host, own, length) == 0 && !host[length];
    return strcmp(host, "localhost") == 0 || strcmp(host, own) == 0 || is_short_name;
}

static bool is_first_on_host(const struct cluster *cluster, int index)
{
    for (int i = 0; i < index; i++) {
        const char *host = cluster->nodes[i].host;
        if (host && strcmp(host, cluster->nodes[index].host) == 0) {
            return false;
        }
    }
    return true;
}

// Checks the hosts of nodes from *next on, as many as go at once.
static enum stn_status check_batch(const struct launch_config *config, const char *program,
                                   const char *command, int *next)
{
    const struct cluster *cluster = config->cluster;
    struct host_check *checks = calloc(BATCH_MAX, sizeof(*checks));
    if (!checks) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to check the hosts");
    }
    int64_t deadline_ns = base_clock_ns() + (int64_t)(fmin(config->timeout_seconds, 1e6) * 1e9);
    enum stn_status status = STN_OK;
    int count = 0;
    for (; *next < cluster->count && count < BATCH_MAX && status == STN_OK; ++*next) {
        const char *host = cluster->nodes[*next].host;
        if (host && !is_own_host(host) && is_first_on_host(cluster, *next)) {
            status = start(config, command, &cluster->nodes[*next], &checks[count]);
            count += status == STN_OK;
        }
    }
    listen_to(checks, count, status == STN_OK ? deadline_ns : 0);
    for (int i = 0; i < count; i++) {
        finish(&checks[i]);
        if (status == STN_OK) {
            status = judge(&checks[i], program, config->timeout_seconds);
        }
    }
    free(checks);
    return status;
}

enum stn_status launch_check_hosts(const struct launch_config *config)
{
    char program[PATH_MAX];
    enum stn_status status = launch_program(program);
    if (status != STN_OK) {
        return status;
    }
    char *quoted = launch_words_join((char *[]){program, NULL});
    char *command = NULL;
    if (!quoted || asprintf(&command, "%s --version --protocol && command -v orted", quoted) < 0) {
        free(quoted);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to check the hosts");
    }
    for (int next = 0; next < config->cluster->count && status == STN_OK;) {
        status = check_batch(config, program, command, &next);
    }
    free(command);
    free(quoted);
    return status;
}
