// SPDX-License-Identifier: Apache-2.0
// All nodes done at the same time, at the start and whenever their speeds have changed. Its state
// is a hypertune_decide.
#include "hypertune/policy.h"

static enum stn_status balanced_open(const struct hypertune_policy_config *config, void **state)
{
    const struct hypertune_decide_config decide = {.cluster = config->cluster,
                                                   .micro_batches = config->micro_batches,
                                                   .first = config->first,
                                                   .options = config->decide};
    struct hypertune_decide *made = NULL;
    enum stn_status status = hypertune_decide_create(&decide, &made);
    *state = made;
    return status;
}

static struct hypertune_move balanced_step(void *state, const struct hypertune_moment *moment,
                                           const struct hypertune_report reports[])
{
    struct hypertune_decision decision = hypertune_decide_step(state, moment->step, reports);
    return (struct hypertune_move){
        .action = decision.action,
        .split = decision.split,
        .learning_rate = 1.0,
        .predicted_s = decision.predicted_s,
        .gain = decision.gain,
        .node = decision.node,
    };
}

static void balanced_close(void *state)
{
    hypertune_decide_destroy(state);
}

static const struct hypertune_decide *balanced_watch(const void *state)
{
    return state;
}

const struct hypertune_policy_ways hypertune_policy_balanced = {
    .split = plan_split_balanced,
    .open = balanced_open,
    .step = balanced_step,
    .close = balanced_close,
    .watch = balanced_watch,
    .trades = true,
};
