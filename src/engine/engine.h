// SPDX-License-Identifier: Apache-2.0
// What training, evaluation, prediction and the benchmark all set up first: our share of the CPUs,
// a kernel on that many threads, a network on that kernel.
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "nn/net.h"
#include "optim/optimizer.h"

struct engine {
    struct base_cpu_share cpu;
    int threads;
    struct kernel *kernel;
    struct nn_net *net;
};

// `threads` 0: as many as the CPU share allows. `backend` NULL: the best. `memory` 0: what the
// machine or the cgroup grants; a net that does not fit is refused.
STN_MUST_CHECK enum stn_status engine_open(const char *backend, int threads, size_t state_bytes,
                                           size_t memory, const struct nn_net_config *net,
                                           struct engine *out);
// A zeroed engine may be closed too.
void engine_close(struct engine *engine);

// From copy A of the weights and the optimizer's state to copy B, against the mean gradient of
// `count` samples, in step `step` of the training, the first of which is 1. The optimizer has a
// state for each of the net's parameters.
void engine_descend(struct engine *engine, const struct optim *optim, int64_t step, double lr,
                    int64_t count);
// Copy B of net and optimizer becomes the current one: the step counts.
void engine_flip(struct engine *engine, struct optim *optim);

// The network of that name; ERR_INVALID names the nearest, or all. `name` NULL: the flag is
// missing.
STN_MUST_CHECK enum stn_status engine_find_model(const char *name,
                                                 const struct stn_model_info **out);
// `wanted`, or for 0 as many workers as keep `threads` cores busy.
int engine_loader_threads(int wanted, int threads);

#endif
