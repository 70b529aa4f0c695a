// SPDX-License-Identifier: Apache-2.0
#include "emulate/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "emulate/quota.h"

static const double v1_process = 1024, v2_process = 100;
static const double load_weight = 100; // in processes: loads run before the node does
static const char prefix[] = "stannis.", load_name[] = "load";
static const int64_t removal_ns_max = 5000000000;

// ---- files -------------------------------------------------------------------------------------

static bool join(char *path, size_t size, const char *dir, const char *name)
{
    int length = snprintf(path, size, "%s/%s", dir, name);
    if (length < 0 || (size_t)length >= size) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

static bool write_text(const char *dir, const char *file, const char *text)
{
    char path[PATH_MAX];
    int fd = join(path, sizeof(path), dir, file)
                 ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
                 : -1;
    if (fd < 0) {
        return false;
    }
    ssize_t written = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return written == (ssize_t)strlen(text);
}

static bool write_number(const char *dir, const char *file, int64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, number);
    return write_text(dir, file, text);
}

uint64_t emulate_start_time(int pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) {
        return 0;
    }
    size_t length = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[length] = '\0';
    // The second field is the program's name in brackets, which may hold anything.
    char *field = strrchr(text, ')');
    for (int i = 2; field && i < 22; i++) {
        field = strchr(field + 1, ' ');
    }
    return field ? strtoull(field, NULL, 10) : 0;
}

// ---- removing ----------------------------------------------------------------------------------

static void kill_members(const char *dir)
{
    char path[PATH_MAX];
    FILE *f = join(path, sizeof(path), dir, "cgroup.procs") ? fopen(path, "re") : NULL;
    int pid;
    while (f && fscanf(f, "%d", &pid) == 1) {
        if (pid > 0) { // 0: a process of another name space
            kill(pid, SIGKILL);
        }
    }
    if (f) {
        fclose(f);
    }
}

// Removes a group once its processes, which have been killed, are gone.
static bool remove_one(const char *dir, int64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        kill_members(dir);
        if (rmdir(dir) == 0 || errno == ENOENT) {
            return true;
        }
        if (errno != EBUSY || base_clock_ns() > deadline_ns) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
}

static void remove_node(const char *dir, int64_t deadline_ns)
{
    char load[PATH_MAX];
    if (join(load, sizeof(load), dir, load_name)) {
        remove_one(load, deadline_ns);
    }
    remove_one(dir, deadline_ns);
}

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

bool emulate_group_remove(const char *dir)
{
    int64_t deadline_ns = base_clock_ns() + removal_ns_max;
    DIR *folder = opendir(dir);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char path[PATH_MAX];
        if (is_number(entry->d_name) && join(path, sizeof(path), dir, entry->d_name)) {
            remove_node(path, deadline_ns);
        }
    }
    if (folder) {
        closedir(folder);
    }
    return remove_one(dir, deadline_ns);
}

static void sweep(const char *parent)
{
    DIR *folder = opendir(parent);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int pid;
        uint64_t start;
        char path[PATH_MAX];
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            sscanf(entry->d_name + strlen(prefix), "%d.%" SCNu64, &pid, &start) == 2 &&
            emulate_start_time(pid) != start && join(path, sizeof(path), parent, entry->d_name)) {
            emulate_group_remove(path);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

// ---- making ------------------------------------------------------------------------------------

// A weight that the kernel refuses is let be: without it nodes are less even, but nothing is wrong.
static void set_weight(enum emulate_method method, const char *dir, double processes)
{
    if (method == EMULATE_CGROUP_V1) {
        write_number(dir, "cpu.shares", llround(fmax(2, processes * v1_process)));
    } else {
        double weight = fmin(10000, fmax(1, processes * v2_process));
        write_number(dir, "cpu.weight", llround(weight));
    }
}

// Kernels before 5.14 know no burst; there the node does without.
static bool set_quota(enum emulate_method method, const char *dir, struct emulate_quota quota)
{
    char text[64];
    if (method == EMULATE_CGROUP_V1) {
        bool ok = write_number(dir, "cpu.cfs_period_us", quota.period_us) &&
                  write_number(dir, "cpu.cfs_quota_us", quota.quota_us);
        write_number(dir, "cpu.cfs_burst_us", quota.burst_us);
        return ok;
    }
    snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, quota.quota_us, quota.period_us);
    bool ok = write_text(dir, "cpu.max", text);
    write_number(dir, "cpu.max.burst", quota.burst_us);
    return ok;
}

static bool make_node(enum emulate_method method, const char *dir, int rank, double cpus, bool fits)
{
    char name[16], path[PATH_MAX];
    snprintf(name, sizeof(name), "%d", rank);
    if (!join(path, sizeof(path), dir, name) || mkdir(path, 0755) != 0) {
        return false;
    }
    set_weight(method, path, emulate_weight_of(cpus));
    return set_quota(method, path, emulate_quota_of(cpus, fits));
}

