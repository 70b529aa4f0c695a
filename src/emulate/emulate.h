// SPDX-License-Identifier: Apache-2.0
// Nodes of this machine with a share of its CPUs each: a control group (v1 or v2) per node with a
// CPU quota of a short period, or, where groups cannot be made, pacing by the process itself.
//
// The launcher makes the groups and puts what its children need into the environment; each child
// calls emulate_join first thing in main. Groups carry the launcher's pid and start time; those of
// launchers that are gone are swept by the next one.
#ifndef EMULATE_EMULATE_H
#define EMULATE_EMULATE_H

#include "cluster/cluster.h"
#include "stannis/status.h"

enum emulate_method { EMULATE_CGROUP_V1, EMULATE_CGROUP_V2, EMULATE_PACING };

struct emulate;

// Refuses shares that add up to more than this machine (affinity, quota) has.
STN_MUST_CHECK enum stn_status emulate_create(const struct cluster *cluster, struct emulate **out);
// Ends what still runs in the groups and removes them. NULL is fine.
void emulate_destroy(struct emulate *emulate);
enum emulate_method emulate_method(const struct emulate *emulate);
// "control groups (v1)", …: for people.
const char *emulate_method_text(enum emulate_method method);
// Sets the environment variables that emulate_join reads, in this process, for children.
STN_MUST_CHECK enum stn_status emulate_export(const struct emulate *emulate);
// Puts this process (pid) into the group of node `rank`: what a launcher other than mpirun needs.
STN_MUST_CHECK enum stn_status emulate_enter(const struct emulate *emulate, int rank, int pid);

// In a child: takes its place as node `rank`. Without the environment variables it does nothing.
STN_MUST_CHECK enum stn_status emulate_join(int rank);
// The CPU share of this process by pacing, 0 when it is not paced.
double emulate_pace_share(void);
// Where pacing is the method: sleeps until this process's CPU time is within its share of the time
// passed since the last call. Called after every micro-batch; else it returns at once.
void emulate_pace(void);

#endif
