// SPDX-License-Identifier: Apache-2.0
// A program that prints watts: for meters that are asked over the network. It may print a line now
// and then for as long as it likes, or one line and end; then it is started again after a while.
// Its output is read as it comes and never waited for. It gets no input, its messages go nowhere,
// and it ends with the meter. A line that is no number of watts is the end of it: better none than
// a wrong one.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "energy/meter_kind.h"
#include "energy/power_text.h"

enum { WORDS_MAX = 32, LINE_MOST = 256 };

static const double again_s = 5.0; // between two starts of a program that ends

struct cmd {
    char text[512];
    char *words[WORDS_MAX + 1];
    pid_t pid; // 0: does not run
    int out;   // what it prints; −1: nothing to come
    char line[LINE_MOST];
    size_t length;
    double started_s;
    bool printed; // something, since it was started
};

// ---- the process -------------------------------------------------------------------------------

static int prepare_files(posix_spawn_file_actions_t *files, int out)
{
    int error = posix_spawn_file_actions_init(files);
    error = error ? error : posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    error = error ? error : posix_spawn_file_actions_adddup2(files, out, 1);
    error = error ? error : posix_spawn_file_actions_addopen(files, 2, "/dev/null", O_WRONLY, 0);
    // Among them the connections of the node.
    return error ? error : posix_spawn_file_actions_addclosefrom_np(files, 3);
}

static int prepare_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_init(attributes);
    error =
        error ? error
              : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                         POSIX_SPAWN_SETSIGMASK);
    error = error ? error : posix_spawnattr_setsigmask(attributes, &none);
    return error ? error : posix_spawnattr_setsigdefault(attributes, &all);
}

static bool start(struct energy_meter *meter, struct cmd *cmd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return energy_meter_fail(meter, "%s: %s", cmd->words[0], strerror(errno));
    }
    int error = prepare_files(&files, ends[1]);
    error = error ? error : prepare_attributes(&attributes);
    error = error
                ? error
                : posix_spawnp(&cmd->pid, cmd->words[0], &files, &attributes, cmd->words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        close(ends[0]);
        cmd->pid = error ? 0 : cmd->pid;
        return energy_meter_fail(meter, "%s: %s", cmd->words[0], strerror(error ? error : errno));
    }
    cmd->out = ends[0];
    cmd->length = 0;
    cmd->printed = false;
    cmd->started_s = energy_meter_now_s(meter);
    return true;
}

static void forget_output(struct cmd *cmd)
{
    if (cmd->out >= 0) {
        close(cmd->out);
        cmd->out = -1;
    }
}

// With everything that it has started.
static void stop(struct cmd *cmd)
{
    forget_output(cmd);
    if (cmd->pid > 0) {
        kill(-cmd->pid, SIGKILL);
        while (waitpid(cmd->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        cmd->pid = 0;
    }
}

// ---- what it prints ----------------------------------------------------------------------------

static bool take_line(struct energy_meter *meter, struct cmd *cmd, struct energy_account *account)
{
    double watts;
    cmd->line[cmd->length] = '\0';
    cmd->length = 0;
    if (!energy_parse_watts(cmd->line, &watts)) {
        return energy_meter_fail(meter, "%s printed '%.80s', which is no number of watts",
                                 cmd->words[0], cmd->line);
    }
    cmd->printed = true;
    energy_account_watts(account, energy_meter_now_s(meter), watts);
    return true;
}

static bool take_output(struct energy_meter *meter, struct cmd *cmd, const char *bytes,
                        size_t count, struct energy_account *account)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            if (cmd->length > 0 && !take_line(meter, cmd, account)) {
                return false;
            }
        } else if (cmd->length + 1 < LINE_MOST) {
            cmd->line[cmd->length++] = bytes[i];
        } else {
            cmd->line[cmd->length] = '\0';
            return energy_meter_fail(meter, "%s prints lines of more than %d characters",
                                     cmd->words[0], LINE_MOST);
        }
    }
    return true;
}

// It has printed what it will. A program that ends without watts does not get better.
static bool reap(struct energy_meter *meter, struct cmd *cmd, struct energy_account *account)
{
    int status = 0;
    if (cmd->length > 0 && !take_line(meter, cmd, account)) { // without a newline
        return false;
    }
    forget_output(cmd);
    pid_t ended = waitpid(cmd->pid, &status, WNOHANG);
    if (ended != cmd->pid) {
        return true; // it closed its output, and still runs: looked at again later
    }
    cmd->pid = 0;
    if (cmd->printed && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    return WIFSIGNALED(status) ? energy_meter_fail(meter, "%s was ended by signal %d",
                                                   cmd->words[0], WTERMSIG(status))
                               : energy_meter_fail(meter, "%s ended with code %d%s", cmd->words[0],
                                                   WEXITSTATUS(status),
                                                   cmd->printed ? "" : " and printed no watts");
}

static bool read_output(struct energy_meter *meter, struct cmd *cmd, struct energy_account *account)
{
    char bytes[512];
    ssize_t count;
    while ((count = read(cmd->out, bytes, sizeof(bytes))) > 0) {
        if (!take_output(meter, cmd, bytes, (size_t)count, account)) {
            return false;
        }
    }
    bool more = count < 0 && (errno == EAGAIN || errno == EINTR);
    return more || reap(meter, cmd, account);
}

// ---- the kind ----------------------------------------------------------------------------------

static bool cmd_open(struct energy_meter *meter, const char *argument)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));
    int count = 0;
    if (!cmd || strlen(argument) >= sizeof(cmd->text)) {
        free(cmd);
        return energy_meter_fail(meter, "no memory, or too long a command");
    }
    cmd->out = -1;
    memcpy(cmd->text, argument, strlen(argument) + 1);
    for (char *rest = cmd->text, *word; count < WORDS_MAX && (word = strtok_r(rest, " ", &rest));) {
        cmd->words[count++] = word;
    }
    if (count == 0 || !start(meter, cmd)) {
        free(cmd);
        return count > 0 ? false : energy_meter_fail(meter, "no program to run");
    }
    snprintf(meter->what, sizeof(meter->what), "%.200s", argument);
    meter->scope = ENERGY_WALL;
    meter->is_watts = true;
    meter->gap_most_s = 30.0; // meters in the network are asked every few seconds
    meter->state = cmd;
    return true;
}

static bool cmd_read(struct energy_meter *meter, struct energy_account *account)
{
    struct cmd *cmd = meter->state;
    if (cmd->out >= 0 && !read_output(meter, cmd, account)) {
        return false;
    }
    if (cmd->out < 0 && cmd->pid > 0 && !reap(meter, cmd, account)) {
        return false;
    }
    bool is_due = energy_meter_now_s(meter) >= cmd->started_s + again_s;
    return cmd->pid > 0 || !is_due || start(meter, cmd);
}

static void cmd_close(struct energy_meter *meter)
{
    stop(meter->state);
    free(meter->state);
}

const struct energy_meter_kind energy_meter_cmd = {
    .name = "cmd",
    .help = "a program that prints watts, a line each, as cmd:PROGRAM",
    .needs_argument = true,
    .open = cmd_open,
    .read = cmd_read,
    .close = cmd_close,
    .period_s = 0.5,
};
