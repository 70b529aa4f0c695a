// SPDX-License-Identifier: Apache-2.0
// Adam with weight decay that is no part of the gradient, one pass over memory:
//
//     g = gradient_sum·scale
//     m = beta1·m + (1 − beta1)·g        beta1 is the setting `momentum`
//     v = beta2·v + (1 − beta2)·g²
//     w = w − lr·weight_decay·w − lr·(m / (1 − beta1^t)) / (√(v / (1 − beta2^t)) + epsilon)
//
// in step t, counted from 1. Only additions, multiplications, divisions and square roots take part:
// IEEE arithmetic rounds them alike on every CPU.
#include <math.h>

#include "optim/optimizer.h"

struct coefficients {
    float keep; // of a weight, after its decay
    float lr;   // with the correction of m
    float beta1, beta2, rest1, rest2;
    float root; // of the correction of v
    float epsilon, scale;
};

// By squaring: the pow of two C libraries may differ in the last bit.
static double power(double base, int64_t exponent)
{
    double result = 1.0;
    while (exponent > 0) {
        result = exponent & 1 ? result * base : result;
        base *= base;
        exponent >>= 1;
    }
    return result;
}

static struct coefficients coefficients_of(const struct optim_settings *settings,
                                           const struct optim_move *move, bool decay)
{
    double beta1 = (double)settings->momentum, beta2 = (double)settings->beta2;
    double weight_decay = decay ? (double)settings->weight_decay : 0.0;
    return (struct coefficients){
        .keep = (float)(1.0 - (double)move->lr * weight_decay),
        .lr = (float)((double)move->lr / (1.0 - power(beta1, move->step))),
        .beta1 = settings->momentum,
        .beta2 = settings->beta2,
        .rest1 = (float)(1.0 - beta1),
        .rest2 = (float)(1.0 - beta2),
        .root = (float)sqrt(1.0 - power(beta2, move->step)),
        .epsilon = settings->epsilon,
        .scale = move->scale,
    };
}

static void update(struct coefficients k, size_t count, const float *restrict gradient_sum,
                   const float *restrict mean, const float *restrict square,
                   const float *restrict weight, float *restrict mean_next,
                   float *restrict square_next, float *restrict weight_next)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient_sum[i] * k.scale;
        float m = k.beta1 * mean[i] + k.rest1 * g;
        float v = k.beta2 * square[i] + k.rest2 * (g * g);
        mean_next[i] = m;
        square_next[i] = v;
        weight_next[i] = k.keep * weight[i] - k.lr * (m / (sqrtf(v) / k.root + k.epsilon));
    }
}

static void step(const struct optim_settings *settings, const struct optim_move *move,
                 const struct optim_stretch *s)
{
    update(coefficients_of(settings, move, s->decay), s->count, s->gradient_sum, s->state[0],
           s->state[1], s->weight, s->state_next[0], s->state_next[1], s->weight_next);
}

const struct optim_rule_ways optim_adamw = {
    .states = 2, .state_names = {"mean", "square"}, .usual_lr = 0.001, .step = step};
