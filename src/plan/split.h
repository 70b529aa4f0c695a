// SPDX-License-Identifier: Apache-2.0
// How many micro-batches of a step each node computes so that the step is as short as can be: the
// exact integer optimum of
//
//     minimise  max t_i(m_i)   with   Σ m_i = M,   floor_i ≤ m_i ≤ cap_i,   t_i(m) = a_i + c_i·m
//
// where a node without micro-batches takes no time: it holds nobody up. So a node whose first
// micro-batch would take longer than all the others need without it gets none. Of several optima
// the one whose other nodes are done early too, and for equal times the lower number gets more.
//
// The water level τ with Σ clamp((τ − a_i)/c_i) just below M is found by Newton's method; what is
// below it is rounded down and the rest, about one a node, handed out one by one (plan/greedy.h),
// which makes the result exact. O(n log n). Pure; memory is the caller's.
#ifndef PLAN_SPLIT_H
#define PLAN_SPLIT_H

#include "plan/greedy.h"
#include "plan/node.h"

// Fills split[cluster->count], with `heap` of as many as scratch. The nodes' lines are what counts.
// Refused, with what would help: no node, impossible values, floors above M or above a cap, caps
// below M.
STN_MUST_CHECK enum stn_status plan_split(const struct plan_cluster *cluster, int micro_batches,
                                          struct plan_offer heap[], int split[]);

// What plan_split asks of the nodes themselves, whatever M is.
STN_MUST_CHECK enum stn_status plan_split_check(const struct plan_cluster *cluster);

#endif
