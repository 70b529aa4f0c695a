// SPDX-License-Identifier: Apache-2.0
// The `hypertune` policy: the algorithm of the HyperTune paper (III-C) as published. After every
// step each node's speed S_k and the progress k of N steps make a decline index
//
//     DI = w·(S_n − S_k)/S_n + (1 − w)·(1 − k/N)
//
// where S_n is what the curve says for the node's batch. Above 20 % the step is flagged; five flags
// in a row end the epoch, and the node gets a smaller batch, in one of three ways. A node whose CPU
// usage rose by as much for as long gets a larger one. Batches stay in a range around the first.
// The global batch changes with them; the learning rate follows if asked to. Pure; linear in the
// nodes.
//
// Where the paper is silent: a flagged node whose batch would not change does not end the epoch; a
// report that is missing or broken neither sets nor clears a flag. As printed, in the first step of
// an epoch the second term alone is 20 %, so any decline is flagged there.
#ifndef HYPERTUNE_PAPER_H
#define HYPERTUNE_PAPER_H

#include "hypertune/report.h"
#include "plan/node.h"

enum hypertune_rebatch {
    HYPERTUNE_INTERPOLATE, // between the two points of the curve nearest in speed (eq. 3)
    HYPERTUNE_INVERSE,     // the batch at which the fitted line has that speed
    HYPERTUNE_CPU,         // in proportion to CPU usage
};

struct hypertune_paper_options {
    enum hypertune_rebatch rebatch;
    double speed_weight;          // w
    double margin;                // of the index, and of CPU usage for growth
    int flags;                    // in a row
    int window, recent;           // steps of CPU usage kept, and averaged; recent ≤ window
    double range_low, range_high; // of batches, relative to the first
    bool scale_learning_rate;     // with the global batch
};

// The paper's values; its batches went down to 100 of 180, so the range is half to one and a half.
struct hypertune_paper_options hypertune_paper_defaults(void);

struct hypertune_paper_config {
    const struct plan_cluster *cluster; // curves and bounds, copied; points are borrowed
    const int *first;                   // [nodes] micro-batches to begin with
    struct hypertune_paper_options options;
};

struct hypertune_paper_decision {
    bool end_epoch;       // now, and begin another with `split`
    const int *split;     // [nodes] micro-batches; valid until the next call
    double learning_rate; // factor for the one of the first split
    int node;             // that was changed, the first of them; −1: none
    double index;         // its decline index in this step
};

struct hypertune_paper;

STN_MUST_CHECK enum stn_status hypertune_paper_create(const struct hypertune_paper_config *config,
                                                      struct hypertune_paper **out);
void hypertune_paper_destroy(struct hypertune_paper *paper);
// `done` of the epoch's `steps` are, this one included; `step` counts through all epochs.
struct hypertune_paper_decision hypertune_paper_step(struct hypertune_paper *paper, int64_t step,
                                                     int64_t done, int64_t steps,
                                                     const struct hypertune_report reports[]);

// Equation 2.
double hypertune_decline_index(double weight, double normal_speed, double speed, double progress);
// Equation 3, and its alternative: micro-batches at which the node has that speed, not rounded.
double hypertune_batch_interpolated(const struct plan_curve *curve, double speed, int most);
double hypertune_batch_inverse(const struct plan_line *line, double speed, int most);

#endif
