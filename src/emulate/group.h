// SPDX-License-Identifier: Apache-2.0
// The control groups of one launcher: PARENT/stannis.PID.START with a group per confined node
// below, named by rank. For emulate.c and its tests.
#ifndef EMULATE_GROUP_H
#define EMULATE_GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulate/emulate.h"

struct emulate_group {
    enum emulate_method method; // PACING: no groups could be made
    char dir[PATH_MAX];
};

struct emulate_shares {
    const double *cpus; // [count], in rank order; 0: not confined
    int count;
    bool fit; // emulate_shares_fit
};

// Makes groups with quotas for the nodes that have a share: in the v1 tree of the cpu controller,
// or else in the v2 tree. `root` as in base_cgroup_find. Also removes groups of launchers that are
// gone.
void emulate_group_make(const char *root, const struct emulate_shares *shares,
                        struct emulate_group *out);
// Kills the processes in the groups below `dir`, and removes all. False: some are still there.
bool emulate_group_remove(const char *dir);
// Moves a process into the group of a node. False, with errno, when the kernel refuses.
bool emulate_group_enter(const char *dir, int rank, int pid);

// Gives other programs this part of the share of node `rank`: they have a group within the node's,
// made by the first call, and run before the node does. False: it cannot be made (a v2 group with
// processes has none below it).
bool emulate_group_set_load(const char *dir, int rank, double part);
bool emulate_group_enter_load(const char *dir, int rank, int pid);

// Field 22 of /proc/PID/stat; 0: there is no such process.
uint64_t emulate_start_time(int pid);

#endif
