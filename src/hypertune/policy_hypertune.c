// SPDX-License-Identifier: Apache-2.0
// The second paper's algorithm, as published. Its state is a hypertune_paper.
#include "hypertune/policy.h"

static enum stn_status paper_open(const struct hypertune_policy_config *config, void **state)
{
    const struct hypertune_paper_config paper = {
        .cluster = config->cluster, .first = config->first, .options = config->paper};
    struct hypertune_paper *made = NULL;
    enum stn_status status = hypertune_paper_create(&paper, &made);
    *state = made;
    return status;
}

static struct hypertune_move paper_step(void *state, const struct hypertune_moment *moment,
                                        const struct hypertune_report reports[])
{
    struct hypertune_paper_decision decision =
        hypertune_paper_step(state, moment->step, moment->done, moment->steps, reports);
    return (struct hypertune_move){
        .action = decision.end_epoch ? HYPERTUNE_REPLAN : HYPERTUNE_KEEP,
        .split = decision.end_epoch ? decision.split : NULL,
        .end_epoch = decision.end_epoch,
        .learning_rate = decision.learning_rate,
        .node = decision.node,
    };
}

static void paper_close(void *state)
{
    hypertune_paper_destroy(state);
}

const struct hypertune_policy_ways hypertune_policy_hypertune = {
    .split = plan_split_hypertune,
    .open = paper_open,
    .step = paper_step,
    .close = paper_close,
};
