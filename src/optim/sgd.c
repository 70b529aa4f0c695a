// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum, one pass over memory:
//
//     g = gradient_sum·scale [+ weight_decay·w]
//     v = momentum·v + g
//     w = w − lr·v, or with Nesterov w − lr·(g + momentum·v)
#include "optim/optimizer.h"

struct coefficients {
    float lr, scale, momentum, weight_decay;
};

static void update_plain(struct coefficients k, size_t count, const float *restrict gradient_sum,
                         const float *restrict velocity, const float *restrict weight,
                         float *restrict velocity_next, float *restrict weight_next)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient_sum[i] * k.scale + k.weight_decay * weight[i];
        float v = k.momentum * velocity[i] + g;
        velocity_next[i] = v;
        weight_next[i] = weight[i] - k.lr * v;
    }
}

static void update_nesterov(struct coefficients k, size_t count, const float *restrict gradient_sum,
                            const float *restrict velocity, const float *restrict weight,
                            float *restrict velocity_next, float *restrict weight_next)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient_sum[i] * k.scale + k.weight_decay * weight[i];
        float v = k.momentum * velocity[i] + g;
        velocity_next[i] = v;
        weight_next[i] = weight[i] - k.lr * (g + k.momentum * v);
    }
}

static void step(const struct optim_settings *settings, const struct optim_move *move,
                 const struct optim_stretch *s)
{
    const struct coefficients k = {.lr = move->lr,
                                   .scale = move->scale,
                                   .momentum = settings->momentum,
                                   .weight_decay = s->decay ? settings->weight_decay : 0.0f};
    if (settings->nesterov) {
        update_nesterov(k, s->count, s->gradient_sum, s->state[0], s->weight, s->state_next[0],
                        s->weight_next);
    } else {
        update_plain(k, s->count, s->gradient_sum, s->state[0], s->weight, s->state_next[0],
                     s->weight_next);
    }
}

// A larger rate kills lenet, which has no batch norm.
const struct optim_rule_ways optim_sgd = {
    .states = 1, .state_names = {"momentum"}, .usual_lr = 0.02, .step = step};
