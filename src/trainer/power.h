// SPDX-License-Identifier: Apache-2.0
// The power of all nodes of a training: opened on every node, gathered on the first, and what plans
// know of it.
#ifndef TRAINER_POWER_H
#define TRAINER_POWER_H

#include "crew/profile.h"
#include "engine/power.h"
#include "stannis/train.h"

struct trainer;

struct trainer_power {
    struct engine_power *own;   // NULL: nothing is known of this node
    struct energy_node *nodes;  // [nodes] what was gathered last; on the first node
    struct energy_node *before; // [nodes] when the last epoch ended
    struct stn_train_node_energy *told;
    bool any;           // some node's energy is known, or was asked for
    double evaluated_s; // this node has been busy evaluating
    double promised_j;  // an image, by the first split; NAN: plans are for time
};

// Opens this node's meter and, where it was asked for, looks at the machines at rest. Agreed.
STN_MUST_CHECK enum stn_status trainer_power_open(struct trainer *t);
void trainer_power_close(struct trainer_power *power);
// Makes the objective of t->assignment.profile's plans, once speeds and watts are known. Agreed.
// Refused: watts that are not known.
STN_MUST_CHECK enum stn_status trainer_power_settle(struct trainer *t);
// What the split promises for the objective, in words for people, once; nothing for time.
void trainer_power_promise(struct trainer *t);
// Everybody's energy, told to `observer` of node 0: of an epoch (from 1), or of the whole run (0).
STN_MUST_CHECK enum stn_status trainer_power_tell(struct trainer *t,
                                                  const struct stn_train_observer *observer,
                                                  int epoch, double seconds, int64_t images);

#endif
