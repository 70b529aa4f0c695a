// SPDX-License-Identifier: Apache-2.0
// The micro-batch that trains fastest on this node alone, found by trying.
#ifndef BENCH_MICRO_BATCH_H
#define BENCH_MICRO_BATCH_H

#include "bench/bench.h"

// Trains a few made-up micro-batches of each candidate that fits the memory and divides `batch` (0:
// any does). Networks with BatchNorm try no less than its statistics need. config->micro_batch is
// not read.
STN_MUST_CHECK enum stn_status bench_micro_batch_choose(const struct bench_config *config,
                                                        int batch,
                                                        struct stn_micro_batch_trials *out);

#endif
