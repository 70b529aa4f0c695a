// SPDX-License-Identifier: Apache-2.0
// What node 0 makes of the nodes' reports after every step. They go to the policy
// (hypertune/decide.h or hypertune/paper.h) and to hypertune/cause.h; the decision goes into the
// verdict that all nodes get, and to the observer. With a policy that does not move work, or a
// split that the user gave, nodes are watched all the same, and a slow one is named. A step
// allocates nothing, but for the one after which guessed speeds are replaced.
#ifndef CREW_ADAPT_H
#define CREW_ADAPT_H

#include "crew/nodes.h"
#include "crew/profile.h"
#include "settings/settings.h"
#include "stannis/train.h"

struct crew_adapt_config {
    const struct crew_profile *profile; // its speeds and limits are copied
    const int *first;                   // [nodes] the split in force
    const struct settings *settings;    // the policy and its options; a split: nothing is moved
};

// Where the training is after a step.
struct crew_adapt_moment {
    int64_t step;        // of the run, from 1
    int64_t done, steps; // of the epoch, this one included
    int64_t left;        // samples of the epoch
    const int *split;    // [nodes] that was in force
};

struct crew_adapt;

STN_MUST_CHECK enum stn_status crew_adapt_create(const struct crew_adapt_config *config,
                                                 struct crew_adapt **out);
void crew_adapt_destroy(struct crew_adapt *adapt); // NULL is fine

// Fills in what the verdict says of the next step.
STN_MUST_CHECK enum stn_status crew_adapt_step(struct crew_adapt *adapt,
                                               const struct crew_adapt_moment *moment,
                                               const struct crew_node_report reports[],
                                               struct crew_verdict *verdict);

// What each node did in the last step: [nodes].
const struct stn_train_node_step *crew_adapt_nodes(const struct crew_adapt *adapt);
// Tells observer->change what changed with that step.
void crew_adapt_tell(const struct crew_adapt *adapt, const struct stn_train_observer *observer);
// At the end of the run: which nodes are still slow.
void crew_adapt_tell_end(const struct crew_adapt *adapt, const struct stn_train_observer *observer);

#endif
