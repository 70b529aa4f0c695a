// SPDX-License-Identifier: Apache-2.0
// The micro-batch that trains fastest here, found by trying.
#ifndef TRAIN_MICRO_BATCH_H
#define TRAIN_MICRO_BATCH_H

#include "stannis/train.h"

// Trains a few made-up micro-batches of each candidate that fits the memory and divides `batch` (0: any
// does). Networks with BatchNorm try no less than its statistics need. config->micro_batch is not read.
STN_MUST_CHECK enum stn_status train_micro_batch_choose(const struct stn_bench_config *config,
                                                        int batch,
                                                        struct stn_micro_batch_trials *out);
// Puts the fastest into config->micro_batch if that is STN_MICRO_BATCH_AUTO, and logs it. Only for a training on
// one node.
STN_MUST_CHECK enum stn_status train_micro_batch_settle(struct stn_train_config *config,
                                                        struct stn_model_shape shape, int nodes);

#endif
