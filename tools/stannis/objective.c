// SPDX-License-Identifier: Apache-2.0
#include "objective.h"

#include "base/setting_mark.h"

enum stn_status objective_of(const struct settings *settings, struct plan_objective *out,
                             const struct plan_objective **wanted)
{
    bool is_time;
    enum stn_status status =
        plan_objective_parse(settings->objective, settings->min_speed, out, &is_time);
    *wanted = is_time ? NULL : out;
    if (status != STN_OK) {
        return status;
    }
    if (is_time && settings->min_speed > 0.0) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING
                        "min-speed is a bound for plans that save energy: say with " BASE_SETTING
                        "objective energy, edp or a number");
    }
    bool plans = settings->policy == STN_POLICY_BALANCED || settings->policy == STN_POLICY_STATIC;
    if (!is_time && !plans) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "policy %s plans for time alone: with " BASE_SETTING
                                     "objective take balanced or static",
                        settings_policy_names[settings->policy]);
    }
    return STN_OK;
}
