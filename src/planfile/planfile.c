// SPDX-License-Identifier: Apache-2.0
// A plan as JSON. Two tables, one for the plan and one for a node of it, give each value's key, its
// type, where it lives and what it may be; writing and reading walk the same rows.
#include "planfile/planfile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/atomic_file.h"
#include "base/need.h"
#include "hypertune/policy.h"

static const char format_key[] = "stannis_plan", nodes_key[] = "nodes";
enum { FORMAT_VERSION = 2, NODES_MAX = 1000000 };

enum kind {
    TEXT,
    TEXT_OR_NULL,
    FLAG,
    INT,   // ≥ least
    REAL,  // ≥ least
    BYTES, // size_t
    POLICY,
};

struct row {
    const char *key;
    size_t offset;
    enum kind kind;
    int least;
};

// clang-format off
#define PLAN(key, kind, field, least) {key, offsetof(struct stn_plan_info, field), kind, least}
#define NODE(key, kind, field, least) {key, offsetof(struct stn_plan_node, field), kind, least}

static const struct row plan_rows[] = {
    PLAN("date",                      TEXT,   date,                      0),
    PLAN("version",                   TEXT,   version,                   0),
    PLAN("net",                       TEXT,   net,                       0),
    PLAN("image_size",                INT,    image_size,                1),
    PLAN("channels",                  INT,    channels,                  1),
    PLAN("classes",                   INT,    classes,                   1),
    PLAN("micro_batch",               INT,    micro_batch,               1),
    PLAN("batch",                     INT,    batch,                     1),
    PLAN("policy",                    POLICY, policy,                    0),
    PLAN("in_turn",                   FLAG,   in_turn,                   0),
    PLAN("tuning_seconds",            REAL,   tuning_seconds,            0),
    PLAN("reduction_seconds",         REAL,   reduction_seconds,         0),
    PLAN("hidden_seconds",            REAL,   hidden_seconds,            0),
    PLAN("uneven_seconds",            REAL,   uneven_seconds,            0),
    PLAN("step_seconds",              REAL,   step_seconds,              0),
    PLAN("images_per_second",         REAL,   images_per_second,         0),
    PLAN("ceiling",                   REAL,   ceiling,                   0),
    PLAN("efficiency",                REAL,   efficiency,                0),
    PLAN("uniform_images_per_second", REAL,   uniform_images_per_second, 0),
};

static const struct row node_rows[] = {
    NODE("name",          TEXT,         name,          0),
    NODE("threads",       INT,          threads,       1),
    NODE("cpus",          REAL,         cpus,          0),
    NODE("fixed_seconds", REAL,         fixed_seconds, 0),
    NODE("each_seconds",  REAL,         each_seconds,  0),
    NODE("update_seconds", REAL,        update_seconds, 0),
    NODE("fixed_error",   REAL,         fixed_error,   0),
    NODE("each_error",    REAL,         each_error,    0),
    NODE("noise",         REAL,         noise,         0),
    NODE("samples",       INT,          samples,       0),
    NODE("outliers",      INT,          outliers,      0),
    NODE("doubt",         TEXT_OR_NULL, doubt,         0),
    NODE("memory_needed", BYTES,        memory_needed, 0),
    NODE("memory_limit",  BYTES,        memory_limit,  0),
    NODE("floor",         INT,          floor,         0),
    NODE("cap",           INT,          cap,           0),
    NODE("micro_batches", INT,          micro_batches, 0),
    NODE("busy",          REAL,         busy,          0),
    NODE("too_slow",      FLAG,         too_slow,      0),
};
// clang-format on

enum {
    PLAN_ROWS = sizeof(plan_rows) / sizeof(plan_rows[0]),
    NODE_ROWS = sizeof(node_rows) / sizeof(node_rows[0]),
};

// ---- plans -------------------------------------------------------------------------------------

struct stn_plan *planfile_alloc(int nodes)
{
    struct base_arena memory = {0};
    struct stn_plan *plan = base_arena_alloc(&memory, sizeof(*plan));
    struct stn_plan_node *node =
        plan ? base_arena_alloc(&memory, (size_t)nodes * sizeof(*node)) : NULL;
    if (!node) {
        base_arena_fini(&memory);
        return NULL;
    }
    *plan = (struct stn_plan){.info.nodes = nodes, .node = node, .memory = memory};
    return plan;
}

void stn_plan_destroy(struct stn_plan *plan)
{
    if (plan) {
        struct base_arena memory = plan->memory; // it keeps the plan too
        base_arena_fini(&memory);
    }
}

