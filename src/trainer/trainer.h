// SPDX-License-Identifier: Apache-2.0
// A training that is ready: what data there is, who computes what of it, what is taught, where it
// is kept. It is opened in an order in which every part needs only those before it, and each phase
// ends with an agreement of all nodes; train/ drives it from step to step. All memory is allocated
// before the first step.
#ifndef TRAINER_TRAINER_H
#define TRAINER_TRAINER_H

#include "checkpoint/checkpoint.h"
#include "crew/hooks.h"
#include "crew/nodes.h"
#include "rig/rig.h"
#include "settings/settings.h"
#include "stannis/train.h"
#include "step/step.h"
#include "trainer/assignment.h"
#include "trainer/data.h"
#include "trainer/output.h"
#include "trainer/power.h"

struct trainer {
    struct crew nodes;
    const struct stn_train_observer *observer; // borrowed; without one all calls are NULL
    struct checkpoint *resumed;  // its texts may be part of the settings; NULL: a fresh start
    struct checkpoint_meta meta; // what a checkpoint saves: settings, data, progress
    struct trainer_data data;
    struct trainer_assignment assignment;
    struct trainer_power power;
    struct trainer_output output;
    struct rig *rig; // what emulation does to this node; NULL: nothing
    struct step step;
};

// Every node of `comm` opens its own. It is to be closed whatever happens. What the user wishes is
// completed into `resolved`, which nobody changes after this and which, as the observer (it may be
// NULL), outlives the trainer. `hooks` take the place of emulation's; NULL: those, if there are
// any. A trainer stays where it is: its parts point to each other.
STN_MUST_CHECK enum stn_status trainer_open(struct comm *comm, const struct settings *wish,
                                            const struct stn_train_observer *observer,
                                            const struct crew_hooks *hooks,
                                            struct settings *resolved, struct trainer *out);
// A zeroed or half-opened trainer may be closed too.
void trainer_close(struct trainer *t);

// Fills what each node did, on node 0.
STN_MUST_CHECK enum stn_status trainer_gather_nodes(struct trainer *t);
// How this node reads, for feeds of its own.
struct trainer_reading trainer_reading(const struct trainer *t);

// Measures the nodes with steps of this trainer, whose weights are anything afterwards (measure.c).
// Fills the profile's measurements, alike on all nodes.
STN_MUST_CHECK enum stn_status trainer_measure(struct trainer *t);

// ---- settings (resolve.c) ----------------------------------------------------------------------

// The user's with the checkpoint's merged in, if there is one; what a plan says of micro-batch,
// batch and policy where the user does not; the batch that a split says, the micro-batch that the
// batch says.
STN_MUST_CHECK enum stn_status trainer_resolve_wish(struct trainer *t, const struct settings *wish,
                                                    struct settings *resolved);
STN_MUST_CHECK enum stn_status trainer_resolve_plan(struct trainer *t, struct settings *resolved);
STN_MUST_CHECK enum stn_status trainer_resolve_sizes(struct trainer *t,
                                                     const struct stn_model_info *model,
                                                     struct settings *resolved);

#endif
