// SPDX-License-Identifier: Apache-2.0
// What a training teaches: the network on this node's threads, and the optimizer that moves its
// weights.
#ifndef STEP_MODEL_H
#define STEP_MODEL_H

#include "checkpoint/checkpoint.h"
#include "crew/nodes.h"
#include "engine/engine.h"
#include "settings/settings.h"

struct step_model {
    struct engine engine;
    struct optim *optim;
    size_t state_bytes; // kept for each parameter beside the net
};

// The threads that this node computes with; 0: as many as its CPU share allows. A launcher that
// started several nodes here without binding them leaves each its part of the CPUs.
int step_model_threads(const struct settings *settings, const struct crew *nodes);
// Weights are anything until step_model_begin. What does not fit the memory is refused.
STN_MUST_CHECK enum stn_status step_model_open(const struct settings *settings,
                                               const struct crew *nodes,
                                               const struct stn_model_info *info,
                                               struct stn_model_shape shape,
                                               struct step_model *out);
// A zeroed one may be closed too.
void step_model_close(struct step_model *model);

// The checkpoint's weights and optimizer's state, or for NULL those of the seed.
STN_MUST_CHECK enum stn_status step_model_begin(struct step_model *model,
                                                const struct checkpoint *resumed, uint64_t seed);
// Node 0's weights become everybody's: not every machine's libm rounds alike.
STN_MUST_CHECK enum stn_status step_model_spread(struct step_model *model, struct crew *nodes);

// Running statistics into copy B, weights and the optimizer's state from copy A to copy B, and B
// becomes the current copy. `count`: samples in the sums.
void step_model_update(struct step_model *model, int64_t step, double lr, int64_t count);

// The first number of weights, statistics or state that is infinite or none at all, or 0.
double step_model_not_finite(struct step_model *model);
// Bytes that the process needs with it.
size_t step_model_memory(const struct step_model *model);

#endif
