// SPDX-License-Identifier: Apache-2.0
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

json_t *report_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *report_json_text(const char *value)
{
    json_t *string = value ? json_string(value) : NULL;
    return string ? string : json_null();
}

json_t *report_json_seed(uint64_t seed)
{
    char digits[24];
    if (seed <= INT64_MAX) {
        return json_integer((json_int_t)seed);
    }
    snprintf(digits, sizeof(digits), "%" PRIu64, seed);
    return json_string(digits);
}
