// SPDX-License-Identifier: Apache-2.0
// The micro-batch with which all nodes together train fastest.
#ifndef TUNE_MICRO_BATCH_H
#define TUNE_MICRO_BATCH_H

#include "plan/policy.h"
#include "settings/settings.h"
#include "stannis/train.h"

struct crew;

// Images a second of all nodes together at the best split of `batch`, if each alone does `speeds`
// with micro-batches of that size (batch ≤ 0: the sum of the speeds). Small micro-batches cost each
// node some speed but can be split finely. split[nodes] and `scratch` are for its use.
double tune_micro_batch_speed(const double speeds[], int nodes, int micro_batch, int batch,
                              const struct plan_scratch *scratch, int split[]);
// Replaces SETTINGS_AUTO in settings->micro_batch by the size with which all nodes together
// are fastest and that fits the memory of each, and logs it. Every node calls it.
STN_MUST_CHECK enum stn_status tune_micro_batch_settle(struct settings *settings,
                                                       struct stn_model_shape shape, int threads,
                                                       struct crew *nodes);

#endif
