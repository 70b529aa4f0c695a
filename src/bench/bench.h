// SPDX-License-Identifier: Apache-2.0
// What stn_bench_run and the choice of a micro-batch share.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "settings/settings.h"
#include "stannis/train.h"

struct bench_config {
    const char *net;
    struct stn_model_shape shape;
    int batch, micro_batch; // 0: the network's default; micro_batch: or SETTINGS_AUTO
    int threads;
    int steps, warmup_steps; // timed, and before
    const char *backend;
    enum settings_optimizer optimizer;
    size_t memory;               // 0: the cgroup's limit or physical memory
    struct stn_profile *profile; // filled if not NULL
};

// Speed of forward and backward alone, the best of a few micro-batches; config->batch is one of
// them.
STN_MUST_CHECK enum stn_status bench_micro_batches(const struct bench_config *config,
                                                   double *images_per_second);

// What stn_bench_run does.
STN_MUST_CHECK enum stn_status bench_run(const struct settings *settings,
                                         struct stn_profile *profile, struct stn_bench_result *out);

#endif
