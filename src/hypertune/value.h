// SPDX-License-Identifier: Apache-2.0
// What moving from one split to another is worth to a cluster's objective (plan/energy.h). Pure.
#ifndef HYPERTUNE_VALUE_H
#define HYPERTUNE_VALUE_H

#include "base/arena.h"
#include "plan/energy.h"

// The cluster's objective, with powers of its own; NULL: no memory.
const struct plan_objective *hypertune_value_copy(struct base_arena *arena,
                                                  const struct plan_cluster *cluster);

// The part of what a step costs under `from` that `to` saves; negative: it costs more. A step that
// is slower than the least speed has to become faster, whatever that costs.
double hypertune_value_gain(const struct plan_cluster *cluster, const int from[], const int to[]);

// Its standard error, if the nodes' times are known to errors[i], relative.
double hypertune_value_error(const struct plan_cluster *cluster, const int from[], const int to[],
                             const double errors[]);

#endif
