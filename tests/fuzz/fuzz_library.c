// SPDX-License-Identifier: Apache-2.0
// A caller of the library who gives anything at all. The input is a script, a line a call:
//
//     v3            settings of another verb (its bit)
//     name=value    stn_settings_set; what it takes can be read and set again, and says the same
//     name#5        stn_settings_set_int, _real and _flag
//     -name         stn_settings_reset
//     .spec         a data set; without '/' and long numbers, so that it stays small and here
//     p…            a plan file, c… a checkpoint: what follows, to the end of the script
//
// A refusal is a status, one line, and nothing changed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stannis/stannis.h"
#include "target.h"

enum { VALUE_BYTES = 4096 };

static int lines;

static void count_line(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    lines += level == STN_LOG_ERROR;
    fuzz_check(strchr(line, '\n') == NULL);
}

// A status that says what the lines and the last error say.
static bool agreed(enum stn_status status)
{
    fuzz_check((status == STN_OK) == (lines == 0) && lines <= 1);
    fuzz_check(status == STN_OK || stn_last_error()[0]);
    lines = 0;
    return status == STN_OK;
}

// What a setting is; "" where it has no name of a setting.
static void look(const struct stn_settings *settings, const char *name, char text[VALUE_BYTES])
{
    if (stn_settings_get(settings, name, text, VALUE_BYTES) != STN_OK) {
        text[0] = '\0';
    }
    lines = 0;
}

static void set(struct stn_settings *settings, const char *name, const char *value)
{
    char before[VALUE_BYTES], after[VALUE_BYTES], again[VALUE_BYTES];
    look(settings, name, before);
    bool taken = agreed(stn_settings_set(settings, name, value));
    look(settings, name, after);
    if (!taken) {
        fuzz_check(strcmp(before, after) == 0);
    } else if (after[0]) {
        fuzz_check(agreed(stn_settings_set(settings, name, after)));
        look(settings, name, again);
        fuzz_check(strcmp(after, again) == 0);
    }
}

static void set_typed(struct stn_settings *settings, const char *name, const char *value)
{
    agreed(stn_settings_set_int(settings, name, strtoll(value, NULL, 10)));
    agreed(stn_settings_set_real(settings, name, strtod(value, NULL)));
    agreed(stn_settings_set_flag(settings, name, *value == '1'));
}

static void change_verb(struct stn_settings **settings, int bit)
{
    struct stn_settings *other, *copy;
    if (agreed(stn_settings_create((enum stn_verb)(1 << (bit & 15)), &other))) {
        fuzz_check(agreed(stn_settings_copy(other, &copy)));
        stn_settings_destroy(*settings);
        stn_settings_destroy(other);
        *settings = copy;
    }
}

static void open_data(const char *spec)
{
    struct stn_dataset_options options = {.spec = spec, .image_size = 28, .classes = 2};
    struct stn_dataset *dataset;
    if (!strchr(spec, '/') && strlen(spec) < 16 && agreed(stn_dataset_open(&options, &dataset))) {
        fuzz_check(stn_dataset_info(dataset)->classes == 2);
        stn_dataset_close(dataset);
    }
}

static void read_plan(const char *text)
{
    struct stn_plan *plan;
    fuzz_file("plan", text, strlen(text));
    char path[VALUE_BYTES];
    snprintf(path, sizeof(path), "%s/plan", fuzz_folder());
    if (agreed(stn_plan_read(path, &plan))) {
        fuzz_check(stn_plan_node(plan, stn_plan_info(plan)->nodes) == NULL);
        stn_plan_destroy(plan);
    }
}

static void read_checkpoint(struct stn_session *session, const char *text)
{
    struct stn_settings *settings;
    struct stn_predictor *predictor;
    char path[VALUE_BYTES];
    fuzz_file("checkpoint", text, strlen(text));
    snprintf(path, sizeof(path), "%s/checkpoint", fuzz_folder());
    fuzz_check(stn_settings_create(STN_VERB_PREDICT, &settings) == STN_OK);
    fuzz_check(stn_settings_set(settings, "checkpoint", path) == STN_OK);
    fuzz_check(!agreed(stn_predictor_open(session, settings, &predictor)) && !predictor);
    stn_settings_destroy(settings);
}

// False: the rest of the script belonged to this line.
static bool obey(struct stn_session *session, struct stn_settings **settings, char *line,
                 const char *rest)
{
    char *value = strpbrk(line, "=#");
    char sign = value ? *value : '\0';
    if (sign) {
        *value++ = '\0';
    }
    switch (*line) {
    case 'p':
        if (!sign) {
            read_plan(rest);
            return false;
        }
        break;
    case 'c':
        if (!sign) {
            read_checkpoint(session, rest);
            return false;
        }
        break;
    case 'v':
        if (!sign) {
            change_verb(settings, atoi(line + 1));
            return true;
        }
        break;
    case '.': open_data(line + 1); return true;
    case '-': agreed(stn_settings_reset(*settings, line + 1)); return true;
    }
    if (sign == '=') {
        set(*settings, line, value);
    } else if (sign == '#') {
        set_typed(*settings, line, value);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct stn_session_options options = {.sink = count_line, .level = STN_LOG_ERROR};
    struct stn_session *session;
    struct stn_settings *settings;
    char *text = fuzz_text(data, size), *rest = text, *line;
    lines = 0;
    fuzz_check(stn_session_open(&options, &session) == STN_OK);
    fuzz_check(stn_settings_create(STN_VERB_TRAIN, &settings) == STN_OK);
    bool more = true;
    while (more && (line = strsep(&rest, "\n"))) {
        more = obey(session, &settings, line, rest ? rest : "");
    }
    stn_settings_destroy(settings);
    stn_session_close(session);
    free(text);
    return 0;
}
