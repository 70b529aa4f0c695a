// SPDX-License-Identifier: Apache-2.0
// A plan as a table for people: a row a node, what the cluster is predicted to do, and what is
// doubtful. Pure.
#ifndef REPORT_PLAN_H
#define REPORT_PLAN_H

#include "stannis/plan.h"

// Calls `line` for each, without a newline.
void report_plan_print(const struct stn_plan *plan, void (*line)(void *context, const char *text),
                       void *context);

#endif