static bool make_nodes(enum emulate_method method, const char *dir,
                       const struct emulate_shares *shares)
{
    if (method == EMULATE_CGROUP_V2 && !write_text(dir, "cgroup.subtree_control", "+cpu")) {
        return false;
    }
    double weight = 0;
    for (int i = 0; i < shares->count; i++) {
        double cpus = shares->cpus[i];
        if (cpus > 0 && !make_node(method, dir, i, cpus, shares->fit)) {
            return false;
        }
        weight += cpus > 0 ? emulate_weight_of(cpus) : 0;
    }
    set_weight(method, dir, weight);
    return true;
}

// Makes the launcher's group below `parent`. To move a process, its user must be allowed to write
// to a group that is above both the old and the new one, so that is checked first.
static bool make_below(enum emulate_method method, const char *parent,
                       const struct emulate_shares *shares, struct emulate_group *out)
{
    char path[PATH_MAX], name[64];
    if (!join(path, sizeof(path), parent, "cgroup.procs") || access(path, W_OK) != 0) {
        return false;
    }
    sweep(parent);
    snprintf(name, sizeof(name), "%s%d.%" PRIu64, prefix, getpid(), emulate_start_time(getpid()));
    if (!join(out->dir, sizeof(out->dir), parent, name) || mkdir(out->dir, 0755) != 0) {
        return false;
    }
    if (!make_nodes(method, out->dir, shares)) {
        emulate_group_remove(out->dir);
        return false;
    }
    out->method = method;
    return true;
}

// A v2 group other than the root cannot both hold processes and have groups with quotas below it.
// Our own group holds this process, so a group further up, as far as this user may write, gets the
// nodes.
static bool make_v2(char *dir, size_t top, const struct emulate_shares *shares,
                    struct emulate_group *out)
{
    for (;;) {
        if (write_text(dir, "cgroup.subtree_control", "+cpu") &&
            make_below(EMULATE_CGROUP_V2, dir, shares, out)) {
            return true;
        }
        char *slash = strrchr(dir, '/');
        if (strlen(dir) <= top || !slash) {
            return false;
        }
        *slash = '\0';
    }
}

void emulate_group_make(const char *root, const struct emulate_shares *shares,
                        struct emulate_group *out)
{
    char dir[PATH_MAX];
    size_t top;
    if (base_cgroup_find(root, "cpu", dir, sizeof(dir), &top) &&
        make_below(EMULATE_CGROUP_V1, dir, shares, out)) {
        return;
    }
    if (base_cgroup_find(root, "", dir, sizeof(dir), &top) && make_v2(dir, top, shares, out)) {
        return;
    }
    *out = (struct emulate_group){.method = EMULATE_PACING};
}

bool emulate_group_enter(const char *dir, int rank, int pid)
{
    char name[16], path[PATH_MAX];
    snprintf(name, sizeof(name), "%d", rank);
    return join(path, sizeof(path), dir, name) && write_number(path, "cgroup.procs", pid);
}

// ---- other programs of a node ------------------------------------------------------------------

static bool read_number(const char *dir, const char *file, int64_t *out)
{
    char path[PATH_MAX];
    FILE *f = join(path, sizeof(path), dir, file) ? fopen(path, "re") : NULL;
    bool ok = f && fscanf(f, "%" SCNd64, out) == 1;
    if (f) {
        fclose(f);
    }
    return ok;
}

static bool load_dir(char *path, size_t size, const char *dir, int rank)
{
    int length = snprintf(path, size, "%s/%d/%s", dir, rank, load_name);
    return length > 0 && (size_t)length < size;
}

bool emulate_group_set_load(const char *dir, int rank, double part)
{
    char node[PATH_MAX], load[PATH_MAX], name[16];
    int64_t period_us, quota_us;
    snprintf(name, sizeof(name), "%d", rank);
    if (!join(node, sizeof(node), dir, name) || !load_dir(load, sizeof(load), dir, rank) ||
        !read_number(node, "cpu.cfs_period_us", &period_us) ||
        !read_number(node, "cpu.cfs_quota_us", &quota_us) ||
        (mkdir(load, 0755) != 0 && errno != EEXIST)) {
        return false;
    }
    write_number(load, "cpu.shares", llround(load_weight * v1_process));
    return write_number(load, "cpu.cfs_period_us", period_us) &&
           write_number(load, "cpu.cfs_quota_us", llround(part * (double)quota_us));
}

bool emulate_group_enter_load(const char *dir, int rank, int pid)
{
    char load[PATH_MAX];
    return load_dir(load, sizeof(load), dir, rank) && write_number(load, "cgroup.procs", pid);
}
