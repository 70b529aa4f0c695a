// SPDX-License-Identifier: Apache-2.0
// One node's part of a training, on nodes that are already connected: what stn_train_run does after
// connecting, and what tests call on several threads.
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include "comm/comm.h"
#include "crew/hooks.h"
#include "settings/settings.h"
#include "stannis/train.h"

// What a node tells of a training: all of it on node 0, on others only whether to stop.
struct stn_train_observer train_observer_of(const struct comm *comm,
                                            const struct stn_train_observer *observer);

// `observer` may be NULL. `hooks` are NULL in a real training.
STN_MUST_CHECK enum stn_status train_run_on(struct comm *comm, const struct settings *settings,
                                            const struct stn_train_observer *observer,
                                            const struct crew_hooks *hooks,
                                            struct stn_train_result *out);

// The same for stn_tune_run.
STN_MUST_CHECK enum stn_status train_tune_on(struct comm *comm, const struct settings *settings,
                                             const struct stn_train_observer *observer,
                                             struct stn_plan **out);

#endif
