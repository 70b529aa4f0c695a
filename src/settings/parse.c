// SPDX-License-Identifier: Apache-2.0
// Values from texts, and texts from values. What a value must look like is said by its row.
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/setting_mark.h"
#include "base/suggest.h"
#include "settings/settings.h"

static void *field_of(const struct settings_row *row, struct settings *settings)
{
    return (char *)settings + row->offset;
}

static const void *field_in(const struct settings_row *row, const struct settings *settings)
{
    return (const char *)settings + row->offset;
}

// ---- limits ------------------------------------------------------------------------------------

static enum stn_status fail_range(const struct stn_setting *face, const char *text)
{
    if (isinf(face->max)) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s %s: must be at least %.15g", face->name,
                        text, face->min);
    }
    if (face->below_max) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "%s %s: must be at least %.15g and below %.15g", face->name,
                        text, face->min, face->max);
    }
    return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s %s: must be between %.15g and %.15g",
                    face->name, text, face->min, face->max);
}

static bool within(const struct stn_setting *face, double value)
{
    return !face->has_limits ||
           (value >= face->min && value <= face->max && !(face->below_max && value >= face->max));
}

// ---- reading -----------------------------------------------------------------------------------

static enum stn_status parse_integer(const struct stn_setting *face, const char *text,
                                     int64_t lowest, int64_t highest, int64_t *out)
{
    int64_t value = 0;
    int error = base_parse_int64(text, &value);
    if (error == EINVAL) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s %s: not a whole number", face->name,
                        text);
    }
    if (error || value < lowest || value > highest || !within(face, (double)value)) {
        return fail_range(face, text);
    }
    *out = value;
    return STN_OK;
}

static enum stn_status parse_int(const struct stn_setting *face, const char *text, int *out)
{
    int64_t value = 0;
    enum stn_status status = parse_integer(face, text, INT_MIN, INT_MAX, &value);
    if (status == STN_OK) {
        *out = (int)value;
    }
    return status;
}

static enum stn_status parse_real(const struct stn_setting *face, const char *text, double *out)
{
    double value;
    if (base_parse_real(text, &value) != 0) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s %s: not a number", face->name, text);
    }
    if (!within(face, value)) {
        return fail_range(face, text);
    }
    *out = value;
    return STN_OK;
}

static enum stn_status parse_seed(const struct stn_setting *face, const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || *end || errno == ERANGE) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "%s %s: not a whole number between 0 and %llu", face->name,
                        text, ULLONG_MAX);
    }
    *out = value;
    return STN_OK;
}

static enum stn_status parse_bytes(const struct stn_setting *face, const char *text, size_t *out)
{
    int error = base_parse_bytes(text, out);
    if (error == EINVAL) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "%s %s: not a size such as 1048576, 512M or 2G", face->name,
                        text);
    }
    return error ? stn_fail(STN_ERR_INVALID, BASE_SETTING "%s %s: too large", face->name, text)
                 : STN_OK;
}

static enum stn_status parse_flag(const struct stn_setting *face, const char *text, bool *out)
{
    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s %s: must be on or off", face->name, text);
    }
    *out = strcmp(text, "on") == 0;
    return STN_OK;
}

static enum stn_status parse_choice(const struct stn_setting *face, const char *text, int *out)
{
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; face->choices[i]; i++) {
        if (strcmp(face->choices[i], text) == 0) {
            *out = i;
            return STN_OK;
        }
        if (used < sizeof(list)) {
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                     face->choices[i]);
        }
    }
    const char *meant = base_did_you_mean(text, face->choices);
    return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s %s: must be one of %s%s%s%s", face->name,
                    text, list, meant ? "; did you mean " : "", meant ? meant : "",
                    meant ? "?" : "");
}

enum stn_status settings_parse(const struct settings_row *row, const char *text,
                               struct settings *into)
{
    const struct stn_setting *face = &row->face;
    void *field = field_of(row, into);
    switch (face->kind) {
    case STN_SETTING_FLAG: return parse_flag(face, text, field);
    case STN_SETTING_AUTO:
        if (strcmp(text, "auto") == 0) {
            *(int *)field = SETTINGS_AUTO;
            return STN_OK;
        } // fall through
    case STN_SETTING_INT: return parse_int(face, text, field);
    case STN_SETTING_INT64: return parse_integer(face, text, INT64_MIN, INT64_MAX, field);
    case STN_SETTING_SEED: return parse_seed(face, text, field);
    case STN_SETTING_REAL: return parse_real(face, text, field);
    case STN_SETTING_BYTES: return parse_bytes(face, text, field);
    case STN_SETTING_CHOICE: return parse_choice(face, text, field);
    case STN_SETTING_TEXT:
        if (*text == '\0') {
            return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s: must not be empty", face->name);
        }
        *(const char **)field = text;
        return STN_OK;
    }
    return stn_fail(STN_ERR_INTERNAL, BASE_SETTING "%s: a setting of no kind", face->name);
}

