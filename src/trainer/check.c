// SPDX-License-Identifier: Apache-2.0
#include "trainer/check.h"

#include "base/setting_mark.h"
#include "trainer/power.h"

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

// Node 0 alone plans, but all refuse alike.
static enum stn_status check_objective(const struct settings *s)
{
    struct plan_objective objective;
    bool is_time, plans = s->policy == STN_POLICY_DEFAULT || s->policy == STN_POLICY_BALANCED ||
                          s->policy == STN_POLICY_STATIC;
    enum stn_status status = plan_objective_parse(s->objective, s->min_speed, &objective, &is_time);
    if (!status && s->power) {
        status = energy_spec_check(s->power);
    }
    if (status || is_time) {
        return status || s->min_speed == 0.0
                   ? status
                   : stn_fail(
                         STN_ERR_INVALID, BASE_SETTING
                         "min-speed is a bound for plans that save energy: say with " BASE_SETTING
                         "objective energy, edp or a number");
    }
    if (!plans || s->split) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "objective %s: is for policies balanced and static, without a " BASE_SETTING
                        "split",
                        s->objective);
    }
    if (!s->tune && !s->plan) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "objective %s: needs the speeds that " BASE_SETTING
                                     "no-tune leaves out",
                        s->objective);
    }
    return STN_OK;
}

static enum stn_status check_learning(const struct settings *s)
{
    if (s->schedule == SETTINGS_STEP && s->lr_step_epochs <= 0.0) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "lr-step-epochs 0: " BASE_SETTING
                                                      "schedule step needs more than 0");
    }
    if (s->nesterov && s->optimizer != SETTINGS_OPTIMIZER_sgd) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "nesterov: is of " BASE_SETTING
                                                      "optimizer sgd; leave one out");
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
    status = status ? status : check_objective(settings);
    return status ? status : check_learning(settings);
}
