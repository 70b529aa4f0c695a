// SPDX-License-Identifier: Apache-2.0
// The `balanced` policy: after every step, from every node's report, how many micro-batches each
// does in the next. The global batch stays what it is, bounds are kept. Pure: the simulator, the
// tests and the cluster run the same decisions; the same reports give the same decisions.
//
//     hypertune_decide_create        profile, bounds and first split
//     hypertune_decide_step          reports of a step in, split of the next out
//     hypertune_decide_destroy
//
// A node at slowdown s takes s·(a + c·m): a program that takes its processor slows down both parts.
// s comes from hypertune/detect, which sees a node's times without what all nodes have in common
// (hypertune/common): a split depends on their proportions alone. The plan does not follow every
// flutter of s: it is made from the values that were true when they last changed for certain, or
// drifted out of their noise. A new plan is worth its cost if   gain of a step × steps that it will
// last  >  cost,   and the gain is more than the nodes' noise may feign. What lasted long is
// expected to last: the horizon is the time between the last re-plans, or since the last, up to a
// limit. So a cluster that never comes to rest must offer more and more before work is moved again.
//
// Where the cluster has an objective (plan/energy.h), the best split is the best for that, a gain
// is of what it counts, and a node that it leaves without work at full speed is not probed.
//
// Linear in the nodes; a re-plan costs one call of plan_split or plan_energy_split besides. Nothing
// is allocated after create. Not for several threads at once.
#ifndef HYPERTUNE_DECIDE_H
#define HYPERTUNE_DECIDE_H

#include "hypertune/detect.h"
#include "hypertune/probe.h"
#include "hypertune/report.h"
#include "plan/node.h"
#include "stannis/status.h"

struct hypertune_decide_options {
    struct hypertune_detect_options detect; // of a single node; more evidence is asked of many
    struct hypertune_probe_options probe;
    // Of a step's time that a re-plan costs: samples that nodes have loaded ahead now belong to
    // others, and the new split may be wrong.
    double cost_steps;
    double gain_errors; // standard errors of a gain that it must exceed
    // Part of a step that a gain must exceed, unless a level is young: equal nodes drift apart and
    // together again by so much.
    double gain_least;
    double horizon_least, horizon_most; // steps
    // Drift of a level below this does not reach the plan: the split is in whole micro-batches
    // anyway.
    double drift_least;
};

struct hypertune_decide_options hypertune_decide_defaults(void);

struct hypertune_decide_config {
    const struct plan_cluster *cluster; // the nodes undisturbed: lines and bounds, copied
    int micro_batches;                  // of a step
    const int *first;                   // [nodes] split that is in force; NULL: the best
    struct hypertune_decide_options options;
};

enum hypertune_action {
    HYPERTUNE_KEEP,
    HYPERTUNE_REPLAN,
    HYPERTUNE_PROBE,  // a micro-batch each for nodes without work
    HYPERTUNE_RETURN, // from a probe to the plan
};

struct hypertune_decision {
    enum hypertune_action action;
    const int *split;   // [nodes] for the next step; valid until the next call
    double predicted_s; // the slowest node with the plan that was in force, as things are now
    double planned_s;   // and with the best one
    double gain;        // of that, relative to the whole step
    int node;           // whose changed speed was the largest in this step; −1: none changed
};

// What is known of a node.
struct hypertune_node {
    double slowdown; // of its profile, besides what slows all nodes
    double noise;    // relative, of a sample
    int changed_ago; // steps, this one included, since it changed, if found in this step; else 0
    enum hypertune_report_state report;
};

struct hypertune_decide;

STN_MUST_CHECK enum stn_status hypertune_decide_create(const struct hypertune_decide_config *config,
                                                       struct hypertune_decide **out);
void hypertune_decide_destroy(struct hypertune_decide *decide);
struct hypertune_decision hypertune_decide_step(struct hypertune_decide *decide, int64_t step,
                                                const struct hypertune_report reports[]);
// The split in force.
const int *hypertune_decide_split(const struct hypertune_decide *decide);
struct hypertune_node hypertune_decide_node(const struct hypertune_decide *decide, int node);

#endif
