// SPDX-License-Identifier: Apache-2.0
// Objectives as people write them.
#include <string.h>

#include "base/number.h"
#include "base/setting_mark.h"
#include "plan/energy.h"

enum stn_status plan_objective_parse(const char *text, double speed_least,
                                     struct plan_objective *out, bool *is_time)
{
    *out = (struct plan_objective){.eta = 1.0, .speed_least = speed_least};
    *is_time = false;
    if (!text || strcmp(text, "time") == 0) {
        *is_time = true;
        return STN_OK;
    }
    if (strcmp(text, "energy") == 0) {
        return STN_OK;
    }
    if (strcmp(text, "edp") == 0) {
        out->aim = PLAN_AIM_DELAY_PRODUCT;
        return STN_OK;
    }
    if (base_parse_real(text, &out->eta) != 0 || !(out->eta >= 0.0 && out->eta <= 1.0)) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "objective %.80s: expected time, energy, edp or a number from "
                                     "0 (time) to 1 (energy)",
                        text);
    }
    return STN_OK;
}
