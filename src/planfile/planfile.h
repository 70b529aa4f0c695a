// SPDX-License-Identifier: Apache-2.0
// Plan files: the tuner makes them, a training and the simulator read them (to the simulator the
// nodes of a plan are devices). The public calls are in stannis/plan.h; this is what the modules
// need besides.
#ifndef PLANFILE_PLANFILE_H
#define PLANFILE_PLANFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "stannis/plan.h"

struct stn_plan {
    struct stn_plan_info info;
    struct stn_plan_node *node; // [info.nodes]
    struct base_arena memory;   // of everything here, and of the plan itself
};

// A plan without values, with room for its nodes; NULL when memory is out.
struct stn_plan *planfile_alloc(int nodes);
// Whether a text is meant to be a plan file, sound or not: JSON with the key that only those have.
bool planfile_is(const char *text, size_t bytes);
// A file's text; `label` is its name for messages.
STN_MUST_CHECK enum stn_status planfile_parse(const char *text, size_t bytes, const char *label,
                                              struct stn_plan **out);

#endif
