// SPDX-License-Identifier: Apache-2.0
// /proc/self/cgroup says which group we are in, /proc/self/mountinfo where its tree is mounted and
// which part of it.
#include "base/cgroup.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

// A line of mountinfo, as far as we need it; the strings point into the line.
struct mount {
    char *root;    // which part of the tree is mounted
    char *point;   // where
    char *type;    // "cgroup", "cgroup2", …
    char *options; // of the file system: v1 names its controllers here
};

// The first line of dir/file.
static bool read_text(const char *dir, const char *file, char *text, size_t size)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", dir, file);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return false;
    }
    FILE *f = fopen(path, "re");
    if (!f) {
        return false;
    }
    bool ok = fgets(text, (int)size, f) != NULL;
    fclose(f);
    return ok;
}

static void tighten_cpu(struct base_cgroup_limits *limits, double quota_us, double period_us)
{
    if (quota_us <= 0 || period_us <= 0) {
        return;
    }
    double quota = quota_us / period_us;
    if (limits->cpu_quota == 0 || quota < limits->cpu_quota) {
        limits->cpu_quota = quota;
    }
}

static void tighten_memory(struct base_cgroup_limits *limits, const char *text)
{
    char *end;
    unsigned long long bytes = strtoull(text, &end, 10);
    // v1 writes "no limit" as a number near 2^63, v2 as "max".
    if (end == text || bytes == 0 || bytes >= (UINT64_C(1) << 62) || bytes > SIZE_MAX) {
        return;
    }
    if (limits->memory_bytes == 0 || bytes < limits->memory_bytes) {
        limits->memory_bytes = (size_t)bytes;
    }
}

static void read_group(const char *dir, struct base_cgroup_limits *limits)
{
    char text[128], period[128];
    double quota_us, period_us;
    if (read_text(dir, "cpu.max", text, sizeof(text)) &&
        sscanf(text, "%lf %lf", &quota_us, &period_us) == 2) {
        tighten_cpu(limits, quota_us, period_us);
    }
    if (read_text(dir, "cpu.cfs_quota_us", text, sizeof(text)) &&
        read_text(dir, "cpu.cfs_period_us", period, sizeof(period))) {
        tighten_cpu(limits, strtod(text, NULL), strtod(period, NULL));
    }
    if (read_text(dir, "memory.max", text, sizeof(text))) {
        tighten_memory(limits, text);
    }
    if (read_text(dir, "memory.limit_in_bytes", text, sizeof(text))) {
        tighten_memory(limits, text);
    }
}

// Whether `word` is an item of a comma-separated list.
static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *item = list; *item;) {
        size_t item_length = strcspn(item, ",");
        if (item_length == length && memcmp(item, word, length) == 0) {
            return true;
        }
        item += item_length + (item[item_length] == ',');
    }
    return false;
}

// The path of our group in the tree of `controller`; "" names the v2 tree.
static bool own_group(const char *root, const char *controller, char *path, size_t size)
{
    char name[PATH_MAX];
    snprintf(name, sizeof(name), "%s/proc/self/cgroup", root);
    FILE *f = fopen(name, "re");
    if (!f) {
        return false;
    }
    bool found = false;
    char line[LINE_BYTES];
    while (!found && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *group = list ? strchr(list + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *group++ = '\0';
        list++;
        found = *controller ? list_has(list, controller) : *list == '\0';
        if (found) {
            snprintf(path, size, "%s", group);
        }
    }
    fclose(f);
    return found;
}

// mountinfo writes space, tab, newline and backslash as \ooo.
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool parse_mount(char *line, struct mount *mount)
{
    line[strcspn(line, "\n")] = '\0';
    char *tail = strstr(line, " - ");
    if (!tail) {
        return false;
    }
    *tail = '\0';
    tail += 3;
    char *save, *field = strtok_r(line, " ", &save);
    for (int i = 0; field && i < 3; i++) {
        field = strtok_r(NULL, " ", &save);
    }
    mount->root = field;
    mount->point = field ? strtok_r(NULL, " ", &save) : NULL;
    mount->type = strtok_r(tail, " ", &save);
    field = mount->type ? strtok_r(NULL, " ", &save) : NULL;
    mount->options = field ? strtok_r(NULL, " ", &save) : NULL;
    if (!mount->point || !mount->options) {
        return false;
    }
    unescape(mount->root);
    unescape(mount->point);
    return true;
}

// The group's path below the mount point. A container may see its own group as the mount's root.
static const char *below_mount(const struct mount *mount, const char *group)
{
    if (strstr(group, "/..")) {
        return ""; // above what this name space shows
    }
    size_t length = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(group, mount->root, length) != 0 ||
        (group[length] != '/' && group[length] != '\0')) {
        return "";
    }
    return group + length;
}

// The group's directory; *top is how much of it is the mount point.
static bool group_dir(const char *root, const struct mount *mount, const char *group, char *dir,
                      size_t size, size_t *top)
{
    const char *below = below_mount(mount, group);
    int length =
        snprintf(dir, size, "%s%s%s", root, mount->point, strcmp(below, "/") == 0 ? "" : below);
    *top = strlen(root) + strlen(mount->point);
    return length >= 0 && (size_t)length < size;
}

// The group's directory and every one above it, up to the mount point.
static void read_ancestry(const char *root, const struct mount *mount, const char *group,
                          struct base_cgroup_limits *limits)
{
    char dir[PATH_MAX];
    size_t top;
    if (!group_dir(root, mount, group, dir, sizeof(dir), &top)) {
        return;
    }
    for (;;) {
        read_group(dir, limits);
        char *slash = strrchr(dir, '/');
        if (strlen(dir) <= top || !slash) {
            return;
        }
        *slash = '\0';
    }
}

static FILE *open_mounts(const char *root)
{
    char name[PATH_MAX];
    snprintf(name, sizeof(name), "%s/proc/self/mountinfo", root);
    return fopen(name, "re");
}

struct base_cgroup_limits base_cgroup_limits(const char *root)
{
    struct base_cgroup_limits limits = {0};
    char line[LINE_BYTES], group[LINE_BYTES];
    FILE *f = open_mounts(root);
    if (!f) {
        return limits;
    }
    while (fgets(line, sizeof(line), f)) {
        struct mount mount;
        if (!parse_mount(line, &mount)) {
            continue;
        }
        bool v2 = strcmp(mount.type, "cgroup2") == 0;
        bool v1 = strcmp(mount.type, "cgroup") == 0;
        if (v2 && own_group(root, "", group, sizeof(group))) {
            read_ancestry(root, &mount, group, &limits);
        }
        for (int i = 0; v1 && i < 2; i++) {
            const char *controller = i == 0 ? "cpu" : "memory";
            if (list_has(mount.options, controller) &&
                own_group(root, controller, group, sizeof(group))) {
                read_ancestry(root, &mount, group, &limits);
            }
        }
    }
    fclose(f);
    return limits;
}

bool base_cgroup_find(const char *root, const char *controller, char *dir, size_t size, size_t *top)
{
    char line[LINE_BYTES], group[LINE_BYTES];
    const char *type = *controller ? "cgroup" : "cgroup2";
    FILE *f = own_group(root, controller, group, sizeof(group)) ? open_mounts(root) : NULL;
    if (!f) {
        return false;
    }
    bool found = false;
    while (!found && fgets(line, sizeof(line), f)) {
        struct mount mount;
        found = parse_mount(line, &mount) && strcmp(mount.type, type) == 0 &&
                (*controller == '\0' || list_has(mount.options, controller)) &&
                group_dir(root, &mount, group, dir, size, top);
    }
    fclose(f);
    return found;
}
