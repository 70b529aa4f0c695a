// SPDX-License-Identifier: Apache-2.0
// What emulation does to a training on this node: programs beside it by plan (interfere.h), and
// pauses where its share of the CPUs has no walls. A training that wants neither has no rig.
#ifndef RIG_RIG_H
#define RIG_RIG_H

#include "cluster/cluster.h"
#include "crew/hooks.h"

struct rig;

// For node `rank` of the cluster. `interfere` as in emulate/schedule.h; NULL: no programs. *out is
// NULL if there is nothing to do. Before there are programs, rig_starter_begin was called.
STN_MUST_CHECK enum stn_status rig_open(const char *interfere, const struct cluster *cluster,
                                        int rank, struct rig **out);
void rig_close(struct rig *rig); // NULL is fine
// NULL for NULL. Borrowed.
const struct crew_hooks *rig_hooks(const struct rig *rig);
// The CPUs that this process keeps to by pausing; 0: it does not.
double rig_paced_cpus(void);

#endif
