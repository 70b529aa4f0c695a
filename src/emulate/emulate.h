// SPDX-License-Identifier: Apache-2.0
// Nodes of this machine with a CPU share each. Every node gets a control group (v1 or v2) with a
// CPU quota of a short period; where groups cannot be made, the process paces itself.
//
// The launcher makes the groups and tells its children by the environment; each child calls
// emulate_join first of all in main. A group's name has the launcher's pid and start time; the next
// launcher removes groups whose launcher is gone.
#ifndef EMULATE_EMULATE_H
#define EMULATE_EMULATE_H

#include "cluster/cluster.h"
#include "stannis/status.h"

enum emulate_method { EMULATE_CGROUP_V1, EMULATE_CGROUP_V2, EMULATE_PACING };

struct emulate;

// Shares that add up to more CPUs than this process may use (affinity, quota) are refused.
STN_MUST_CHECK enum stn_status emulate_create(const struct cluster *cluster, struct emulate **out);
// Ends what still runs in the groups and removes them. NULL is fine.
void emulate_destroy(struct emulate *emulate);
enum emulate_method emulate_method(const struct emulate *emulate);
// The method in words, as "control groups (v1)".
const char *emulate_method_text(enum emulate_method method);
// Sets the environment variables that emulate_join reads, in this process, for children.
STN_MUST_CHECK enum stn_status emulate_export(const struct emulate *emulate);
// Puts process `pid` into the group of node `rank`: for launchers other than mpirun.
STN_MUST_CHECK enum stn_status emulate_enter(const struct emulate *emulate, int rank, int pid);

// In a child: this process becomes node `rank`. Without the environment variables it does nothing.
STN_MUST_CHECK enum stn_status emulate_join(int rank);
// The CPU share to which this process is paced; 0: it is not.
double emulate_pace_share(void);
// Called after every micro-batch. A paced process sleeps until its CPU time is within its share of
// the time since the last call; any other returns at once.
void emulate_pace(void);

#endif
