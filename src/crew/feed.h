// SPDX-License-Identifier: Apache-2.0
// This node's micro-batches of a training or an evaluation, in order. They are asked for ahead of
// need: the loader's queue is filled across steps and across epochs.
//
// A step is `batch` positions of an epoch (the last step of an epoch: what is left). Which of them
// are this node's, and how they are cut into micro-batches, follows from the position and the split
// alone (plan/share.h), so a resumed run cuts the same way, and every node knows the
// parts of all without a message.
//
//     open → seek → { begin_step → { next → release } × micro_batches } × steps → close
//
// While a step runs, nodes may trade what is left of it (plan/trade.h).
//
// Threads: one.
#ifndef CREW_FEED_H
#define CREW_FEED_H

#include "data/loader.h"
#include "plan/share.h"

struct crew_feed_config {
    struct data_loader_config loader; // its depth is chosen here
    int batch;                        // B
    int held;                         // micro-batches taken before one is released; 0 is 1
    // The cluster. 0 nodes: this one alone, with all samples of its sources; the fields below are
    // then not read.
    int nodes, rank;
    const int64_t *counts; // [1 + nodes] samples in an epoch: public, then each node's private ones
    // [split_count][nodes] micro-batches of a full step; each sums up to ⌈B/g⌉. They take turns:
    // the s-th step of the run uses number s mod split_count. 0 is 1.
    const int *split;
    int split_count;
};

// A step as this node sees it.
struct crew_feed_step {
    int epoch;
    int64_t begin, end; // positions of the epoch, of all nodes together
    struct plan_share share;
};

struct crew_feed {
    struct data_loader *loader;
    int64_t samples; // in an epoch, of all nodes
    int batch, micro_batch, depth;
    int nodes, rank;
    int64_t *counts; // [1 + nodes]
    int *splits;     // [split_count][nodes]
    int split_count;
    struct plan_share *shares;  // [nodes] of the step planned last
    struct plan_share *current; // [nodes] of the step begun
    int *planned;               // [nodes] their micro-batches
    int epochs;                 // nothing is asked for from this epoch on
    // A place in the work: `done` of this node's `count` micro-batches of a step, the number-th
    // since the last seek.
    struct crew_feed_place {
        struct crew_feed_step step;
        int64_t number;
        int done, count;
    } taken, asked;
    const int *after; // [nodes] what a trade made of the step begun, borrowed; NULL: none did
    int64_t taken_counts[DATA_SOURCES]; // samples of the step begun
};

STN_MUST_CHECK enum stn_status crew_feed_open(const struct crew_feed_config *config,
                                              struct crew_feed *out);
// A zeroed feed may be closed too.
void crew_feed_close(struct crew_feed *feed);

// Forgets what was asked for and begins at `position` of `epoch`; ends with epoch `epochs` − 1.
void crew_feed_seek(struct crew_feed *feed, int epoch, int64_t position, int epochs);
// Sets one split, of the same sum, for all steps that have not begun, and forgets what was asked
// for under the old one. Does nothing if the split is the old one.
void crew_feed_set_split(struct crew_feed *feed, const int split[]);
// Another batch, with a split to match, from the beginning of `epoch` on.
void crew_feed_rebatch(struct crew_feed *feed, const int split[], int batch, int epoch);

// Whether all steps up to the end have begun.
bool crew_feed_is_over(const struct crew_feed *feed);
// Begins the next step, of which there must be one; the micro-batches of the step before have been
// taken. This node may have none in it: share.micro_batches is 0.
struct crew_feed_step crew_feed_begin_step(struct crew_feed *feed);
// The next micro-batch of the step begun, borrowed until release; there must be one.
STN_MUST_CHECK enum stn_status crew_feed_next(struct crew_feed *feed, struct data_batch **out);
void crew_feed_release(struct crew_feed *feed, struct data_batch *batch);
// All nodes have agreed that node i computes after[i] micro-batches of the step begun, at least
// those that it has taken. Borrowed until the next step. A node with private samples in the step
// must not have given any away.
void crew_feed_trade(struct crew_feed *feed, const int after[]);
// Of the step begun: whether node i may give micro-batches to others.
bool crew_feed_may_give(const struct crew_feed *feed, int node);

// The split in force in step `step` of the run, counted from 0: [nodes].
const int *crew_feed_split_at(const struct crew_feed *feed, int64_t step);
// The position at which the step ends that `position` is in.
int64_t crew_feed_step_end(int64_t position, int batch, int64_t samples);

#endif
