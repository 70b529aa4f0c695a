// SPDX-License-Identifier: Apache-2.0
// A user's settings, checked. Every complaint is one line that names the flag.
#ifndef TRAIN_CONFIG_H
#define TRAIN_CONFIG_H

#include "stannis/train.h"

STN_MUST_CHECK enum stn_status train_config_check(const struct stn_train_config *config);

#endif
