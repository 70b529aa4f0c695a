// SPDX-License-Identifier: Apache-2.0
// An objective as coefficients of one sum, which both forms of plan/energy.h make small. For this
// folder.
#ifndef PLAN_ENERGY_TERMS_H
#define PLAN_ENERGY_TERMS_H

#include "plan/energy.h"

struct energy_terms {
    const struct plan_cluster *cluster;
    const struct plan_node *nodes; // with the floors in force, and caps that keep the least speed
    int micro_batches;             // of a step
    double exposed_s;
    double level_most_s; // what a node may compute of a step; INFINITY: no least speed
    double always_w;     // A', weighted
    double eta;          // weight of energy
    bool times_step;     // the sum counts times the step's length
};

// Weighted watts of a node: computing above idle, and idle if only then it is on.
double energy_terms_busy_w(const struct energy_terms *terms, int node);
double energy_terms_off_w(const struct energy_terms *terms, int node);
static inline const struct plan_line *energy_terms_line(const struct energy_terms *terms, int node)
{
    return &terms->nodes[node].curve.line;
}
// The most that a node computes within `level_s`, at least its floor and at most its cap.
int energy_terms_within(const struct energy_terms *terms, int node, double level_s);
double energy_terms_score(const struct energy_terms *terms, const int split[]);

// Checks everything and bounds the caps of `nodes` by the least speed. `split` and `heap` are
// scratch; afterwards `split` is the fastest one, and *level_s its slowest node.
STN_MUST_CHECK enum stn_status energy_terms_make(const struct plan_cluster *cluster,
                                                 int micro_batches, struct plan_node nodes[],
                                                 struct plan_offer heap[], int split[],
                                                 double *level_s, struct energy_terms *out);

#endif