// ---- writing -----------------------------------------------------------------------------------

// The fewest digits that give the same number again.
static size_t print_real(double value, char *text, size_t bytes)
{
    int length = isnan(value) ? snprintf(text, bytes, "%s", "") : -1;
    for (int digits = 6; digits <= 17 && length < 0; digits++) {
        char longest[40];
        snprintf(longest, sizeof(longest), "%.*g", digits, value);
        if (digits == 17 || strtod(longest, NULL) == value) {
            length = snprintf(text, bytes, "%s", longest);
        }
    }
    return (size_t)length;
}

static size_t print_whole(int64_t value, bool open, char *text, size_t bytes)
{
    return (size_t)(open ? snprintf(text, bytes, "%s", "")
                         : snprintf(text, bytes, "%" PRId64, value));
}

size_t settings_print(const struct settings_row *row, const struct settings *settings, char *text,
                      size_t bytes)
{
    const void *field = field_in(row, settings);
    bool open = !row->face.initial; // zero then says that nothing was chosen
    const char *word = "";
    switch (row->face.kind) {
    case STN_SETTING_FLAG: word = *(const bool *)field ? "on" : "off"; break;
    case STN_SETTING_INT:
    case STN_SETTING_AUTO:
        if (row->face.kind == STN_SETTING_INT || *(const int *)field != SETTINGS_AUTO) {
            int value = *(const int *)field;
            return print_whole(value, open && value == 0, text, bytes);
        }
        word = "auto";
        break;
    case STN_SETTING_INT64:
        return print_whole(*(const int64_t *)field, open && *(const int64_t *)field == 0, text,
                           bytes);
    case STN_SETTING_SEED:
        return (size_t)snprintf(text, bytes, "%" PRIu64, *(const uint64_t *)field);
    case STN_SETTING_REAL: return print_real(*(const double *)field, text, bytes);
    case STN_SETTING_BYTES: {
        size_t value = *(const size_t *)field;
        return (size_t)(value ? snprintf(text, bytes, "%zu", value)
                              : snprintf(text, bytes, "%s", ""));
    }
    case STN_SETTING_TEXT: word = *(const char *const *)field; break;
    case STN_SETTING_CHOICE:
        word = *(const int *)field >= 0 ? row->face.choices[*(const int *)field] : "";
        break;
    }
    return (size_t)snprintf(text, bytes, "%s", word ? word : "");
}

// ---- comparing ---------------------------------------------------------------------------------

static size_t field_bytes(enum stn_setting_kind kind)
{
    static const size_t bytes[] = {
        [STN_SETTING_FLAG] = sizeof(bool),     [STN_SETTING_INT] = sizeof(int),
        [STN_SETTING_AUTO] = sizeof(int),      [STN_SETTING_INT64] = sizeof(int64_t),
        [STN_SETTING_SEED] = sizeof(uint64_t), [STN_SETTING_REAL] = sizeof(double),
        [STN_SETTING_BYTES] = sizeof(size_t),  [STN_SETTING_TEXT] = sizeof(char *),
        [STN_SETTING_CHOICE] = sizeof(int)};
    return bytes[kind];
}

bool settings_equal(const struct settings_row *row, const struct settings *a,
                    const struct settings *b)
{
    const void *left = field_in(row, a), *right = field_in(row, b);
    if (row->face.kind == STN_SETTING_TEXT) {
        const char *x = *(const char *const *)left, *y = *(const char *const *)right;
        return x && y ? strcmp(x, y) == 0 : x == y;
    }
    return memcmp(left, right, field_bytes(row->face.kind)) == 0;
}

void settings_assign(const struct settings_row *row, const struct settings *from,
                     struct settings *to)
{
    memcpy(field_of(row, to), field_in(row, from), field_bytes(row->face.kind));
}

static enum stn_status check_row(const struct settings_row *row, const struct settings *settings)
{
    char text[64];
    struct settings again;
    if (row->face.kind == STN_SETTING_REAL && !isfinite(*(const double *)field_in(row, settings))) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s: not a number", row->face.name);
    }
    settings_print(row, settings, text, sizeof(text));
    return settings_parse(row, text, &again);
}

enum stn_status settings_check(enum stn_verb verb, const struct settings *settings)
{
    const struct settings defaults = settings_defaults(verb);
    enum stn_status status = STN_OK;
    for (int i = 0; i < settings_row_count && status == STN_OK; i++) {
        const struct settings_row *row = &settings_rows[i];
        bool ours = row->face.has_limits && (row->face.verbs & settings_verbs(verb));
        if (ours && !settings_equal(row, settings, &defaults)) {
            status = check_row(row, settings);
        }
    }
    return status;
}
