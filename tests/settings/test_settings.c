// SPDX-License-Identifier: Apache-2.0
// The table of settings, and objects of settings as a caller of the library has them.
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "cmocka_all.h"
#include "hypertune/decide.h"
#include "hypertune/paper.h"

static struct capture capture;

static struct stn_settings *create(enum stn_verb verb)
{
    struct stn_settings *settings;
    assert_int_equal(stn_settings_create(verb, &settings), STN_OK);
    capture_start(&capture);
    return settings;
}

static void destroy(struct stn_settings *settings)
{
    capture_stop();
    stn_settings_destroy(settings);
}

static void assert_value(const struct stn_settings *settings, const char *name, const char *value)
{
    char text[64];
    assert_int_equal(stn_settings_get(settings, name, text, sizeof(text)), STN_OK);
    assert_string_equal(text, value);
}

static void assert_refused(enum stn_status status, const char *line)
{
    assert_int_equal(status, STN_ERR_INVALID);
    assert_string_equal(capture.last, line);
    assert_int_equal(capture.lines, 1);
    capture.lines = 0;
}

// ---- the table ---------------------------------------------------------------------------------

// Every default can be read, is printed as it is written, and is within its limits.
static void defaults_are_values(void **state)
{
    (void)state;
    for (int i = 0; i < settings_row_count; i++) {
        const struct settings_row *row = &settings_rows[i];
        struct settings settings = {0};
        char text[64];
        if (row->face.initial) {
            assert_int_equal(settings_parse(row, row->face.initial, &settings), STN_OK);
            settings_print(row, &settings, text, sizeof(text));
            assert_string_equal(text, row->face.initial);
        }
        assert_true(!row->face.initial || row->face.kind != STN_SETTING_TEXT);
        assert_true(row->face.initial || row->face.kind != STN_SETTING_FLAG);
    }
}

// A verb has a name but once, and rows of a group stand together.
static void rows_are_in_order(void **state)
{
    (void)state;
    for (unsigned verb = 1; verb <= STN_VERB_CSD_DEVICE; verb <<= 1) {
        const char *seen[32] = {NULL};
        int groups = 0;
        for (int i = 0; i < settings_row_count; i++) {
            const struct stn_setting *row = &settings_rows[i].face;
            if (!(row->verbs & verb)) {
                continue;
            }
            assert_ptr_equal(settings_find(verb, row->name, true), &settings_rows[i]);
            if (groups == 0 || seen[groups - 1] != row->group) {
                for (int g = 0; g < groups; g++) {
                    assert_ptr_not_equal(seen[g], row->group);
                }
                seen[groups++] = row->group;
            }
        }
        assert_true(groups > 0 || verb == STN_VERB_CSD || verb == STN_VERB_CSD_DEVICE);
    }
}

static void what_is_remembered_has_a_key(void **state)
{
    (void)state;
    for (int i = 0; i < settings_row_count; i++) {
        const struct settings_row *row = &settings_rows[i];
        assert_true((row->rule == SETTINGS_FORGOTTEN) == (row->key == NULL));
        for (int j = 0; j < i && row->key; j++) {
            assert_true(!settings_rows[j].key || strcmp(row->key, settings_rows[j].key) != 0);
        }
        assert_false(row->again && row->rule != SETTINGS_FORGOTTEN);
    }
}

// What the table says and what policies take for usual is one thing.
static void hypertune_has_the_same_defaults(void **state)
{
    (void)state;
    const struct settings s = settings_defaults(STN_VERB_TRAIN);
    const struct hypertune_decide_options decide = hypertune_decide_defaults();
    const struct hypertune_paper_options paper = hypertune_paper_defaults();
    assert_true(s.evidence == decide.detect.evidence_needed);
    assert_true(s.noise == decide.detect.noise_least);
    assert_true(s.move_cost == decide.cost_steps);
    assert_true(s.move_certainty == decide.gain_errors);
    assert_true(s.move_horizon == decide.horizon_most);
    assert_true(s.probe_steps == decide.probe.first_steps);
    assert_true(s.probe_budget == decide.probe.budget);
    assert_true(isnan(s.move_gain));
    assert_int_equal(s.rebatch, SETTINGS_INTERPOLATE);
    assert_int_equal(paper.rebatch, HYPERTUNE_INTERPOLATE);
    assert_true(s.decline_weight == paper.speed_weight);
    assert_true(s.decline_margin == paper.margin);
    assert_int_equal(s.decline_steps, paper.flags);
    assert_true(s.batch_range == paper.range_high - 1.0);
}

// ---- an object ---------------------------------------------------------------------------------

