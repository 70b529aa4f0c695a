// SPDX-License-Identifier: Apache-2.0
// Settings of a training, checked: each for itself, as the table says, and together.
#ifndef TRAIN_CHECK_H
#define TRAIN_CHECK_H

#include "settings/settings.h"

STN_MUST_CHECK enum stn_status train_settings_check(const struct settings *settings);

#endif
