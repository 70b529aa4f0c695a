// SPDX-License-Identifier: Apache-2.0
// The metadata of a checkpoint: the settings that the table of settings says are remembered, and
// the rows of a table here, which are what a training has come to. Writing and reading walk both.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/setting_mark.h"
#include "checkpoint/checkpoint.h"

static const char format_key[] = "stannis.format", format_version[] = "1";

enum kind { TEXT, FLAG, INT, INT64, UINT64, REAL, REAL32 };

struct row {
    const char *key;
    enum kind kind;
    size_t offset; // in struct checkpoint_meta
};

// clang-format off
#define VALUE(key, kind, field) {"stannis." key, kind, offsetof(struct checkpoint_meta, field)}

static const struct row rows[] = {
    VALUE("train_samples",     INT64,  train_samples),
    VALUE("channels",          INT,    channels),
    VALUE("classes",           INT,    classes),
    VALUE("class_names",       TEXT,   class_list),
    VALUE("mean.0",            REAL32, mean[0]),
    VALUE("mean.1",            REAL32, mean[1]),
    VALUE("mean.2",            REAL32, mean[2]),
    VALUE("std.0",             REAL32, std[0]),
    VALUE("std.1",             REAL32, std[1]),
    VALUE("std.2",             REAL32, std[2]),
    VALUE("epoch",             INT,    progress.epoch),
    VALUE("position",          INT64,  progress.position),
    VALUE("samples_seen",      INT64,  progress.samples_seen),
    VALUE("step",              INT64,  progress.step),
    VALUE("epoch_loss_sum",    REAL,   progress.totals.loss_sum),
    VALUE("epoch_correct",     INT64,  progress.totals.correct),
    VALUE("epoch_count",       INT64,  progress.totals.count),
    VALUE("last_loss",         REAL,   progress.last_loss),
    VALUE("last_accuracy",     REAL,   progress.last_accuracy),
    VALUE("best_accuracy",     REAL,   progress.best_accuracy),
};
// clang-format on

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

// How a setting is written: as files of any version have it, choices by their number.
static enum kind setting_kind(enum stn_setting_kind kind)
{
    switch (kind) {
    case STN_SETTING_FLAG: return FLAG;
    case STN_SETTING_INT:
    case STN_SETTING_AUTO:
    case STN_SETTING_CHOICE: return INT;
    case STN_SETTING_INT64: return INT64;
    case STN_SETTING_SEED:
    case STN_SETTING_BYTES: return UINT64;
    case STN_SETTING_REAL: return REAL;
    case STN_SETTING_TEXT: break;
    }
    return TEXT;
}

// ---- one value ---------------------------------------------------------------------------------

union value {
    const char *text;
    bool flag;
    int integer;
    int64_t integer64;
    uint64_t unsigned64;
    double real;
    float real32;
};

static size_t kind_bytes(enum kind kind)
{
    static const size_t bytes[] = {
        [TEXT] = sizeof(char *),   [FLAG] = sizeof(bool),       [INT] = sizeof(int),
        [INT64] = sizeof(int64_t), [UINT64] = sizeof(uint64_t), [REAL] = sizeof(double),
        [REAL32] = sizeof(float),
    };
    return bytes[kind];
}

static const char *value_print(enum kind kind, const void *field, struct base_arena *arena)
{
    union value value = {0};
    memcpy(&value, field, kind_bytes(kind));
    switch (kind) {
    case TEXT: return value.text;
    case FLAG: return value.flag ? "true" : "false";
    case INT: return base_arena_printf(arena, "%d", value.integer);
    case INT64: return base_arena_printf(arena, "%" PRId64, value.integer64);
    case UINT64: return base_arena_printf(arena, "%" PRIu64, value.unsigned64);
    case REAL: return base_arena_printf(arena, "%a", value.real);
    case REAL32: return base_arena_printf(arena, "%a", (double)value.real32);
    }
    return NULL;
}

static bool parse_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *out >= min && *out <= max;
}

