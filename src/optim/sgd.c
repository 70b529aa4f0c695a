// SPDX-License-Identifier: Apache-2.0
// Each element is updated by itself, so the result does not depend on how the array is cut among
// threads.
#include "optim/sgd.h"

// Below this many elements waking the team costs more than it saves. Small arrays stay off OpenMP
// altogether: a region of one thread would make libgomp drop and re-allocate its team.
enum { PARALLEL_MIN = 32 * 1024, BLOCK = 8 * 1024 };

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
                    float *restrict weight, int threads)
{
    const struct coefficients k = {lr, scale, sgd->momentum, decay ? sgd->weight_decay : 0.0f};
    void (*update)(struct coefficients, size_t, const float *restrict, float *restrict,
                   float *restrict) = sgd->nesterov ? update_nesterov : update_plain;
    if (threads <= 1 || count < PARALLEL_MIN) {
        update(k, count, gradient_sum, velocity, weight);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t n = count - begin < BLOCK ? count - begin : BLOCK;
        update(k, n, gradient_sum + begin, velocity + begin, weight + begin);
    }
}
