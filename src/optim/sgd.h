// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum over flat arrays, one pass over memory.
#ifndef OPTIM_SGD_H
#define OPTIM_SGD_H

#include <stdbool.h>
#include <stddef.h>

struct optim_sgd {
    float momentum, weight_decay;
    bool nesterov;
};

// g = gradient_sum·scale [+ weight_decay·w];  v = momentum·v + g;  w −= lr·v, or lr·(g +
// momentum·v) with Nesterov. `decay`: whether weight decay applies to this segment (not to batch
// norm and biases). Each element is updated by itself, so it does not matter how an array is cut
// among threads.
void optim_sgd_step(const struct optim_sgd *sgd, float lr, float scale, bool decay, size_t count,
                    const float *restrict gradient_sum, float *restrict velocity,
                    float *restrict weight);

#endif