const struct stn_plan_info *stn_plan_info(const struct stn_plan *plan)
{
    return plan ? &plan->info : NULL;
}

const struct stn_plan_node *stn_plan_node(const struct stn_plan *plan, int index)
{
    return plan && index >= 0 && index < plan->info.nodes ? &plan->node[index] : NULL;
}

// ---- writing -----------------------------------------------------------------------------------

static json_t *value_json(const struct row *row, const void *base)
{
    const void *field = (const char *)base + row->offset;
    switch (row->kind) {
    case TEXT: return json_string(*(const char *const *)field);
    case TEXT_OR_NULL: {
        const char *text = *(const char *const *)field;
        return text ? json_string(text) : json_null();
    }
    case FLAG: return json_boolean(*(const bool *)field);
    case INT: return json_integer(*(const int *)field);
    case REAL: return json_real(*(const double *)field);
    case BYTES: return json_integer((json_int_t) * (const size_t *)field);
    case POLICY: return json_string(hypertune_policies[*(const enum stn_policy *)field].name);
    }
    return NULL;
}

static bool rows_write(const struct row *rows, int count, const void *base, json_t *object)
{
    bool ok = object != NULL;
    for (int i = 0; i < count && ok; i++) {
        ok = json_object_set_new(object, rows[i].key, value_json(&rows[i], base)) == 0;
    }
    return ok;
}

enum stn_status stn_plan_text(const struct stn_plan *plan, char **out)
{
    enum stn_status status = base_need(plan, "stn_plan_text", "plan");
    if (!status) {
        status = base_need(out, "stn_plan_text", "place for the text");
    }
    if (status) {
        return status;
    }
    json_t *object = json_object(), *nodes = json_array();
    bool ok = object && nodes &&
              json_object_set_new(object, format_key, json_integer(FORMAT_VERSION)) == 0 &&
              rows_write(plan_rows, PLAN_ROWS, &plan->info, object);
    for (int i = 0; i < plan->info.nodes && ok; i++) {
        json_t *node = json_object();
        ok = rows_write(node_rows, NODE_ROWS, &plan->node[i], node);
        ok = json_array_append_new(nodes, node) == 0 && ok;
    }
    ok = ok && json_object_set(object, nodes_key, nodes) == 0;
    *out = ok ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(nodes);
    json_decref(object);
    return *out ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "cannot make JSON of the plan");
}

enum stn_status stn_plan_write(const struct stn_plan *plan, const char *path)
{
    char *text;
    enum stn_status status = base_need(path, "stn_plan_write", "path");
    if (!status) {
        status = stn_plan_text(plan, &text);
    }
    if (status) {
        return status;
    }
    status = atomic_file_store_line(path, text);
    free(text);
    return status;
}

// ---- reading -----------------------------------------------------------------------------------

static bool integer_read(const json_t *value, int least, int *out)
{
    json_int_t number = json_integer_value(value);
    *out = (int)number;
    return json_is_integer(value) && number >= least && number <= INT32_MAX;
}

static bool bytes_read(const json_t *value, size_t *out)
{
    json_int_t number = json_integer_value(value);
    *out = (size_t)number;
    return json_is_integer(value) && number >= 0;
}

static bool real_read(const json_t *value, int least, double *out)
{
    *out = json_number_value(value);
    return json_is_number(value) && isfinite(*out) && *out >= least;
}

static bool text_read(const json_t *value, struct base_arena *arena, const char **out)
{
    *out = json_is_string(value) ? base_arena_strdup(arena, json_string_value(value)) : NULL;
    return *out && **out;
}

static bool policy_read(const json_t *value, enum stn_policy *out)
{
    const struct hypertune_policy *policy =
        json_is_string(value) ? hypertune_policy_find(json_string_value(value)) : NULL;
    *out = policy ? hypertune_policy_number(policy) : STN_POLICY_BALANCED;
    return policy != NULL;
}

static bool value_read(const struct row *row, const json_t *value, struct base_arena *arena,
                       void *base)
{
    void *field = (char *)base + row->offset;
    switch (row->kind) {
    case TEXT: return text_read(value, arena, field);
    case TEXT_OR_NULL: return json_is_null(value) || text_read(value, arena, field);
    case FLAG: *(bool *)field = json_is_true(value); return json_is_boolean(value);
    case INT: return integer_read(value, row->least, field);
    case REAL: return real_read(value, row->least, field);
    case BYTES: return bytes_read(value, field);
    case POLICY: return policy_read(value, field);
    }
    return false;
}

