// SPDX-License-Identifier: Apache-2.0
// Values that JSON cannot express as they are. All return new references.
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <jansson.h>
#include <stdint.h>

json_t *report_json_real(double value);      // null for NaN and infinities
json_t *report_json_text(const char *value); // null for NULL and for what is not UTF-8
json_t *report_json_seed(uint64_t seed);     // text beyond 2^63 − 1, where jansson's integers end

#endif
