// SPDX-License-Identifier: Apache-2.0
// Nodes even out a step while it runs (plan/trade.h): each tells node 0 how far it is, and node 0
// says which node computes what of the rest. Messages go through the communication thread; a node
// waits for them only if it has nothing else to do. One thread. Allocates nothing after creation.
//
//     create → { begin → look × … → end } × steps → destroy
#ifndef CREW_TRADE_H
#define CREW_TRADE_H

#include "comm/comm.h"
#include "crew/hooks.h"
#include "plan/trade.h"
#include "settings/settings.h"
#include "stannis/train.h"

struct crew_trade;

// Whether nodes trade in such a training: its policy allows it, and the split is not the user's.
bool crew_trade_wanted(const struct settings *settings);
// The part of a step that moving work must gain where the user does not say: more with trades,
// which even out what is less.
double crew_move_gain(const struct settings *settings);

// `limits`: on node 0 [nodes], borrowed; their caps hold. `hooks`, borrowed, may say how long this
// node takes; NULL: none do.
STN_MUST_CHECK enum stn_status crew_trade_create(struct comm *comm, const struct plan_node limits[],
                                                 const struct crew_hooks *hooks,
                                                 struct crew_trade **out);
// NULL is fine. Destroyed between begin and end it means that this node gives up: see comm_abandon.
void crew_trade_destroy(struct crew_trade *trade);

// A step begins. planned[nodes] is the same on all nodes. `may_give`: others may compute
// micro-batches of this node.
void crew_trade_begin(struct crew_trade *trade, const int planned[], bool may_give);
// Called when `done` micro-batches are done and the next `group` are to be begun. If the answer has
// come and changes the split of this step, *after is that split; it is NULL otherwise.
STN_MUST_CHECK enum stn_status crew_trade_look(struct crew_trade *trade, int done, int group,
                                               const int **after);
// Called when this node has done all its micro-batches, or has failed.
STN_MUST_CHECK enum stn_status crew_trade_end(struct crew_trade *trade);
// How long this node waited for answers in this step.
double crew_trade_wait_seconds(const struct crew_trade *trade);

#endif
