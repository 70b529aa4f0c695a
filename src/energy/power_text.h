// SPDX-License-Identifier: Apache-2.0
// Watts and times as programs and logs write them. Pure.
#ifndef ENERGY_POWER_TEXT_H
#define ENERGY_POWER_TEXT_H

#include <stdbool.h>

// "W", "mW", "kW", "uW" and words with them ("Power (kW)"): what to multiply by for watts; 0: none.
double energy_unit_of(const char *text);
// "85.3", "85.3 W", "0.0853kW", and numbers with a decimal comma. False: no watts, or below 0.
bool energy_parse_watts(const char *text, double *out);
// Seconds since 1970 of "2026-01-31T12:00:00Z", "2026-01-31 12:00:00.25+01:00" (no zone: UTC),
// 1769860800, and the same in milliseconds.
bool energy_parse_time(const char *text, double *out);

#endif
