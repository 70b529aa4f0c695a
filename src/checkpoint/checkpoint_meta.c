// SPDX-License-Identifier: Apache-2.0
// The metadata of a checkpoint as a table: one row gives a value's key, its flag, its type, where
// it lives and what resuming may do with it. Writing, reading and merging all walk the same rows.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "checkpoint/checkpoint.h"

static const char format_key[] = "stannis.format", format_version[] = "1";

enum kind { TEXT, FLAG, INT, INT64, UINT64, REAL, REAL32 };

enum rule {
    STATE, // not a setting
    FIXED, // defines the training: a user's other value is refused
    FREE,  // a user's other value wins
    KEPT,  // follows from another setting: always the checkpoint's
};

struct row {
    const char *key;
    enum kind kind;
    enum rule rule;
    size_t offset;    // in struct checkpoint_meta
    const char *flag; // FIXED: how users name it
};

// clang-format off
#define AT(field)         offsetof(struct checkpoint_meta, field)
#define SETTING(key, kind, rule, field, flag) {"stannis." key, kind, rule, AT(config.field), flag}
#define VALUE(key, kind, field)               {"stannis." key, kind, STATE, AT(field), NULL}

static const struct row rows[] = {
    SETTING("net",             TEXT,   FIXED, net,             "--net"),
    SETTING("data",            TEXT,   FREE,  data.spec,       NULL),
    SETTING("data_seed",       UINT64, KEPT,  data.seed,       NULL),
    SETTING("data_classes",    INT,    FREE,  data.classes,    NULL),
    SETTING("image_size",      INT,    FIXED, data.image_size, "--image-size"),
    SETTING("batch",           INT,    FIXED, batch,           "--batch"),
    SETTING("micro_batch",     INT,    FIXED, micro_batch,     "--micro-batch"),
    SETTING("seed",            UINT64, FIXED, seed,            "--seed"),
    SETTING("epochs",          INT,    FREE,  epochs,          NULL),
    SETTING("lr",              REAL,   FREE,  lr,              NULL),
    SETTING("momentum",        REAL,   FREE,  momentum,        NULL),
    SETTING("nesterov",        FLAG,   FREE,  nesterov,        NULL),
    SETTING("weight_decay",    REAL,   FREE,  weight_decay,    NULL),
    SETTING("label_smoothing", REAL,   FREE,  label_smoothing, NULL),
    SETTING("schedule",        INT,    FREE,  schedule,        NULL),
    SETTING("warmup_epochs",   REAL,   FREE,  warmup_epochs,   NULL),
    SETTING("lr_gamma",        REAL,   FREE,  lr_gamma,        NULL),
    SETTING("lr_step_epochs",  REAL,   FREE,  lr_step_epochs,  NULL),
    SETTING("augment",         INT,    FREE,  augment,         NULL),
    SETTING("skip_bad",        FLAG,   FREE,  skip_bad,        NULL),
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

_Static_assert(sizeof(enum stn_schedule) == sizeof(int), "rows of kind INT hold enums too");
_Static_assert(sizeof(enum stn_augment) == sizeof(int), "rows of kind INT hold enums too");

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

static union value value_get(const struct row *row, const void *base, size_t shift)
{
    union value value = {0};
    memcpy(&value, (const char *)base + (row->offset - shift), kind_bytes(row->kind));
    return value;
}

static void value_set(const struct row *row, void *base, size_t shift, union value value)
{
    memcpy((char *)base + (row->offset - shift), &value, kind_bytes(row->kind));
}

static bool value_equal(enum kind kind, union value a, union value b)
{
    if (kind == TEXT && a.text && b.text) {
        return strcmp(a.text, b.text) == 0;
    }
    return memcmp(&a, &b, kind_bytes(kind)) == 0;
}

static const char *value_print(enum kind kind, union value value, struct base_arena *arena)
{
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

struct safetensors_pair *checkpoint_meta_encode(const struct checkpoint_meta *meta,
                                                struct base_arena *arena, int *count)
{
    struct safetensors_pair *pairs = base_arena_alloc(arena, (ROWS + 1) * sizeof(*pairs));
    if (!pairs) {
        return NULL;
    }
    pairs[0] = (struct safetensors_pair){format_key, format_version};
    for (int i = 0; i < ROWS; i++) {
        const char *text = value_print(rows[i].kind, value_get(&rows[i], meta, 0), arena);
        if (!text) {
            return NULL;
        }
        pairs[i + 1] = (struct safetensors_pair){rows[i].key, text};
    }
    *count = ROWS + 1;
    return pairs;
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
           m->config.batch >= 1 && m->config.micro_batch >= 1 && p->epoch >= 0 &&
           p->position >= 0 && p->position <= m->train_samples && p->samples_seen >= 0 &&
           p->step >= 0;
}

enum stn_status checkpoint_meta_decode(const struct safetensors *file, const char *label,
                                       struct checkpoint_meta *out)
{
    *out = (struct checkpoint_meta){0};
    enum stn_status status = check_format(file, label);
    if (status) {
        return status;
    }
    for (int i = 0; i < ROWS; i++) {
        const char *text = safetensors_metadata(file, rows[i].key);
        union value value = {0};
        if (!text || !value_parse(rows[i].kind, text, &value)) {
            return stn_fail(STN_ERR_CORRUPT, "%s: damaged: metadata '%s' is %s", label, rows[i].key,
                            text ? "not valid" : "missing");
        }
        value_set(&rows[i], out, 0, value);
    }
    if (!plausible(out)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: sizes or position are out of range", label);
    }
    return STN_OK;
}

static enum stn_status fail_differs(const struct row *row, const char *label, union value user,
                                    union value stored)
{
    struct base_arena arena = {0};
    const char *given = value_print(row->kind, user, &arena);
    const char *trained = value_print(row->kind, stored, &arena);
    enum stn_status status =
        stn_fail(STN_ERR_INVALID,
                 "%s %s: %s was trained with %s; resume without the flag, or start a new run",
                 row->flag, given ? given : "", label, trained ? trained : "");
    base_arena_fini(&arena);
    return status;
}

enum stn_status checkpoint_meta_merge(const struct checkpoint_meta *meta, const char *label,
                                      struct stn_train_config *config)
{
    const size_t shift = AT(config);
    const struct stn_train_config defaults = stn_train_defaults();
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].rule == STATE) {
            continue;
        }
        union value user = value_get(&rows[i], config, shift);
        union value stored = value_get(&rows[i], meta, 0);
        if (rows[i].rule == KEPT ||
            value_equal(rows[i].kind, user, value_get(&rows[i], &defaults, shift))) {
            value_set(&rows[i], config, shift, stored);
        } else if (rows[i].rule == FIXED && !value_equal(rows[i].kind, user, stored)) {
            return fail_differs(&rows[i], label, user, stored);
        }
    }
    return STN_OK;
}
