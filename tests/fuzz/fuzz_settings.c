// SPDX-License-Identifier: Apache-2.0
// Settings by name, as a caller of the library sets them: a line is NAME=VALUE, or a value for
// every setting there is; and the same text as data set specs.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/spec.h"
#include "settings/settings.h"
#include "target.h"

enum { TEXT_MAX = 4096, VALUE_MAX = 8192 };

static void parse_spec(const char *text)
{
    struct data_spec spec;
    if (data_spec_parse(text, &spec) == STN_OK) {
        fuzz_check(spec.kind != NULL);
        fuzz_check(spec.count >= 0 && spec.count <= DATA_SPEC_COUNT_MAX);
    }
}

// What was accepted is within limits and, printed, gives itself again.
static void set_one(struct stn_settings *settings, const char *name, const char *value)
{
    static char before[VALUE_MAX], after[VALUE_MAX];
    if (stn_settings_set(settings, name, value) == STN_OK) {
        fuzz_check(settings_check(settings->verb, &settings->values) == STN_OK);
        fuzz_check(stn_settings_get(settings, name, before, sizeof(before)) == STN_OK);
        if (*before == '\0') {
            return; // nothing chosen: memory 0
        }
        fuzz_check(stn_settings_set(settings, name, before) == STN_OK);
        fuzz_check(stn_settings_get(settings, name, after, sizeof(after)) == STN_OK);
        fuzz_check(strcmp(before, after) == 0);
    }
}

static void take_line(struct stn_settings *settings, char *line)
{
    char *equals = strchr(line, '=');
    if (equals) {
        *equals = '\0';
        set_one(settings, line, equals + 1);
        return;
    }
    for (int i = 0; i < stn_setting_count(); i++) {
        set_one(settings, stn_setting_at(i)->name, line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX + 1];
    static const enum stn_verb verbs[] = {STN_VERB_TRAIN, STN_VERB_EVAL, STN_VERB_BENCH};
    struct stn_settings *settings;
    fuzz_quiet();
    size = size < TEXT_MAX ? size : TEXT_MAX;
    memcpy(text, data, size);
    text[size] = '\0';
    if (stn_settings_create(verbs[size % 3], &settings) != STN_OK) {
        return 0;
    }
    char *save;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        parse_spec(line);
        take_line(settings, line);
    }
    stn_settings_destroy(settings);
    return 0;
}
