// SPDX-License-Identifier: Apache-2.0
// From what is known of the nodes to a batch and a split (by plan/policy.h), and to the plan that
// says so; and whether a plan that was made before fits. Node 0 does it for all.
#ifndef TUNE_PLAN_H
#define TUNE_PLAN_H

#include "crew/profile.h"
#include "crew/split.h"
#include "stannis/train.h"

// What is planned for.
struct tune_subject {
    const struct stn_train_config *config; // net, sizes, policy; batch may be STN_BATCH_AUTO
    const struct cluster *cluster;
    int channels, classes;
    const int64_t *counts; // [1 + nodes] samples of an epoch: public, then each node's private ones
    int64_t samples;       // their sum
};

// Sets caps and floors of the profile, and *batch where it is STN_BATCH_AUTO. Refused: what no
// split can keep, with what would help.
STN_MUST_CHECK enum stn_status tune_plan_split(const struct tune_subject *subject,
                                               struct crew_profile *profile, int *batch,
                                               struct crew_splits *out);
// The smaller step to try the exchange with: as the split, but of about `seconds` at most.
// step[nodes].
double tune_plan_trial(const struct crew_profile *profile, const int split[], double seconds,
                       int step[]);
// A new plan of what is known and the split in `splits`.
STN_MUST_CHECK enum stn_status tune_plan_describe(const struct tune_subject *subject,
                                                  const struct crew_profile *profile, int batch,
                                                  const int split[], struct stn_plan **out);

// Refused, with what differs: another network, other images, another micro-batch (0: any), other
// nodes. `label` is the file.
STN_MUST_CHECK enum stn_status
tune_plan_check(const struct stn_plan *plan, const struct tune_subject *subject, const char *label);
// The same without a message: what differs, in words, into why[bytes]; true if nothing does.
bool tune_plan_fits(const struct stn_plan *plan, const struct tune_subject *subject, char *why,
                    size_t bytes);
// Its measurements become the profile's.
void tune_plan_take(const struct stn_plan *plan, struct crew_profile *profile);

#endif
