// SPDX-License-Identifier: Apache-2.0
// Why a node slowed down, since when, by how much, what it cost and what was done about it:
// incidents, for a report that a person can act on. Feed it with what hypertune/decide was fed
// with, after it. Pure; linear in the nodes, nothing allocated after create.
//
// The time that a piece of work takes more than before is compared with what the node's other
// figures grew by for the same work: waiting for data, being throttled, being ready while another
// ran, processor time. Throttling while others in the share used more is the others' doing: the
// quota is for all of them.
#ifndef HYPERTUNE_CAUSE_H
#define HYPERTUNE_CAUSE_H

#include "hypertune/decide.h"

//        name       text
#define HYPERTUNE_CAUSE_MAP(X)                                                                     \
    X(UNKNOWN, "unknown")                                                                          \
    X(PROCESS, "another process in its share")                                                     \
    X(THROTTLED, "throttled by its quota")                                                         \
    X(DATA, "waiting for data")                                                                    \
    X(CLOCK, "slower processor: clock, or a neighbour on its core")

enum hypertune_cause {
#define X(name, text) HYPERTUNE_CAUSE_##name,
    HYPERTUNE_CAUSE_MAP(X)
#undef X
        HYPERTUNE_CAUSES,
};

const char *hypertune_cause_name(enum hypertune_cause cause); // "PROCESS"
const char *hypertune_cause_text(enum hypertune_cause cause);

struct hypertune_incident {
    int node;
    enum hypertune_cause cause;
    double explained[HYPERTUNE_CAUSES]; // part of the added time, 0 … 1; they may overlap
    int64_t since_step;
    int64_t until_step;  // first step without it; −1: it lasts
    double slowdown;     // at the worst, against the node's speed before
    double slowdown_now; // in the last step
    double cost_s;       // by which all steps together were longer, for the whole cluster
    int split_before;    // the node's micro-batches, and with it
    int split_now;
};

struct hypertune_cause_options {
    double slowdown_least;  // relative; less is no incident
    double slowdown_noise;  // and neither is less than so many deviations of a sample
    double cost_steps;      // steps' worth of time; what costs less is not worth a line
    double explained_least; // part of the added time that makes a cause
};

struct hypertune_cause_options hypertune_cause_defaults(void);

struct hypertune_causes;

// `cluster` as for the decisions; its lines are copied.
STN_MUST_CHECK enum stn_status
hypertune_causes_create(const struct plan_cluster *cluster,
                        const struct hypertune_cause_options *options,
                        struct hypertune_causes **out);
void hypertune_causes_destroy(struct hypertune_causes *causes);
// Fills events[nodes] with the incidents that have become worth telling, or ended after that, in
// this step; returns how many.
int hypertune_causes_step(struct hypertune_causes *causes, int64_t step,
                          const struct hypertune_report reports[],
                          const struct hypertune_decide *decide,
                          const struct hypertune_decision *decision,
                          struct hypertune_incident events[]);
// NULL: nothing worth telling slows the node.
const struct hypertune_incident *hypertune_causes_open(const struct hypertune_causes *causes,
                                                       int node);

#endif
