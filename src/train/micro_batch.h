// SPDX-License-Identifier: Apache-2.0
// The micro-batch that trains fastest here, found by trying.
#ifndef TRAIN_MICRO_BATCH_H
#define TRAIN_MICRO_BATCH_H

#include "stannis/train.h"

struct train_nodes;

// Trains a few made-up micro-batches of each candidate that fits the memory and divides `batch` (0: any
// does). Networks with BatchNorm try no less than its statistics need. config->micro_batch is not read.
STN_MUST_CHECK enum stn_status train_micro_batch_choose(const struct stn_bench_config *config,
                                                        int batch,
                                                        struct stn_micro_batch_trials *out);
// If config->micro_batch is STN_MICRO_BATCH_AUTO: puts the one there with the greatest sum of all nodes'
// speeds that fits the memory of each, and logs it. Every node calls it.
STN_MUST_CHECK enum stn_status train_micro_batch_settle(struct stn_train_config *config,
                                                        struct stn_model_shape shape, int threads,
                                                        struct train_nodes *nodes);

#endif