static void values_are_set_by_text(void **state)
{
    (void)state;
    struct stn_settings *s = create(STN_VERB_TRAIN);
    assert_int_equal(stn_settings_set(s, "net", "lenet"), STN_OK);
    assert_int_equal(stn_settings_set(s, "batch", "auto"), STN_OK);
    assert_int_equal(stn_settings_set(s, "weight_decay", "3e-4"), STN_OK);
    assert_int_equal(stn_settings_set(s, "schedule", "step"), STN_OK);
    assert_int_equal(stn_settings_set(s, "trade", "off"), STN_OK);
    assert_int_equal(stn_settings_set(s, "memory", "2G"), STN_OK);
    assert_value(s, "net", "lenet");
    assert_value(s, "batch", "auto");
    assert_value(s, "weight-decay", "0.0003");
    assert_value(s, "schedule", "step");
    assert_value(s, "trade", "off");
    assert_value(s, "memory", "2147483648");
    assert_value(s, "move-gain", ""); // chosen when the nodes are known
    assert_value(s, "policy", "");
    assert_int_equal(capture.lines, 0);
    destroy(s);
}

static void values_are_set_by_type(void **state)
{
    (void)state;
    struct stn_settings *s = create(STN_VERB_TRAIN);
    assert_int_equal(stn_settings_set_int(s, "epochs", 3), STN_OK);
    assert_int_equal(stn_settings_set_int(s, "seed", INT64_MAX), STN_OK);
    assert_int_equal(stn_settings_set_int(s, "lr", 1), STN_OK);
    assert_int_equal(stn_settings_set_real(s, "momentum", 1.0 / 3.0), STN_OK);
    assert_int_equal(stn_settings_set_flag(s, "nesterov", true), STN_OK);
    assert_int_equal(stn_settings_set_text(s, "augment", "none"), STN_OK);
    assert_value(s, "epochs", "3");
    assert_value(s, "seed", "9223372036854775807");
    assert_value(s, "lr", "1");
    assert_true(s->values.momentum == 1.0 / 3.0);
    assert_value(s, "nesterov", "on");
    assert_value(s, "augment", "none");
    assert_refused(stn_settings_set_int(s, "net", 1), "net: is not set by a whole number");
    assert_refused(stn_settings_set_real(s, "epochs", 1), "epochs: is not set by a real number");
    assert_refused(stn_settings_set_flag(s, "epochs", true), "epochs: is not set by a flag");
    assert_refused(stn_settings_set_text(s, "epochs", "1"), "epochs: is not set by a text");
    assert_refused(stn_settings_set_real(s, "lr", (double)NAN), "lr nan: not a number");
    destroy(s);
}

static void mistakes_leave_the_value_and_say_why(void **state)
{
    (void)state;
    struct stn_settings *s = create(STN_VERB_TRAIN);
    assert_int_equal(stn_settings_set_int(s, "batch", 64), STN_OK);
    assert_refused(stn_settings_set(s, "batch", "0"), "batch 0: must be between 1 and 1000000");
    assert_refused(stn_settings_set_int(s, "batch", INT64_MIN),
                   "batch -9223372036854775808: must be between 1 and 1000000");
    assert_refused(stn_settings_set(s, "batch", "many"), "batch many: not a whole number");
    assert_value(s, "batch", "64");
    assert_refused(stn_settings_set(s, "momentum", "1"),
                   "momentum 1: must be at least 0 and below 1");
    assert_refused(stn_settings_set(s, "trade", "maybe"), "trade maybe: must be on or off");
    assert_refused(stn_settings_set(s, "net", ""), "net: must not be empty");
    assert_refused(stn_settings_set(s, "bacth", "1"),
                   "bacth: no such setting of train; did you mean batch?");
    assert_refused(stn_settings_set(s, "frobnicate", "1"), "frobnicate: no such setting of train");
    assert_refused(stn_settings_set(s, "emulate", "a=1"), "emulate: no such setting of train");
    destroy(s);
}

