// SPDX-License-Identifier: Apache-2.0
// How many micro-batches of a step each node computes so that a step takes little energy, or little
// of energy and time together. A step of T = τ + exposed exchange, with t_i = a_i + c_i·m_i of the
// nodes that have work, takes
//
//     E = A·T + Σ off_i·T + Σ b_i·t_i     both sums over nodes with work
//
// A: watts that are drawn whatever the split is: the box, and idle nodes that stay on. b_i: what a
// node draws more while it computes. off_i: idle watts of a node that is switched off while it has
// no work. Three objectives, each under a least speed if one is asked for:
//
//     η = 1           least E
//     0 ≤ η < 1       least η·E + (1 − η)·P·T, P the watts of all nodes computing: 0 is least time
//     delay product   least E·T
//
// Small clusters get the exact optimum (plan_energy_exact). Large ones get a fast form: nodes are
// taken by rising joules a micro-batch while that makes a fluid cluster better, and among those
// taken plan/split.h makes the step short, which is best in energy as well. It errs by whole
// micro-batches and by fixed times a_i: a test holds it to 5 % of the optimum on clusters that the
// exact form still manages, but for a few of less than 6 nodes. Pure; memory is the caller's.
#ifndef PLAN_ENERGY_H
#define PLAN_ENERGY_H

#include <stdbool.h>

#include "plan/greedy.h"
#include "plan/node.h"

struct plan_power {
    double idle_w; // switched on, without work
    double busy_w; // computing; not below idle_w
    bool can_off;  // a node without work is switched off, and draws nothing
};

enum plan_aim { PLAN_AIM_ENERGY, PLAN_AIM_DELAY_PRODUCT };

struct plan_objective {
    enum plan_aim aim;
    double eta;                      // PLAN_AIM_ENERGY: η
    double speed_least;              // samples a second; 0: any
    double base_w;                   // besides the nodes: boxes, drives, fans
    const struct plan_power *powers; // [cluster.count], borrowed
};

struct plan_energy {
    double step_s;
    double joules; // of a step
    double joules_per_sample;
    double score;  // what the objective makes as small as can be
    bool too_slow; // below speed_least
};

// The cluster has an objective in this and all that follows. The split has at least one
// micro-batch.
struct plan_energy plan_energy_of(const struct plan_cluster *cluster, const int split[]);

// Refused: powers that cannot be, an η outside 0 … 1.
STN_MUST_CHECK enum stn_status plan_energy_check(const struct plan_cluster *cluster);

// Fills split[cluster->count], with `heap` of as many as scratch. `nodes` are the cluster's, with
// the floors that hold for this batch; their caps are scratch. Refused: what plan_split refuses,
// and a speed that these nodes do not reach.
STN_MUST_CHECK enum stn_status plan_energy_split(const struct plan_cluster *cluster,
                                                 int micro_batches, struct plan_node nodes[],
                                                 struct plan_offer heap[], int split[]);

// NULL or "time", "energy", "edp" (delay product), or η as "0.3"; without watts. *is_time: none is
// needed, but for a least speed's sake.
STN_MUST_CHECK enum stn_status plan_objective_parse(const char *text, double speed_least,
                                                    struct plan_objective *out, bool *is_time);

// Up to so many nodes × (micro-batches + 1) plan_energy_split is exact.
enum { PLAN_ENERGY_EXACT_MOST = 2048 };

// The two forms by themselves, for tests and benches. The exact one takes PLAN_ENERGY_EXACT_MOST at
// most.
STN_MUST_CHECK enum stn_status plan_energy_exact(const struct plan_cluster *cluster,
                                                 int micro_batches, struct plan_node nodes[],
                                                 struct plan_offer heap[], int split[]);
STN_MUST_CHECK enum stn_status plan_energy_fast(const struct plan_cluster *cluster,
                                                int micro_batches, struct plan_node nodes[],
                                                struct plan_offer heap[], int split[]);

#endif
