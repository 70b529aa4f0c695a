// SPDX-License-Identifier: Apache-2.0
#include "optim/sgd.h"

struct coefficients {
    float lr, scale, momentum, weight_decay;
};

static void update_plain(struct coefficients k, size_t count, const float *restrict gradient_sum,
                         float *restrict velocity, float *restrict weight)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient_sum[i] * k.scale + k.weight_decay * weight[i];
        velocity[i] = k.momentum * velocity[i] + g;
        weight[i] -= k.lr * velocity[i];
    }
}

static void update_nesterov(struct coefficients k, size_t count, const float *restrict gradient_sum,
                            float *restrict velocity, float *restrict weight)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient_sum[i] * k.scale + k.weight_decay * weight[i];
        velocity[i] = k.momentum * velocity[i] + g;
        weight[i] -= k.lr * (g + k.momentum * velocity[i]);
    }
}

void optim_sgd_step(const struct optim_sgd *sgd, float lr, float scale, bool decay, size_t count,
                    const float *restrict gradient_sum, float *restrict velocity,
                    float *restrict weight)
{
    const struct coefficients k = {lr, scale, sgd->momentum, decay ? sgd->weight_decay : 0.0f};
    if (sgd->nesterov) {
        update_nesterov(k, count, gradient_sum, velocity, weight);
    } else {
        update_plain(k, count, gradient_sum, velocity, weight);
    }
}
