// SPDX-License-Identifier: Apache-2.0
// Points of a step at which something else may be done to a node: emulation slows it (rig/), tests
// say how fast it is or let it fail. One table for all of them; a real training has none (NULL),
// and any call of a table may be NULL.
#ifndef CREW_HOOKS_H
#define CREW_HOOKS_H

#include <stdint.h>

#include "stannis/status.h"

struct hypertune_report;

struct crew_hooks {
    void *context;
    // Before step `step` (from 1) is computed. A failure is one of this node's in that step.
    enum stn_status (*step)(void *context, int node, int64_t step);
    // A micro-batch, or several abreast, have been computed.
    void (*computed)(void *context);
    // In place of the clocks: what the node has measured, before it is told to node 0; and the time
    // that it has needed in a step until it is compared with the others.
    void (*measured)(void *context, int node, struct hypertune_report *report);
    double (*pace)(void *context, int node, double seconds);
};

#endif
