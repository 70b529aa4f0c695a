// SPDX-License-Identifier: Apache-2.0
// The kinds of data sets there are, and the parser of specs, which knows them.
#include "data/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "data/store.h"

struct known_kind {
    const struct data_store_kind *kind;
    const char *usage; // how its spec is written: "folder:DIR"
};

#define KNOWN_KIND(name, usage) {&data_##name, usage},
static const struct known_kind known[] = {STN_DATASET_LIST(KNOWN_KIND)};
#undef KNOWN_KIND

enum { KIND_COUNT = sizeof(known) / sizeof(known[0]), USAGE_BYTES = 160 };

// "synthetic[:COUNT], fashion-mnist, …"
static void usage_list(char text[USAGE_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < KIND_COUNT && used < USAGE_BYTES; i++) {
        int wrote =
            snprintf(text + used, USAGE_BYTES - used, "%s%s", i ? ", " : "", known[i].usage);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static const struct known_kind *kind_find(const char *text, size_t length)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        const char *name = known[i].kind->name;
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            return &known[i];
        }
    }
    return NULL;
}

static enum stn_status fail_unknown(const char *text, size_t length)
{
    char usage[USAGE_BYTES], word[32];
    usage_list(usage);
    if (length == 0) {
        return stn_fail(STN_ERR_INVALID, "no data set given; write one of %s", usage);
    }
    snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word) - 1),
             text);
    const char *names[KIND_COUNT + 1] = {NULL};
    for (int i = 0; i < KIND_COUNT; i++) {
        names[i] = known[i].kind->name;
    }
    const char *near = base_did_you_mean(word, names);
    return stn_fail(STN_ERR_INVALID, "data set '%.128s': unknown kind%s%s%s; write one of %s", text,
                    near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", usage);
}

// Digits only: no sign, no space, no overflow.
static enum stn_status count_parse(const char *text, const char *digits, int64_t *out)
{
    int64_t value = 0;
    for (const char *c = digits; *c; c++) {
        if (*c < '0' || *c > '9' || value > DATA_SPEC_COUNT_MAX) {
            value = 0;
            break;
        }
        value = value * 10 + (*c - '0');
    }
    if (value < 1 || value > DATA_SPEC_COUNT_MAX) {
        return stn_fail(STN_ERR_INVALID,
                        "data set '%.128s': the count must be a number from 1 to %d", text,
                        DATA_SPEC_COUNT_MAX);
    }
    *out = value;
    return STN_OK;
}

enum stn_status data_spec_parse(const char *text, struct data_spec *out)
{
    *out = (struct data_spec){0};
    size_t length = text ? strcspn(text, ":") : 0;
    const struct known_kind *found = length ? kind_find(text, length) : NULL;
    if (!found) {
        return fail_unknown(text, length);
    }
    const struct data_store_kind *kind = found->kind;
    const char *argument = text[length] == ':' ? text + length + 1 : NULL;
    if (kind->argument == DATA_SPEC_NONE && argument) {
        return stn_fail(STN_ERR_INVALID, "data set '%.128s': write just %s", text, found->usage);
    }
    if (kind->argument == DATA_SPEC_DIR && (!argument || !*argument)) {
        return stn_fail(STN_ERR_INVALID, "data set '%.128s': the directory is missing; write %s",
                        text, found->usage);
    }
    out->kind = kind;
    if (kind->argument == DATA_SPEC_DIR) {
        out->dir = argument;
    } else if (kind->argument == DATA_SPEC_COUNT && argument) {
        return count_parse(text, argument, &out->count);
    }
    return STN_OK;
}
