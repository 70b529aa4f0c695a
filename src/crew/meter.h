// SPDX-License-Identifier: Apache-2.0
// What tests say of a node's speed in place of its clocks.
#ifndef CREW_METER_H
#define CREW_METER_H

struct hypertune_report;

// Whoever wants to say what a node has measured: called with its report before that is sent, and
// (unless NULL) with the time that it has needed in a step until it compares with the others.
struct crew_meter {
    void (*alter)(void *context, int node, struct hypertune_report *report);
    double (*pace)(void *context, int node, double seconds);
    void *context;
};

#endif
