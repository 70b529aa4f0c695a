// SPDX-License-Identifier: Apache-2.0
// Everything one training holds. trainer.c sets it up, step.c moves it by one step, run.c drives it
// to the end. All memory is allocated before the first step.
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "checkpoint/checkpoint.h"
#include "crew/adapt.h"
#include "crew/audit.h"
#include "crew/feed.h"
#include "crew/nodes.h"
#include "crew/profile.h"
#include "crew/sets.h"
#include "crew/split.h"
#include "crew/trade.h"
#include "crew/vitals.h"
#include "engine/engine.h"
#include "exchange/exchange.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "rig/rig.h"
#include "settings/settings.h"
#include "stannis/train.h"
#include "train/run.h"
#include "tune/plan.h"

struct trainer {
    struct crew nodes;
    struct checkpoint *resumed; // its texts may be part of the settings; NULL: a fresh start
    const struct stn_train_observer *observer; // borrowed; without one all calls are NULL
    struct checkpoint_meta meta;               // what a checkpoint saves: settings, data, progress
    struct crew_sets sets;
    struct engine engine;
    struct crew_feed feed; // the training split, epoch after epoch
    struct crew_feed validation;
    struct optim_schedule schedule;
    struct optim *optim;
    struct crew_profile profile;
    struct crew_splits splits;
    struct stn_plan *plan; // on node 0: what was planned from measurements; NULL: nothing was
    struct exchange *exchange;
    struct crew_trade *trade;                 // NULL: nodes keep what the plan gave them
    struct crew_vitals vitals;                // with several nodes
    struct crew_adapt *adapt;                 // on the first of several nodes
    struct rig *rig;                          // what emulation does to this node; NULL: nothing
    const struct crew_hooks *hooks;           // a test's, or the rig's; NULL in a real training
    struct crew_audit *audit;                 // NULL: not asked for
    struct stn_train_node own;                // what this node did
    struct stn_train_node *all;               // [nodes]
    bool stop;                                // somebody asked to stop, and all nodes know
    char *class_list, *last_path, *best_path; // paths are NULL without an output directory, and on
                                              // all nodes but the first
    int loader_threads;
    int64_t steps_total; // of the whole run
    int64_t lost;        // samples of epochs that ended early
};

// Every node of `comm` opens its own. It is to be closed whatever happens. What the user wishes is
// completed into `resolved`, which nobody changes after this and which, as the observer (it may be
// NULL), outlives the trainer. `hooks` take the place of emulation's; NULL: those, if there are
// any.
STN_MUST_CHECK enum stn_status trainer_open(struct comm *comm, const struct settings *wish,
                                            const struct stn_train_observer *observer,
                                            const struct crew_hooks *hooks,
                                            struct settings *resolved, struct trainer *out);
// A zeroed or half-opened trainer may be closed too.
void trainer_close(struct trainer *t);

// What one step did.
struct train_step {
    struct kernel_loss_totals totals;
    int images;
    double lr;
};

// One global batch, or what is left of the epoch. On failure the progress is that of the last whole
// step.
STN_MUST_CHECK enum stn_status train_step(struct trainer *t, struct train_step *out);

// What becomes of a micro-batch's gradients.
enum trainer_sums {
    TRAINER_KEEP,  // kept for those of the step's other micro-batches
    TRAINER_LEAVE, // the step's last: they stay in the net's array
    TRAINER_SEND,  // the same, and parts leave for the other nodes while it goes backwards
};
// A step's micro-batches on one node.
struct trainer_work {
    struct crew_feed *feed;
    enum stn_status (*take)(struct crew_feed *feed, struct data_batch **out); // the next one
    int micro_batches;
    struct crew_trade *trade; // with which some of them may change hands; NULL: none do
    enum trainer_sums last;   // what becomes of the last one's gradients; others' are kept
    bool audited;
};
// All of them, forwards and backwards (compute.c).
STN_MUST_CHECK enum stn_status trainer_compute(struct trainer *t, const struct trainer_work *work,
                                               struct kernel_loss_totals *totals);
static const double trainer_statistics_momentum = 0.1; // per step

// Parts of opening that need all nodes (trainer_nodes.c): refuses nodes that are not alike; learns
// what nodes there are and settles who adds up which gradients; settles the batch and who computes
// what of it.
STN_MUST_CHECK enum stn_status trainer_check_identity(struct trainer *t);
STN_MUST_CHECK enum stn_status trainer_open_exchange(struct trainer *t);
STN_MUST_CHECK enum stn_status trainer_settle_split(struct trainer *t, struct settings *resolved);
// Measures the nodes with steps of this trainer, whose weights are anything afterwards
// (trainer_tune.c). Fills t->profile's measurements, alike on all nodes.
STN_MUST_CHECK enum stn_status trainer_tune(struct trainer *t);
// Initial weights, or the checkpoint's, and the optimizer's state.
STN_MUST_CHECK enum stn_status trainer_set_weights(struct trainer *t);

// Parts of opening that settle settings (trainer_settings.c). The user's with the checkpoint's
// merged in, if there is one; what a plan says of micro-batch, batch and policy where the user does
// not; the batch that a split says, the micro-batch that the batch says.
STN_MUST_CHECK enum stn_status trainer_settle_wish(struct trainer *t, const struct settings *wish,
                                                   struct settings *resolved);
STN_MUST_CHECK enum stn_status trainer_open_plan(struct trainer *t, struct settings *resolved);
STN_MUST_CHECK enum stn_status trainer_resolve_sizes(struct trainer *t,
                                                     const struct stn_model_info *model,
                                                     struct settings *resolved);

// How this node reads a split of the data, for feeds of its own.
struct crew_feed_config trainer_feed_config(const struct trainer *t, enum stn_subset subset);
struct tune_subject trainer_subject(const struct trainer *t);

// Who moves work, once the split and the feeds are there.
STN_MUST_CHECK enum stn_status trainer_open_adapt(struct trainer *t);
// Ends the epoch and goes on with another batch, as the verdict says.
void trainer_end_epoch(struct trainer *t, const struct crew_verdict *verdict);
// Steps to the end of the run, from the progress and the batch.
void trainer_count_steps(struct trainer *t);

// What it keeps for each parameter beside the net.
size_t trainer_state_bytes(const struct trainer *t);
// Whether this node's user wants to stop.
bool trainer_polls_stop(const struct trainer *t);
// Fills t->all with everybody's t->own, on node 0.
STN_MUST_CHECK enum stn_status trainer_gather_nodes(struct trainer *t);

// ERR_DIVERGED when a weight or statistic is not finite: such a net must not replace a good
// checkpoint.
STN_MUST_CHECK enum stn_status trainer_check_finite(struct trainer *t);
// The line for a value that is no number any more, found in (or after) `step`.
enum stn_status trainer_diverged(const struct trainer *t, const char *what, double value,
                                 int64_t step);

#endif
