// SPDX-License-Identifier: Apache-2.0
// What stn_bench_run and the choice of a micro-batch share.
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "stannis/train.h"

// Speed of forward and backward alone, the best of a few micro-batches; config->batch is one of
// them.
STN_MUST_CHECK enum stn_status bench_micro_batches(const struct stn_bench_config *config,
                                                   double *images_per_second);

// What stn_bench_run does.
STN_MUST_CHECK enum stn_status bench_run(const struct stn_bench_config *config,
                                         struct stn_bench_result *out);

#endif
