// SPDX-License-Identifier: Apache-2.0
// What a user may say of a node's power: a meter (energy/meter.h), `none`, or `model:DEVICE`, whose
// profile tells its watts. Pure.
#ifndef ENERGY_SPEC_H
#define ENERGY_SPEC_H

#include <stdbool.h>

#include "stannis/status.h"

// Refused: unknown words, and arguments that are missing. Nothing is opened.
STN_MUST_CHECK enum stn_status energy_spec_check(const char *spec);
bool energy_spec_is_none(const char *spec);
const char *energy_spec_model(const char *spec); // the device; NULL: it is no model

#endif
