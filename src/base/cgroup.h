// SPDX-License-Identifier: Apache-2.0
// What control groups (v1, v2 or both at once) grant to this process: the tightest limit among its
// own group and all that group's ancestors we can see. Reads files only; any thread.
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

struct base_cgroup_limits {
    double cpu_quota;    // CPUs' worth of time; 0: no limit
    size_t memory_bytes; // 0: no limit
};

// `root` goes before every path: "" for this machine, a made-up tree in tests.
struct base_cgroup_limits base_cgroup_limits(const char *root);
// The folder of this process's own group: in the v1 tree of `controller`, or, for "", in the v2
// tree. The first *top bytes of it are the mount point. False: there is no such tree.
bool base_cgroup_find(const char *root, const char *controller, char *dir, size_t size,
                      size_t *top);

#endif
