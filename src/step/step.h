// SPDX-License-Identifier: Apache-2.0
// A step of the training, on one node among others:
//
//     compute micro-batches → sums of all nodes → verdict → weights from copy A to copy B → flip
//
// Until the verdict all of it may fail or be thrown away; then all nodes do the same with the same
// sums. Everything was allocated before the first step. Threads: one.
#ifndef STEP_STEP_H
#define STEP_STEP_H

#include "checkpoint/checkpoint.h"
#include "crew/audit.h"
#include "crew/feed.h"
#include "crew/hooks.h"
#include "crew/nodes.h"
#include "settings/settings.h"
#include "stannis/train.h"
#include "step/course.h"
#include "step/model.h"
#include "step/peers.h"

struct step {
    struct step_model model;
    struct step_peers peers;
    struct step_course course;
    // Borrowed.
    struct crew *nodes;
    const struct settings *settings;
    const struct stn_train_observer *observer; // NULL: nobody wants to stop
    const struct crew_hooks *hooks;            // a test's, or the rig's; NULL in a real training
    struct crew_feed *feed;                    // the training subset, epoch after epoch
    struct crew_audit *audit;                  // NULL: not asked for
    struct checkpoint_progress *progress;      // always between two steps
    bool stop;                                 // somebody asked to stop, and all nodes know
};

// What one step did.
struct step_outcome {
    struct kernel_loss_totals totals;
    int images;
    double lr;
};

// One global batch, or what is left of the epoch. On failure the progress is that of the last whole
// step.
STN_MUST_CHECK enum stn_status step_take(struct step *step, struct step_outcome *out);

// Whether this node's user wants to stop.
bool step_polls_stop(const struct step *step);
// The line for a value that is no number any more, found in (or after) step `number`.
enum stn_status step_fail_diverged(const struct step *step, const char *what, double value,
                                   int64_t number);

// ---- a node's part of it (compute.c) -----------------------------------------------------------

// What becomes of a micro-batch's gradients.
enum step_sums {
    STEP_KEEP,  // kept for those of the step's other micro-batches
    STEP_LEAVE, // the step's last: they stay in the net's array
    STEP_SEND,  // the same, and parts leave for the other nodes while it goes backwards
};

// A step's micro-batches on one node.
struct step_work {
    struct crew_feed *feed;
    enum stn_status (*take)(struct crew_feed *feed, struct data_batch **out); // the next one
    int micro_batches;
    struct crew_trade *trade; // with which some of them may change hands; NULL: none do
    enum step_sums last;      // what becomes of the last one's gradients; others' are kept
    struct crew_audit *audit; // NULL: nobody keeps account of the samples
};

// All of them, forwards and backwards.
STN_MUST_CHECK enum stn_status step_compute(struct step *step, const struct step_work *work,
                                            struct kernel_loss_totals *totals);

#endif
