// SPDX-License-Identifier: Apache-2.0
// Threads that do one piece of work side by side, each its own part, and meet between its stages.
// A waiting thread spins for a moment and then sleeps, so that other programs get the core.
//
// Lifetime: create → run × n → destroy, all by one thread, which is lane 0 of every run.
#ifndef BASE_LANES_H
#define BASE_LANES_H

#include "stannis/status.h"

struct base_lanes;

typedef void base_lane_call(void *context, int lane);

// `count` ≥ 1 lanes: the calling thread and count − 1 new ones.
STN_MUST_CHECK enum stn_status base_lanes_create(int count, struct base_lanes **out);
void base_lanes_destroy(struct base_lanes *lanes);
int base_lanes_count(const struct base_lanes *lanes);

// call(context, lane) on all lanes at the same time; returns when all of them have.
void base_lanes_run(struct base_lanes *lanes, base_lane_call *call, void *context);
// For a call that runs: goes on when all lanes have come here. The last to come first does
// between(context), unless NULL, while the others wait.
void base_lanes_meet(struct base_lanes *lanes, void (*between)(void *context), void *context);

#endif
