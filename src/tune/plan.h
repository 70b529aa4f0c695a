// SPDX-License-Identifier: Apache-2.0
// From a profile to a batch and a split (by plan/policy.h), and to the plan that says so; and
// whether a plan that was made before fits this training. Node 0 does it for all.
#ifndef TUNE_PLAN_H
#define TUNE_PLAN_H

#include "crew/profile.h"
#include "crew/split.h"
#include "settings/settings.h"
#include "stannis/train.h"

// What is planned for.
struct tune_subject {
    const struct settings *settings; // net, sizes, policy; batch may be SETTINGS_AUTO
    const struct cluster *cluster;
    int channels, classes;
    const int64_t *counts; // [1 + nodes] samples of an epoch: public, then each node's private ones
    int64_t samples;       // their sum
};

// Sets caps and floors of the profile, and *batch where it is SETTINGS_AUTO. Limits that no split
// can keep are refused, with what would help.
STN_MUST_CHECK enum stn_status tune_plan_split(const struct tune_subject *subject,
                                               struct crew_profile *profile, int *batch,
                                               struct crew_splits *out);
// A smaller step to try the exchange with, into step[nodes]: in the proportions of the split, but
// of about `seconds` at most. Returns how long it will take.
double tune_plan_trial(const struct crew_profile *profile, const int split[], double seconds,
                       int step[]);
// Makes a plan of the profile and this split.
STN_MUST_CHECK enum stn_status tune_plan_describe(const struct tune_subject *subject,
                                                  const struct crew_profile *profile, int batch,
                                                  const int split[], struct stn_plan **out);

// Refuses a plan for another network, other images, another micro-batch (0: any) or other nodes,
// and says what differs. `label` is the file.
STN_MUST_CHECK enum stn_status
tune_plan_check(const struct stn_plan *plan, const struct tune_subject *subject, const char *label);
// True if the plan fits. Without a message: what differs goes into why[bytes], in words.
bool tune_plan_fits(const struct stn_plan *plan, const struct tune_subject *subject, char *why,
                    size_t bytes);
// Copies the plan's measurements into the profile.
void tune_plan_take(const struct stn_plan *plan, struct crew_profile *profile);

#endif
