// SPDX-License-Identifier: Apache-2.0
// stn_train_run and stn_eval_run, with settings that a test has.
#ifndef TESTS_TRAIN_SMALL_CALL_H
#define TESTS_TRAIN_SMALL_CALL_H

#include "session.h"
#include "settings/settings.h"
#include "stannis/train.h"

static inline enum stn_status small_train(const struct settings *settings,
                                          const struct stn_train_observer *observer,
                                          struct stn_train_result *out)
{
    const struct stn_settings all = {.verb = STN_VERB_TRAIN, .values = *settings};
    return stn_train_run(test_session(), &all, observer, out);
}

static inline enum stn_status small_eval(const struct settings *settings,
                                         const struct stn_train_observer *observer,
                                         struct stn_eval_result *out)
{
    const struct stn_settings all = {.verb = STN_VERB_EVAL, .values = *settings};
    return stn_eval_run(test_session(), &all, observer, out);
}

#endif
