// SPDX-License-Identifier: Apache-2.0
// Tuning finds out how fast nodes are. Each measures its own steps, of a few sizes, until the line
// through them is good enough (plan/fit.h). The caller does the steps: a trainer real ones
// (trainer/measure.c), tests made-up ones.
//
// Nodes measure at the same time, as they will train: what they share then (memory, caches, a
// core's two threads) they share now. A node that is done goes on computing until all are. Only
// nodes that ask for more CPUs than their machine has take turns, since their times would lie on no
// line.
//
// Measuring goes in rounds, each about as long as the slowest node's longest step. After a round
// all nodes learn how far each one is. Steps of small networks are short against the period of a
// CPU quota, so a sample is the mean of as many steps as fill some periods.
#ifndef TUNE_TUNE_H
#define TUNE_TUNE_H

#include "crew/nodes.h"
#include "crew/profile.h"

struct tune_step {
    double compute_s; // until it is ready to exchange, plus the weight update
    double update_s;  // the weight update alone
    double wall_s;    // from its beginning to the next one's
};

struct tune_probe {
    void *context;
    // A step of so many micro-batches by this node alone.
    enum stn_status (*alone)(void *context, int micro_batches, struct tune_step *out);
    // A step of all nodes: so many micro-batches here, and the exchange.
    enum stn_status (*together)(void *context, int micro_batches, struct tune_step *out);
    // The exchange without computing, all nodes.
    enum stn_status (*exchange)(void *context, double *seconds);
    bool (*stop)(void *context); // NULL: never
};

struct tune_config {
    struct crew *nodes;
    const struct tune_probe *probe;
    const struct stn_train_observer *observer; // of node 0; NULL: none
    int micro_batch;                           // for the observer
    struct plan_fit_options fit;               // top: at most
    double sample_s;                           // a sample is at least so long
    double budget_s;                           // what measuring should take about
    int retries;                               // disturbed measurements are done anew
    int slot, slots;                           // which of the nodes that take turns this one is
};

// Of everything but nodes, steps and turns.
extern const struct tune_config tune_defaults;
// Sets how long measuring should take, about. Less time means shorter samples.
void tune_set_budget(struct tune_config *config, double seconds);

// Fills line, errors and doubt of this node's own profile. ERR_INTERRUPTED when a user wants to
// stop.
STN_MUST_CHECK enum stn_status tune_lines(const struct tune_config *config,
                                          struct crew_node_profile *own);

// Does real steps of all nodes with this split [nodes] after that. They show what the exchange
// costs, and by how much it slows a node's computing, which corrects `own`. The reduction is the
// same on all nodes.
STN_MUST_CHECK enum stn_status tune_reduction(const struct tune_config *config, const int split[],
                                              double step_s, struct crew_node_profile *own,
                                              struct plan_reduction *out);

// Whether this node takes turns with others, and when: sets its slot and slots. `about` is [count].
void tune_take_turns(const struct crew_node_profile about[], int count, int rank, int *slot,
                     int *slots);
// By what factor nodes that take turns are slower when all compute: their CPUs over the machine's;
// ≥ 1.
double tune_crowding(const struct crew_node_profile about[], int count, int rank);

#endif
