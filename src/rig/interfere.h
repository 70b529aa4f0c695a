// SPDX-License-Identifier: Apache-2.0
// Other programs on a node, by plan: what makes the papers' experiments repeatable. Every node
// opens its own and tells it which step comes; the programs are started by a process that the node
// began before all else (starter.h), so they compete for its share of the CPUs, and they end with
// it, also when it is killed.
//
// K loads beside T computing threads take K/(K+T) of a confined share: with one thread busy*1 takes
// a half, busy*3 three quarters (docs/decisions/0020 says how exactly). A node that paces itself
// has no walls around its share: there, and on nodes that are not confined, the scheduler of the
// whole machine decides.
//
// One thread.
#ifndef RIG_INTERFERE_H
#define RIG_INTERFERE_H

#include "cluster/cluster.h"
#include "emulate/schedule.h"

struct rig_interfere;

// For node `rank` of the cluster. `text` as in schedule.h; NULL: nothing ever happens, *out is
// NULL.
STN_MUST_CHECK enum stn_status rig_interfere_open(const char *text, const struct cluster *cluster,
                                                  int rank, struct rig_interfere **out);
// Ends all programs. NULL is fine.
void rig_interfere_close(struct rig_interfere *interfere);
// Before step `step` is computed: starts what begins with it and ends what was to last up to the
// one before. NULL is fine. Allocates nothing unless a program starts or ends.
STN_MUST_CHECK enum stn_status rig_interfere_step(struct rig_interfere *interfere, int64_t step);

#endif
