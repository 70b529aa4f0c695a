// SPDX-License-Identifier: Apache-2.0
// The policies (--policy) as objects. The trainer and the simulator call them alike:
//
//     policy->split     micro-batches of each node to begin with
//     policy->open      what the policy remembers while it moves work; NULL: it never moves any
//     policy->step      reports of a step in, what changes with the next out
//     policy->close
//
// A policy is one file here, policy_<word>.c, and one row of STN_POLICY_LIST (stannis/plan.h), from
// which its constant, name, help and place in hypertune_policies[] are made. Pure but for memory;
// nothing is allocated in a step. One thread at a time.
#ifndef HYPERTUNE_POLICY_H
#define HYPERTUNE_POLICY_H

#include "hypertune/decide.h"
#include "hypertune/paper.h"
#include "plan/policy.h"
#include "stannis/plan.h"

struct hypertune_policy_config {
    const struct plan_cluster *cluster; // the nodes undisturbed; copied, points are borrowed
    int micro_batches;                  // of a whole step
    const int *first;                   // [nodes] the split in force
    struct hypertune_decide_options decide;
    struct hypertune_paper_options paper;
};

// A step that is done.
struct hypertune_moment {
    int64_t step;        // counts through all epochs
    int64_t done, steps; // of the epoch, this one included
};

// What a policy wants after a step.
struct hypertune_move {
    enum hypertune_action action;
    const int *split;     // [nodes] for the next step, valid until then; NULL: as it is
    bool end_epoch;       // now, and begin another with `split`, whose sum may differ
    double learning_rate; // factor for the one of the first split, if the epoch ends
    double predicted_s;   // the slowest node, with the split that was in force; 0: not known
    double gain;          // of a step's time; 0: not known
    int node;             // whose changed speed was the reason; -1: none
};

struct hypertune_policy_ways {
    plan_policy_split *split;
    // The three of a policy that moves work; `state` is what open made.
    enum stn_status (*open)(const struct hypertune_policy_config *config, void **state);
    struct hypertune_move (*step)(void *state, const struct hypertune_moment *moment,
                                  const struct hypertune_report reports[]);
    void (*close)(void *state); // NULL is fine
    // What the policy knows of the nodes; NULL: it does not watch them one by one.
    const struct hypertune_decide *(*watch)(const void *state);
    bool trades; // nodes may trade micro-batches within a step
};

struct hypertune_policy {
    const char *name, *help;
    const struct hypertune_policy_ways *does;
};

// Declares hypertune_policy_balanced and the others, one in each file.
#define HYPERTUNE_POLICY_DECLARE(id, word, help)                                                   \
    extern const struct hypertune_policy_ways hypertune_policy_##word;
STN_POLICY_LIST(HYPERTUNE_POLICY_DECLARE)
#undef HYPERTUNE_POLICY_DECLARE

extern const struct hypertune_policy hypertune_policies[]; // by enum stn_policy
extern const int hypertune_policies_count;

const struct hypertune_policy *hypertune_policy_find(const char *name); // NULL: there is none
// NULL: not a policy, as STN_POLICY_DEFAULT.
const struct hypertune_policy *hypertune_policy_of(enum stn_policy policy);
enum stn_policy hypertune_policy_number(const struct hypertune_policy *policy);

#endif
