// SPDX-License-Identifier: Apache-2.0
// Turning devices on and off from another process.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "csd/device/lock.h"
#include "csd/device/run.h"

enum {
    OFF_TIMEOUT_MS = 120000,
    LINE_BYTES = 1024,
    LOG_BYTES_MAX = 1 << 20, // a log that is longer begins anew
};

enum stn_status csd_power_state(const struct csd_rack *rack, int index, enum csd_power_state *out,
                                pid_t *pid)
{
    char folder[CSD_PATH_BYTES];
    enum stn_status status = csd_rack_folder(rack, index, folder);
    if (status == STN_OK) {
        status = csd_lock_holder(folder, pid);
    }
    *out = status == STN_OK && *pid != 0 ? CSD_ON : CSD_OFF;
    return status;
}

// ---- On -----------------------------------------------------------------------------------------

static int open_log(const char *folder)
{
    char path[CSD_PATH_BYTES];
    struct stat about;
    if (csd_path(path, folder, CSD_LOG_FILE) != STN_OK) {
        return -1;
    }
    int keep = stat(path, &about) == 0 && about.st_size > LOG_BYTES_MAX ? O_TRUNC : 0;
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | keep, 0600);
}

static int spawn(const char *folder, int out, int err, pid_t *pid)
{
    char program[] = "stannis", verb[] = "csd", device[] = "device", copy[CSD_PATH_BYTES];
    char *const arguments[] = {program, verb, device, copy, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(copy, sizeof(copy), "%s", folder);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    error = error ? error
                  : posix_spawn(pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

// Starts a device; *answer is where its one line comes from, −1 if it is on already.
static enum stn_status start_one(const struct csd_rack *rack, int index, int *answer)
{
    char folder[CSD_PATH_BYTES];
    enum csd_power_state state;
    pid_t pid;
    int ends[2];
    *answer = -1;
    enum stn_status status = csd_power_state(rack, index, &state, &pid);
    if (status == STN_OK) {
        status = csd_rack_folder(rack, index, folder);
    }
    if (status != STN_OK || state == CSD_ON) {
        return status;
    }
    int log = open_log(folder);
    if (log < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        status = stn_fail(STN_ERR_IO, "%s: cannot open its log: %s", folder, strerror(errno));
        if (log >= 0) {
            close(log);
        }
        return status;
    }
    int error = spawn(folder, ends[1], log, &pid);
    close(ends[1]);
    close(log);
    if (error != 0) {
        close(ends[0]);
        return stn_fail(STN_ERR_IO, "%s: cannot start the device: %s", folder, strerror(error));
    }
    *answer = ends[0];
    return STN_OK;
}

static enum stn_status await_ready(const struct csd_rack *rack, int index, int answer)
{
    char line[LINE_BYTES];
    size_t used = 0;
    ssize_t got = 1;
    while (used < sizeof(line) - 1 && got != 0) {
        got = read(answer, line + used, sizeof(line) - 1 - used);
        used += got > 0 ? (size_t)got : 0;
        if (got < 0 && errno != EINTR) {
            break;
        }
    }
    close(answer);
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "ready") == 0) {
        return STN_OK;
    }
    return stn_fail(STN_ERR_IO, "%s/csd.%d does not start: %s", rack->path, index,
                    line[0] ? line : "it ended without a word; its log may say more");
}

enum stn_status csd_power_on(const struct csd_rack *rack, const struct csd_rack_progress *progress,
                             int *started)
{
    int answers[CSD_RACK_DEVICES_MAX], count = 0;
    enum stn_status status = STN_OK;
    *started = 0;
    for (; count < rack->count && status == STN_OK; count++) {
        status = start_one(rack, count, &answers[count]);
    }
    for (int i = 0; i < count; i++) {
        if (answers[i] < 0) {
            continue;
        }
        if (status != STN_OK) { // one failure is said
            close(answers[i]);
            continue;
        }
        status = await_ready(rack, i, answers[i]);
        *started += status == STN_OK;
        if (progress && progress->made) {
            progress->made(progress->context, i, rack->count);
        }
    }
    return status;
}

// ---- Off ----------------------------------------------------------------------------------------

// A descriptor of the process, so that its number cannot come to mean another.
static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

// A device that failed to end well said so at the end of its log.
static enum stn_status check_log(const char *folder)
{
    char path[CSD_PATH_BYTES], tail[LINE_BYTES] = "";
    struct stat about;
    if (csd_path(path, folder, CSD_LOG_FILE) != STN_OK) {
        return STN_ERR_INVALID;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return STN_OK;
    }
    if (fstat(fd, &about) == 0) {
        off_t at = about.st_size > LINE_BYTES - 1 ? about.st_size - (LINE_BYTES - 1) : 0;
        ssize_t got = pread(fd, tail, sizeof(tail) - 1, at);
        tail[got > 0 ? got : 0] = '\0';
    }
    close(fd);
    size_t length = strlen(tail);
    if (length > 0 && tail[length - 1] == '\n') {
        tail[length - 1] = '\0';
    }
    char *newline = strrchr(tail, '\n'), *last = newline ? newline + 1 : tail;
    char *error = strstr(last, "error: ");
    return error ? stn_fail(STN_ERR_IO, "%s: power off: %s", folder, error + strlen("error: "))
                 : STN_OK;
}

static enum stn_status await_end(const struct csd_rack *rack, int index, int process)
{
    char folder[CSD_PATH_BYTES];
    struct pollfd wait = {.fd = process, .events = POLLIN};
    int ready;
    do {
        ready = poll(&wait, 1, OFF_TIMEOUT_MS);
    } while (ready < 0 && errno == EINTR);
    close(process);
    enum stn_status status = csd_rack_folder(rack, index, folder);
    if (status == STN_OK && ready == 0) {
        status = stn_fail(STN_ERR_IO, "%s: the device has not ended after %d s", folder,
                          OFF_TIMEOUT_MS / 1000);
    }
    return status == STN_OK ? check_log(folder) : status;
}

// −1 in *process: it is off.
static enum stn_status ask_to_end(const struct csd_rack *rack, int index, int *process)
{
    enum csd_power_state state;
    pid_t pid;
    *process = -1;
    enum stn_status status = csd_power_state(rack, index, &state, &pid);
    if (status != STN_OK || state == CSD_OFF) {
        return status;
    }
    *process = open_process(pid);
    if (*process < 0) {
        return errno == ESRCH ? STN_OK
                              : stn_fail(STN_ERR_IO, "%s/csd.%d: cannot reach process %d: %s",
                                         rack->path, index, (int)pid, strerror(errno));
    }
    if (syscall(SYS_pidfd_send_signal, *process, SIGTERM, NULL, 0) != 0 && errno != ESRCH) {
        status = stn_fail(STN_ERR_IO, "%s/csd.%d: cannot stop process %d: %s", rack->path, index,
                          (int)pid, strerror(errno));
        close(*process);
        *process = -1;
    }
    return status;
}

enum stn_status csd_power_off(const struct csd_rack *rack, const struct csd_rack_progress *progress,
                              int *stopped)
{
    int processes[CSD_RACK_DEVICES_MAX], count = 0;
    enum stn_status status = STN_OK;
    *stopped = 0;
    for (; count < rack->count && status == STN_OK; count++) {
        status = ask_to_end(rack, count, &processes[count]);
    }
    for (int i = 0; i < count; i++) {
        if (processes[i] < 0) {
            continue;
        }
        enum stn_status ended = await_end(rack, i, processes[i]);
        status = status == STN_OK ? ended : status;
        *stopped += ended == STN_OK;
        if (progress && progress->made) {
            progress->made(progress->context, i, rack->count);
        }
    }
    return status;
}
