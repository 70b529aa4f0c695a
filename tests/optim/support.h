// SPDX-License-Identifier: Apache-2.0
// A second optimizer, for tests alone: two state arrays, so that nothing can be made for the first
// optimizer's one.
#ifndef TESTS_OPTIM_SUPPORT_H
#define TESTS_OPTIM_SUPPORT_H

#include "optim/optimizer.h"

// fast = g + momentum·fast;  slow = slow + fast/8;  w = w − lr·(fast + slow), decayed by
// lr·weight_decay·w.
static inline void two_means_step(const struct optim_settings *settings,
                                  const struct optim_move *move, const struct optim_stretch *s)
{
    for (size_t i = 0; i < s->count; i++) {
        float g = s->gradient_sum[i] * move->scale;
        float fast = g + settings->momentum * s->state[0][i];
        float slow = s->state[1][i] + fast * 0.125f;
        float decay = s->decay ? settings->weight_decay * s->weight[i] : 0.0f;
        s->state_next[0][i] = fast;
        s->state_next[1][i] = slow;
        s->weight_next[i] = s->weight[i] - move->lr * (fast + slow + decay);
    }
}

static const struct optim_rule_ways two_means_ways = {
    .states = 2, .state_names = {"fast", "slow"}, .step = two_means_step};
static const struct optim_rule two_means = {"two_means", "for tests", &two_means_ways};

#endif
