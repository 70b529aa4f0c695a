// SPDX-License-Identifier: Apache-2.0
// Evening out a step while it runs. No plan knows how fast a node will be in the very next second:
// on machines that others use, one of them is some percent late in every step, and all wait for it.
// So when a good part of a step is done the nodes compare how far they are, and what is left is
// handed out again: late nodes give their last micro-batches to early ones. Pure; memory is the
// caller's.
//
//     0 ─────────────── mark ─────── kept ──── planned
//       says how fast     │  may go on │ waits for what all said, if that is not there yet
//
// A micro-batch stays what it was, whichever node computes it: nothing that is learned depends on
// it.
#ifndef PLAN_TRADE_H
#define PLAN_TRADE_H

#include <stdbool.h>

#include "plan/greedy.h"

// How far a node was when it looked at its clock.
struct plan_trade_node {
    int planned; // micro-batches of this step
    int kept; // of them, those that it has begun, or will before it knows; planned: it gives none
    int most; // that it may have; planned: it takes none
    int done; // so far, in
    double seconds;
};

// With fewer micro-batches a node keeps what it has: one is too large a part of its work.
bool plan_trade_takes_part(int planned);
// When it says how fast it is.
int plan_trade_mark(int planned);
int plan_trade_kept(int planned);

// Fills after[count], of the same sum: as planned, or what lets the last be done first, if that is
// worth it. `scratch` and `heap` are [count].
void plan_trade(const struct plan_trade_node nodes[], int count, struct plan_node scratch[],
                struct plan_offer heap[], int after[]);

// Which micro-batch a node gets as its i-th above what was planned, from 0: the givers' in their
// order.
struct plan_trade_gift {
    int giver;
    int index; // among the giver's
};
struct plan_trade_gift plan_trade_find(const int planned[], const int after[], int count, int taker,
                                       int i);

#endif
