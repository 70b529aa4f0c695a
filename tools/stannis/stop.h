// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM for verbs that stop in good order: at the next occasion, and at once the
// second time.
#ifndef TOOLS_STANNIS_STOP_H
#define TOOLS_STANNIS_STOP_H

#include <stdbool.h>

void stop_catch_signals(void);
// A stop_requested of struct stn_train_observer. `context` is a bool: whether it was announced
// already.
bool stop_requested(void *context);

#endif
