// SPDX-License-Identifier: Apache-2.0
// Settings of a training, checked: each for itself, as the table says, and together.
#ifndef TRAINER_CHECK_H
#define TRAINER_CHECK_H

#include "settings/settings.h"

STN_MUST_CHECK enum stn_status trainer_settings_check(const struct settings *settings);

#endif