// The object may have `others` keys beside those of the rows, which the caller reads.
static enum stn_status rows_read(const struct row *rows, int count, size_t others,
                                 const json_t *object, const char *label, struct base_arena *arena,
                                 void *base)
{
    for (int i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, rows[i].key);
        if (!value || !value_read(&rows[i], value, arena, base)) {
            return stn_fail(STN_ERR_CORRUPT, "%s: damaged: \"%s\" is %s", label, rows[i].key,
                            value ? "not valid" : "missing");
        }
    }
    if (json_object_size(object) != (size_t)count + others) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: values that a plan does not have", label);
    }
    return STN_OK;
}

// In what the values contradict each other; NULL: they do not.
static const char *contradiction(const struct stn_plan *plan)
{
    int64_t sum = 0;
    for (int i = 0; i < plan->info.nodes; i++) {
        const struct stn_plan_node *node = &plan->node[i];
        if (!(node->each_seconds > 0.0) || !(node->cpus > 0.0)) {
            return "a node without speed";
        }
        if (node->micro_batches > node->cap) {
            return "a share above its cap";
        }
        sum += node->micro_batches;
    }
    if (sum != ((int64_t)plan->info.batch + plan->info.micro_batch - 1) / plan->info.micro_batch) {
        return "shares that do not add up to the batch";
    }
    return plan->info.hidden_seconds > plan->info.reduction_seconds ? "more hidden than there is"
                                                                    : NULL;
}

static enum stn_status check_format(const json_t *root, const char *label)
{
    const json_t *version = json_object_get(root, format_key);
    if (!json_is_integer(version)) {
        return stn_fail(STN_ERR_CORRUPT, "%s: is not a plan", label);
    }
    if (json_integer_value(version) != FORMAT_VERSION) {
        return stn_fail(STN_ERR_UNSUPPORTED,
                        "%s: a plan of format %" JSON_INTEGER_FORMAT
                        ", this Stannis reads %d; tune again",
                        label, json_integer_value(version), FORMAT_VERSION);
    }
    size_t nodes = json_array_size(json_object_get(root, nodes_key));
    if (nodes < 1 || nodes > NODES_MAX) {
        return stn_fail(STN_ERR_CORRUPT, "%s: damaged: no nodes", label);
    }
    return STN_OK;
}

static enum stn_status decode(const json_t *root, const char *label, struct stn_plan **out)
{
    enum stn_status status = check_format(root, label);
    if (status) {
        return status;
    }
    const json_t *nodes = json_object_get(root, nodes_key);
    struct stn_plan *plan = planfile_alloc((int)json_array_size(nodes));
    if (!plan) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for the plan", label);
    }
    status = rows_read(plan_rows, PLAN_ROWS, 2, root, label, &plan->memory, &plan->info);
    for (int i = 0; i < plan->info.nodes && !status; i++) {
        status = rows_read(node_rows, NODE_ROWS, 0, json_array_get(nodes, (size_t)i), label,
                           &plan->memory, &plan->node[i]);
    }
    const char *wrong = status ? NULL : contradiction(plan);
    if (wrong) {
        status = stn_fail(STN_ERR_CORRUPT, "%s: damaged: %s", label, wrong);
    }
    if (status) {
        stn_plan_destroy(plan);
    } else {
        *out = plan;
    }
    return status;
}

// `root` is what jansson has read; NULL: it could not, because of `error`.
static enum stn_status finish(json_t *root, const json_error_t *error, const char *label,
                              struct stn_plan **out)
{
    if (!root) {
        return stn_fail(STN_ERR_CORRUPT, "%s:%d: is not a plan: %s", label, error->line,
                        error->text);
    }
    enum stn_status status = decode(root, label, out);
    json_decref(root);
    return status;
}

bool planfile_is(const char *text, size_t bytes)
{
    size_t begin = 0;
    while (begin < bytes && isspace((unsigned char)text[begin])) {
        begin++;
    }
    return begin < bytes && text[begin] == '{' &&
           memmem(text, bytes, format_key, strlen(format_key)) != NULL;
}

enum stn_status planfile_parse(const char *text, size_t bytes, const char *label,
                               struct stn_plan **out)
{
    json_error_t error;
    return finish(json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error), &error, label, out);
}

enum stn_status stn_plan_read(const char *path, struct stn_plan **out)
{
    enum stn_status status = base_need(out, "stn_plan_read", "place for the plan");
    if (!status) {
        *out = NULL;
        status = base_need(path, "stn_plan_read", "path");
    }
    FILE *file = status ? NULL : fopen(path, "re");
    if (status) {
        return status;
    }
    if (!file) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: cannot open: %s", path, strerror(errno));
    }
    json_error_t error;
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    return finish(root, &error, path, out);
}
