// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// strtol and its kin skip spaces and stop at garbage.
static bool is_whole(const char *text, const char *end)
{
    return end != text && *end == '\0' && !isspace((unsigned char)*text);
}

int base_parse_int64(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (!is_whole(text, end)) {
        return EINVAL;
    }
    if (errno == ERANGE || value < INT64_MIN || value > INT64_MAX) {
        return ERANGE;
    }
    *out = value;
    return 0;
}

int base_parse_real(const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (!is_whole(text, end) || !isfinite(value)) {
        return EINVAL;
    }
    *out = value;
    return 0;
}

int base_parse_bytes(const char *text, size_t *out)
{
    static const char suffixes[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if (!isdigit((unsigned char)*text) || !is_whole(text, end + (suffix != NULL))) {
        return EINVAL;
    }
    if (errno == ERANGE || value > (SIZE_MAX >> shift)) {
        return ERANGE;
    }
    *out = (size_t)value << shift;
    return 0;
}
