// SPDX-License-Identifier: Apache-2.0
#include "trainer/check.h"

#include "base/setting_mark.h"

static enum stn_status check_planning(const struct settings *s)
{
    if (s->plan && s->split) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "plan and " BASE_SETTING "split: give one of them");
    }
    if (s->batch == SETTINGS_AUTO && s->split) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "batch auto: " BASE_SETTING
                                                      "split says the batch; leave one out");
    }
    if (s->batch == SETTINGS_AUTO && !s->tune && !s->plan) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING
                        "batch auto: needs the speeds that " BASE_SETTING
                        "no-tune leaves out; give a number, or a " BASE_SETTING "plan");
    }
    return STN_OK;
}

static enum stn_status check_learning(const struct settings *s)
{
    if (s->schedule == SETTINGS_STEP && s->lr_step_epochs <= 0.0) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "lr-step-epochs 0: " BASE_SETTING
                                                      "schedule step needs more than 0");
    }
    if (s->nesterov && s->momentum <= 0.0) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "nesterov: needs a " BASE_SETTING "momentum above 0");
    }
    return STN_OK;
}

enum stn_status trainer_settings_check(const struct settings *settings)
{
    enum stn_status status = settings_check(STN_VERB_TRAIN, settings);
    if (status) {
        return status;
    }
    if (settings->batch > 0 && settings->micro_batch > settings->batch) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "micro-batch %d: must be at most %d",
                        settings->micro_batch, settings->batch);
    }
    status = check_planning(settings);
    if (!status && !settings->data) {
        status = stn_fail(STN_ERR_INVALID, BASE_SETTING
                          "data: which data? For a trial: " BASE_SETTING "data synthetic");
    }
    return status ? status : check_learning(settings);
}
