// SPDX-License-Identifier: Apache-2.0
// Which node computes what: what is known of the nodes, the split of a step that follows, and the
// plan that says so. The same on every node but for the plan's text.
#ifndef TRAINER_ASSIGNMENT_H
#define TRAINER_ASSIGNMENT_H

#include "crew/profile.h"
#include "crew/split.h"
#include "settings/settings.h"
#include "stannis/plan.h"
#include "tune/plan.h"

struct trainer;

struct trainer_assignment {
    struct crew_profile profile;
    struct crew_splits splits;
    // On node 0 what was planned from measurements, for people; until then a file's. NULL: nothing.
    struct stn_plan *plan;
};

// Every node tells what it is.
STN_MUST_CHECK enum stn_status trainer_assignment_open(struct trainer *t);
// Settles the batch and who computes what of it, by the user's split, a plan, or measuring.
STN_MUST_CHECK enum stn_status trainer_assignment_settle(struct trainer *t,
                                                         struct settings *resolved);
// A zeroed one may be finished too.
void trainer_assignment_fini(struct trainer_assignment *assignment);

// What is planned for.
struct tune_subject trainer_subject(const struct trainer *t);

#endif
