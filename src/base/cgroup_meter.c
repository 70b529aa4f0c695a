// SPDX-License-Identifier: Apache-2.0
#include "base/cgroup_meter.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"

enum { TEXT_BYTES = 1024 };

static int open_in(const char *dir, const char *file)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", dir, file);
    bool fits = length >= 0 && (size_t)length < sizeof(path);
    return fits ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static bool read_all(int fd, char text[TEXT_BYTES])
{
    ssize_t length = fd >= 0 ? pread(fd, text, TEXT_BYTES - 1, 0) : -1;
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

// The number behind `key` at the beginning of a line; 0 if there is none.
static double value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            return strtod(line + length, NULL);
        }
    }
    return 0.0;
}

static double quota_of(const char *dir)
{
    char text[TEXT_BYTES];
    int fd = open_in(dir, "cpu.cfs_quota_us");
    double quota_us = read_all(fd, text) ? strtod(text, NULL) : 0.0;
    if (fd >= 0) {
        close(fd);
    }
    return quota_us > 0.0 ? quota_us * 1e-6 : 0.0; // −1: no limit
}

void base_cgroup_meter_open(const char *root, struct base_cgroup_meter *out)
{
    char dir[PATH_MAX];
    size_t top;
    *out = (struct base_cgroup_meter){.stat = -1, .usage = -1};
    if (base_cgroup_find(root, "cpu", dir, sizeof(dir), &top)) {
        out->stat = open_in(dir, "cpu.stat");
        out->usage = open_in(dir, "cpuacct.usage");
        out->quota_s = quota_of(dir);
    } else if (base_cgroup_find(root, "", dir, sizeof(dir), &top)) {
        out->stat = open_in(dir, "cpu.stat");
    }
}

void base_cgroup_meter_close(struct base_cgroup_meter *meter)
{
    if (meter->stat >= 0) {
        close(meter->stat);
    }
    if (meter->usage >= 0) {
        close(meter->usage);
    }
    *meter = (struct base_cgroup_meter){.stat = -1, .usage = -1};
}

// v1 counts nanoseconds, v2 microseconds, under other names: what is not there is 0.
struct base_cgroup_usage base_cgroup_meter_read(const struct base_cgroup_meter *meter)
{
    char text[TEXT_BYTES];
    struct base_cgroup_usage usage = {0};
    if (read_all(meter->stat, text)) {
        usage.throttled_s =
            value_of(text, "throttled_time") * 1e-9 + value_of(text, "throttled_usec") * 1e-6;
        usage.cpu_s = value_of(text, "usage_usec") * 1e-6;
        if (usage.cpu_s == 0.0) {
            usage.cpu_s = value_of(text, "nr_throttled") * meter->quota_s;
        }
    }
    if (read_all(meter->usage, text)) {
        usage.cpu_s = strtod(text, NULL) * 1e-9;
    }
    return usage;
}