static bool parse_unsigned(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static bool parse_real(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0';
}

static bool value_parse(enum kind kind, const char *text, union value *out)
{
    int64_t integer = 0;
    double real = 0.0;
    bool ok = false;
    switch (kind) {
    case TEXT: out->text = text; return true;
    case FLAG:
        out->flag = strcmp(text, "true") == 0;
        return out->flag || strcmp(text, "false") == 0;
    case INT:
        ok = parse_integer(text, INT_MIN, INT_MAX, &integer);
        out->integer = (int)integer;
        return ok;
    case INT64: return parse_integer(text, INT64_MIN, INT64_MAX, &out->integer64);
    case UINT64: return parse_unsigned(text, &out->unsigned64);
    case REAL: return parse_real(text, &out->real);
    case REAL32:
        ok = parse_real(text, &real);
        out->real32 = (float)real;
        return ok;
    }
    return false;
}

// ---- all of them -------------------------------------------------------------------------------

static bool remembered(const struct settings_row *row)
{
    return row->rule != SETTINGS_FORGOTTEN;
}

static bool add_pair(struct safetensors_pair *pairs, int *count, const char *key, enum kind kind,
                     const void *field, struct base_arena *arena)
{
    const char *text = value_print(kind, field, arena);
    pairs[(*count)++] = (struct safetensors_pair){key, text};
    return key && text;
}

// What policies change stands in the place of the setting that it began with.
static struct settings settings_now(const struct checkpoint_meta *meta)
{
    struct settings settings = *meta->settings;
    settings.batch = meta->progress.batch;
    settings.lr = meta->progress.lr;
    return settings;
}

struct safetensors_pair *checkpoint_meta_encode(const struct checkpoint_meta *meta,
                                                struct base_arena *arena, int *count)
{
    const struct settings settings = settings_now(meta);
    size_t most = (size_t)settings_row_count + ROWS + 1;
    struct safetensors_pair *pairs = base_arena_alloc(arena, most * sizeof(*pairs));
    if (!pairs) {
        return NULL;
    }
    bool complete = true;
    pairs[0] = (struct safetensors_pair){format_key, format_version};
    *count = 1;
    for (int i = 0; i < settings_row_count; i++) {
        const struct settings_row *row = &settings_rows[i];
        if (remembered(row)) {
            complete &= add_pair(pairs, count, base_arena_printf(arena, "stannis.%s", row->key),
                                 setting_kind(row->face.kind),
                                 (const char *)&settings + row->offset, arena);
        }
    }
    for (int i = 0; i < ROWS; i++) {
        complete &= add_pair(pairs, count, rows[i].key, rows[i].kind,
                             (const char *)meta + rows[i].offset, arena);
    }
    return complete ? pairs : NULL;
}

static enum stn_status check_format(const struct safetensors *file, const char *label)
{
    const char *version = safetensors_metadata(file, format_key);
    if (!version) {
        return stn_fail(STN_ERR_CORRUPT, "%s: a safetensors file, but not a checkpoint of Stannis",
                        label);
    }
    if (strcmp(version, format_version) != 0) {
        return stn_fail(STN_ERR_UNSUPPORTED,
                        "%s: checkpoint format %.20s; this Stannis reads format %s", label, version,
                        format_version);
    }
    if (!safetensors_metadata(file, SAFETENSORS_CHECKSUM_KEY)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: the checksum is missing", label);
    }
    return STN_OK;
}

static bool plausible(const struct checkpoint_meta *m)
{
    const struct checkpoint_progress *p = &m->progress;
    return m->classes >= 1 && (m->channels == 1 || m->channels == 3) && m->train_samples >= 1 &&
           m->settings->batch >= 1 && m->settings->micro_batch >= 1 && p->epoch >= 0 &&
           p->position >= 0 && p->position <= m->train_samples && p->samples_seen >= 0 &&
           p->step >= 0;
}

static enum stn_status take_pair(const struct safetensors *file, const char *label, const char *key,
                                 enum kind kind, void *field)
{
    const char *text = safetensors_metadata(file, key);
    union value value = {0};
    if (!text || !value_parse(kind, text, &value)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: metadata '%s' is %s", label, key,
                        text ? "not valid" : "missing");
    }
    memcpy(field, &value, kind_bytes(kind));
    return STN_OK;
}

// A choice's number that is none of its words would be read out of bounds.
static enum stn_status take_setting(const struct safetensors *file, const char *label,
                                    const struct settings_row *row, struct settings *settings)
{
    char key[64];
    int *choice = (int *)(void *)((char *)settings + row->offset);
    snprintf(key, sizeof(key), "stannis.%s", row->key);
    if (row->face.initial && !safetensors_metadata(file, key)) {
        return STN_OK; // the setting is younger than the file, and was then as it is by default
    }
    enum stn_status status =
        take_pair(file, label, key, setting_kind(row->face.kind), (char *)settings + row->offset);
    int words = 0;
    while (!status && row->face.kind == STN_SETTING_CHOICE && row->face.choices[words]) {
        words++;
    }
    if (words > 0 && (*choice < 0 || *choice >= words)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: metadata '%s' is not valid", label, key);
    }
    return status;
}

enum stn_status checkpoint_meta_decode(const struct safetensors *file, const char *label,
                                       struct settings *settings, struct checkpoint_meta *out)
{
    *settings = settings_defaults(STN_VERB_TRAIN);
    *out = (struct checkpoint_meta){.settings = settings};
    enum stn_status status = check_format(file, label);
    for (int i = 0; i < settings_row_count && !status; i++) {
        if (remembered(&settings_rows[i])) {
            status = take_setting(file, label, &settings_rows[i], settings);
        }
    }
    for (int i = 0; i < ROWS && !status; i++) {
        status = take_pair(file, label, rows[i].key, rows[i].kind, (char *)out + rows[i].offset);
    }
    out->progress.batch = settings->batch;
    out->progress.lr = settings->lr;
    if (!status && !plausible(out)) {
        status =
            stn_fail(STN_ERR_CORRUPT, "%s: damaged: sizes or position are out of range", label);
    }
    return status;
}

static enum stn_status fail_differs(const struct settings_row *row, const char *label,
                                    const struct settings *user, const struct settings *stored)
{
    char given[256], trained[256];
    settings_print(row, user, given, sizeof(given));
    settings_print(row, stored, trained, sizeof(trained));
    return stn_fail(STN_ERR_INVALID,
                    BASE_SETTING "%s %s: %s was trained with %s; resume without it, or start "
                                 "a new run",
                    row->face.name, given, label, trained);
}

enum stn_status checkpoint_meta_merge(const struct checkpoint_meta *meta, const char *label,
                                      struct settings *settings)
{
    const struct settings defaults = settings_defaults(STN_VERB_TRAIN);
    for (int i = 0; i < settings_row_count; i++) {
        const struct settings_row *row = &settings_rows[i];
        if (!remembered(row)) {
            continue;
        }
        if (row->rule == SETTINGS_KEPT || settings_equal(row, settings, &defaults)) {
            settings_assign(row, meta->settings, settings);
        } else if (row->rule == SETTINGS_FIXED && !settings_equal(row, settings, meta->settings)) {
            return fail_differs(row, label, settings, meta->settings);
        }
    }
    return STN_OK;
}
