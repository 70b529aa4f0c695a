// SPDX-License-Identifier: Apache-2.0
// Other programs on a node, by plan: what makes the papers' experiments repeatable. Every node
// opens its own and tells it which step comes; the programs are children of the node, so they
// compete for its share of the CPUs, and they end with it, also when it is killed.
//
// K loads beside T computing threads take K/(K+T) of a confined share: with one thread busy*1 takes
// a half, busy*3 three quarters (docs/decisions/0020 says how exactly). A node that paces itself
// has no walls around its share: there, and on nodes that are not confined, the scheduler of the
// whole machine decides.
//
// One thread, the one that will live longest: the kernel ends children with the thread that started
// them.
#ifndef EMULATE_INTERFERE_H
#define EMULATE_INTERFERE_H

#include "cluster/cluster.h"
#include "emulate/schedule.h"

struct emulate_interfere;

// For node `rank` of the cluster. `text` as in schedule.h; NULL: nothing ever happens, *out is
// NULL.
STN_MUST_CHECK enum stn_status emulate_interfere_open(const char *text,
                                                      const struct cluster *cluster, int rank,
                                                      struct emulate_interfere **out);
// Ends all programs. NULL is fine.
void emulate_interfere_close(struct emulate_interfere *interfere);
// Before step `step` is computed: starts what begins with it and ends what was to last up to the
// one before. NULL is fine. Allocates nothing unless a program starts or ends.
STN_MUST_CHECK enum stn_status emulate_interfere_step(struct emulate_interfere *interfere,
                                                      int64_t step);

#endif