static void null_is_refused(void **state)
{
    (void)state;
    struct stn_settings *s = create(STN_VERB_TRAIN), *copy;
    char text[8];
    assert_refused(stn_settings_create(STN_VERB_TRAIN, NULL),
                   "stn_settings_create: an argument is NULL");
    assert_refused(stn_settings_create((enum stn_verb)3, &copy),
                   "stn_settings_create: 3 is no verb");
    assert_null(copy);
    assert_refused(stn_settings_copy(NULL, &copy), "stn_settings_copy: an argument is NULL");
    assert_refused(stn_settings_copy(s, NULL), "stn_settings_copy: an argument is NULL");
    assert_refused(stn_settings_set(NULL, "net", "x"), "stn_settings_set: an argument is NULL");
    assert_refused(stn_settings_set(s, NULL, "x"), "stn_settings_set: an argument is NULL");
    assert_refused(stn_settings_set(s, "net", NULL), "stn_settings_set: an argument is NULL");
    assert_refused(stn_settings_set_text(s, "net", NULL),
                   "stn_settings_set_text: an argument is NULL");
    assert_refused(stn_settings_set_int(NULL, "batch", 1),
                   "stn_settings_set_int: an argument is NULL");
    assert_refused(stn_settings_reset(NULL, NULL), "stn_settings_reset: an argument is NULL");
    assert_refused(stn_settings_get(s, "net", NULL, 8), "stn_settings_get: an argument is NULL");
    assert_refused(stn_settings_get(NULL, "net", text, 8), "stn_settings_get: an argument is NULL");
    stn_settings_destroy(NULL);
    assert_null(stn_setting_at(-1));
    assert_null(stn_setting_at(stn_setting_count()));
    assert_null(stn_verb_name((enum stn_verb)0));
    destroy(s);
}

static void texts_are_the_objects_own(void **state)
{
    (void)state;
    char name[] = "lenet", text[4];
    struct stn_settings *s = create(STN_VERB_TRAIN), *copy;
    assert_int_equal(stn_settings_set(s, "net", name), STN_OK);
    memset(name, 'x', sizeof(name) - 1);
    assert_value(s, "net", "lenet");
    assert_int_equal(stn_settings_copy(s, &copy), STN_OK);
    assert_int_equal(stn_settings_set(s, "net", "mobilenet_v2"), STN_OK);
    stn_settings_destroy(s);
    assert_value(copy, "net", "lenet");
    assert_refused(stn_settings_get(copy, "net", text, sizeof(text)),
                   "net: its value needs 6 bytes, not 4");
    assert_int_equal(stn_settings_reset(copy, "net"), STN_OK);
    assert_value(copy, "net", "");
    destroy(copy);
}

static void reset_brings_defaults_back(void **state)
{
    (void)state;
    struct stn_settings *s = create(STN_VERB_BENCH);
    assert_value(s, "classes", "1000");
    assert_int_equal(stn_settings_set_int(s, "classes", 10), STN_OK);
    assert_int_equal(stn_settings_set_int(s, "steps", 1), STN_OK);
    assert_int_equal(stn_settings_reset(s, "classes"), STN_OK);
    assert_value(s, "classes", "1000");
    assert_value(s, "steps", "1");
    assert_int_equal(stn_settings_reset(s, NULL), STN_OK);
    assert_value(s, "steps", "10");
    destroy(s);
}

// What code set without the parser is checked all the same: a checkpoint's values, say.
static void all_limits_are_checked_at_once(void **state)
{
    (void)state;
    struct settings s = settings_defaults(STN_VERB_TRAIN);
    capture_start(&capture);
    assert_int_equal(settings_check(STN_VERB_TRAIN, &s), STN_OK);
    s.threads = -2;
    assert_refused(settings_check(STN_VERB_TRAIN, &s), "threads -2: must be between 1 and 1024");
    s = settings_defaults(STN_VERB_TRAIN);
    s.lr = (double)INFINITY;
    assert_refused(settings_check(STN_VERB_TRAIN, &s), "lr: not a number");
    s = settings_defaults(STN_VERB_TRAIN);
    s.batch = SETTINGS_AUTO;
    assert_int_equal(settings_check(STN_VERB_TRAIN, &s), STN_OK);
    capture_stop();
}

static void settings_are_of_a_verb(void **state)
{
    (void)state;
    struct stn_settings *s = create(STN_VERB_TUNE);
    assert_int_equal(settings_expect(s, STN_VERB_TRAIN, "call"), STN_OK);
    assert_refused(settings_expect(s, STN_VERB_EVAL, "call"),
                   "call: these are settings of tune, not of eval");
    assert_refused(settings_expect(NULL, STN_VERB_EVAL, "call"), "call: the settings are NULL");
    destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_values),
        cmocka_unit_test(rows_are_in_order),
        cmocka_unit_test(what_is_remembered_has_a_key),
        cmocka_unit_test(hypertune_has_the_same_defaults),
        cmocka_unit_test(values_are_set_by_text),
        cmocka_unit_test(values_are_set_by_type),
        cmocka_unit_test(mistakes_leave_the_value_and_say_why),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(texts_are_the_objects_own),
        cmocka_unit_test(reset_brings_defaults_back),
        cmocka_unit_test(all_limits_are_checked_at_once),
        cmocka_unit_test(settings_are_of_a_verb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
