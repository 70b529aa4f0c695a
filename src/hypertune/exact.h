// SPDX-License-Identifier: Apache-2.0
// plan/split.h as a split for hypertune/decide.h, with its scratch memory. Pure; one thread at a
// time.
#ifndef HYPERTUNE_EXACT_H
#define HYPERTUNE_EXACT_H

#include "hypertune/decide.h"

struct hypertune_exact;

STN_MUST_CHECK enum stn_status hypertune_exact_create(int nodes, struct hypertune_exact **out);
void hypertune_exact_destroy(struct hypertune_exact *exact);
hypertune_split hypertune_exact_split; // the context is a struct hypertune_exact of as many nodes

#endif
