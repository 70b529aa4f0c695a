// SPDX-License-Identifier: Apache-2.0
// The energy of an epoch or a run as JSON.
#ifndef REPORT_ENERGY_H
#define REPORT_ENERGY_H

#include <jansson.h>

#include "stannis/train.h"

// NULL: no memory. What is not known is null.
json_t *report_energy_json(const struct stn_train_energy *energy);

#endif
