// SPDX-License-Identifier: Apache-2.0
// The public face: an object of settings that is read and set by name.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"
#include "base/suggest.h"
#include "settings/settings.h"

enum { NAMES_MAX = 256 };

// ---- objects -----------------------------------------------------------------------------------

static enum stn_status fail_null(const char *call)
{
    return stn_fail(STN_ERR_INVALID, "%s: an argument is NULL", call);
}

enum stn_status stn_settings_create(enum stn_verb verb, struct stn_settings **out)
{
    if (!out) {
        return fail_null("stn_settings_create");
    }
    *out = NULL;
    if (!stn_verb_name(verb)) {
        return stn_fail(STN_ERR_INVALID, "stn_settings_create: %d is no verb", (int)verb);
    }
    struct stn_settings *settings = calloc(1, sizeof(*settings));
    if (!settings) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for settings");
    }
    settings->verb = verb;
    settings->values = settings_defaults(verb);
    *out = settings;
    return STN_OK;
}

static enum stn_status keep_text(const struct settings_row *row, struct stn_settings *settings)
{
    const char **field = (const char **)(void *)((char *)&settings->values + row->offset);
    if (row->face.kind == STN_SETTING_TEXT && *field) {
        *field = base_arena_strdup(&settings->texts, *field);
        return *field ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for settings");
    }
    return STN_OK;
}

enum stn_status stn_settings_copy(const struct stn_settings *from, struct stn_settings **out)
{
    if (!from || !out) {
        return fail_null("stn_settings_copy");
    }
    enum stn_status status = stn_settings_create(from->verb, out);
    if (status) {
        return status;
    }
    (*out)->values = from->values;
    for (int i = 0; i < settings_row_count && !status; i++) {
        status = settings_rows[i].again ? STN_OK : keep_text(&settings_rows[i], *out);
    }
    if (status) {
        stn_settings_destroy(*out);
        *out = NULL;
    }
    return status;
}

void stn_settings_destroy(struct stn_settings *settings)
{
    if (settings) {
        base_arena_fini(&settings->texts);
        free(settings);
    }
}

// ---- names -------------------------------------------------------------------------------------

static enum stn_status fail_unknown(const struct stn_settings *settings, const char *name)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    int count = 0;
    for (int i = 0; i < settings_row_count && count < NAMES_MAX; i++) {
        const struct stn_setting *face = &settings_rows[i].face;
        if ((face->verbs & settings_verbs(settings->verb)) && !face->program) {
            names[count++] = face->name;
        }
    }
    const char *meant = base_did_you_mean(name, names);
    return stn_fail(STN_ERR_INVALID, "%.48s: no such setting of %s%s%s%s", name,
                    stn_verb_name(settings->verb), meant ? "; did you mean " : "",
                    meant ? meant : "", meant ? "?" : "");
}

// The row of a name, refused unless it is one that the library offers.
static enum stn_status find(const char *call, const struct stn_settings *settings, const char *name,
                            const struct settings_row **out)
{
    if (!settings || !name) {
        return fail_null(call);
    }
    *out = settings_find(settings_verbs(settings->verb), name, false);
    return *out ? STN_OK : fail_unknown(settings, name);
}

// ---- setting -----------------------------------------------------------------------------------

// Checked and copied before the old value goes.
static enum stn_status store(struct stn_settings *settings, const struct settings_row *row,
                             const char *text)
{
    struct settings values = settings->values;
    enum stn_status status = settings_parse(row, text, &values);
    if (status == STN_OK && row->face.kind == STN_SETTING_TEXT) {
        const char *copy = base_arena_strdup(&settings->texts, text);
        status = copy ? settings_parse(row, copy, &values)
                      : stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "%s: no memory", row->face.name);
    }
    if (status == STN_OK) {
        settings->values = values;
    }
    return status;
}

static enum stn_status fail_kind(const struct settings_row *row, const char *wanted)
{
    return stn_fail(STN_ERR_INVALID, BASE_SETTING "%s: is not set by %s", row->face.name, wanted);
}

enum stn_status stn_settings_set(struct stn_settings *settings, const char *name, const char *value)
{
    const struct settings_row *row;
    enum stn_status status = find("stn_settings_set", settings, name, &row);
    if (status) {
        return status;
    }
    return value ? store(settings, row, value) : fail_null("stn_settings_set");
}

enum stn_status stn_settings_set_int(struct stn_settings *settings, const char *name, int64_t value)
{
    const struct settings_row *row;
    enum stn_status status = find("stn_settings_set_int", settings, name, &row);
    if (status) {
        return status;
    }
    switch (row->face.kind) {
    case STN_SETTING_INT:
    case STN_SETTING_AUTO:
    case STN_SETTING_INT64:
    case STN_SETTING_SEED:
    case STN_SETTING_BYTES:
    case STN_SETTING_REAL: break;
    default: return fail_kind(row, "a whole number");
    }
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, value);
    return store(settings, row, text);
}

enum stn_status stn_settings_set_real(struct stn_settings *settings, const char *name, double value)
{
    const struct settings_row *row;
    enum stn_status status = find("stn_settings_set_real", settings, name, &row);
    if (status) {
        return status;
    }
    if (row->face.kind != STN_SETTING_REAL) {
        return fail_kind(row, "a real number");
    }
    char text[40];
    snprintf(text, sizeof(text), "%.17g", value); // exact
    return store(settings, row, text);
}

enum stn_status stn_settings_set_flag(struct stn_settings *settings, const char *name, bool value)
{
    const struct settings_row *row;
    enum stn_status status = find("stn_settings_set_flag", settings, name, &row);
    if (status) {
        return status;
    }
    if (row->face.kind != STN_SETTING_FLAG) {
        return fail_kind(row, "a flag");
    }
    return store(settings, row, value ? "on" : "off");
}

enum stn_status stn_settings_set_text(struct stn_settings *settings, const char *name,
                                      const char *value)
{
    const struct settings_row *row;
    enum stn_status status = find("stn_settings_set_text", settings, name, &row);
    if (status) {
        return status;
    }
    if (row->face.kind != STN_SETTING_TEXT && row->face.kind != STN_SETTING_CHOICE) {
        return fail_kind(row, "a text");
    }
    return value ? store(settings, row, value) : fail_null("stn_settings_set_text");
}

enum stn_status stn_settings_reset(struct stn_settings *settings, const char *name)
{
    if (!settings) {
        return fail_null("stn_settings_reset");
    }
    const struct settings defaults = settings_defaults(settings->verb);
    if (!name) {
        settings->values = defaults;
        return STN_OK;
    }
    const struct settings_row *row;
    enum stn_status status = find("stn_settings_reset", settings, name, &row);
    if (status == STN_OK) {
        settings_assign(row, &defaults, &settings->values);
    }
    return status;
}

enum stn_status stn_settings_get(const struct stn_settings *settings, const char *name, char *text,
                                 size_t bytes)
{
    const struct settings_row *row;
    enum stn_status status = find("stn_settings_get", settings, name, &row);
    if (status) {
        return status;
    }
    if (!text || bytes == 0) {
        return fail_null("stn_settings_get");
    }
    size_t length = settings_print(row, &settings->values, text, bytes);
    return length < bytes
               ? STN_OK
               : stn_fail(STN_ERR_INVALID, BASE_SETTING "%s: its value needs %zu bytes, not %zu",
                          row->face.name, length + 1, bytes);
}
