// SPDX-License-Identifier: Apache-2.0
#include "energy/spec.h"

#include <string.h>

#include "energy/meter.h"

static const char model_word[] = "model:";

bool energy_spec_is_none(const char *spec)
{
    return strcmp(spec, "none") == 0;
}

const char *energy_spec_model(const char *spec)
{
    size_t length = sizeof(model_word) - 1;
    return strncmp(spec, model_word, length) == 0 && spec[length] ? spec + length : NULL;
}

enum stn_status energy_spec_check(const char *spec)
{
    bool is_other = energy_spec_is_none(spec) || energy_spec_model(spec);
    if (strcmp(spec, "model") == 0 || strcmp(spec, model_word) == 0) {
        return stn_fail(STN_ERR_INVALID, "power %s: a device is missing, as model:newport", spec);
    }
    return is_other ? STN_OK : energy_meter_check(spec);
}
