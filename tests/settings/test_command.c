// SPDX-License-Identifier: Apache-2.0
// Command lines of real verbs: what is accepted, and which line a mistake gets.
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "base/setting_mark.h"
#include "base/suggest.h"
#include "capture.h"
#include "cmocka_all.h"

static const struct command train = {
    .verb = STN_VERB_TRAIN, .summary = "Trains.", .about = "More.", .examples = "  one\n  two"};
static const struct command predict = {
    .verb = STN_VERB_PREDICT, .summary = "Predicts.", .operands = "FILE…", .examples = "  none"};

static struct settings settings;
static struct command_line line_;
static struct capture capture;

// Parses a line split at spaces; "" stands for no arguments.
static enum stn_status parse(const struct command *command, const char *line)
{
    static char text[512];
    static char *argv[32];
    int argc = 0;
    snprintf(text, sizeof(text), "verb %s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    settings = settings_defaults(command->verb);
    capture_start(&capture);
    base_setting_prefix("--");
    enum stn_status status = command_parse(command, argc, argv, &settings, &line_);
    base_setting_prefix("");
    capture_stop();
    return status;
}

static void assert_refused(const char *line, const char *message)
{
    assert_int_equal(parse(&train, line), STN_ERR_INVALID);
    assert_int_equal(capture.lines, 1);
    assert_string_equal(capture.last, message);
}

static void defaults_stay(void **state)
{
    (void)state;
    assert_int_equal(parse(&train, ""), STN_OK);
    assert_int_equal(settings.epochs, 10);
    assert_null(settings.out);
    assert_int_equal(line_.operand_count, 0);
    assert_int_equal(line_.help, COMMAND_NO_HELP);
}

static void every_kind_is_read(void **state)
{
    (void)state;
    assert_int_equal(parse(&train,
                           "--batch 64 --steps=9000000000 --lr 2.5e-1 --seed 0xffffffffffffffff "
                           "--schedule step --nesterov --no-trade --memory 3g --out here"),
                     STN_OK);
    assert_int_equal(settings.batch, 64);
    assert_true(settings.steps == 9000000000);
    assert_true(settings.lr == 0.25);
    assert_true(settings.seed == UINT64_MAX);
    assert_int_equal(settings.schedule, SETTINGS_STEP);
    assert_true(settings.nesterov);
    assert_false(settings.trade);
    assert_true(settings.memory == (size_t)3 << 30);
    assert_string_equal(settings.out, "here");
    assert_int_equal(parse(&train, "--batch auto"), STN_OK);
    assert_int_equal(settings.batch, SETTINGS_AUTO);
}

static void the_last_of_two_wins(void **state)
{
    (void)state;
    assert_int_equal(parse(&train, "--batch 1 --nesterov --no-nesterov --batch=2"), STN_OK);
    assert_int_equal(settings.batch, 2);
    assert_false(settings.nesterov);
}

static void operands_may_stand_anywhere(void **state)
{
    (void)state;
    assert_int_equal(parse(&predict, "a.png --top 8 b.png -- --json"), STN_OK);
    assert_int_equal(line_.operand_count, 3);
    assert_string_equal(line_.operands[0], "a.png");
    assert_string_equal(line_.operands[1], "b.png");
    assert_string_equal(line_.operands[2], "--json");
    assert_int_equal(settings.top, 8);
    assert_refused("a.png", "train: unexpected argument a.png; see stannis train --help");
}

static void help_goes_before_everything(void **state)
{
    (void)state;
    assert_int_equal(parse(&train, "--bogus --help"), STN_OK);
    assert_int_equal(line_.help, COMMAND_SHORT_HELP);
    assert_int_equal(parse(&train, "--bogus --help=all"), STN_OK);
    assert_int_equal(line_.help, COMMAND_WHOLE_HELP);
    assert_int_equal(parse(&predict, "-h"), STN_OK);
    assert_int_equal(line_.help, COMMAND_SHORT_HELP);
    assert_int_equal(parse(&predict, "-- --help"), STN_OK);
    assert_int_equal(line_.help, COMMAND_NO_HELP);
}

static void unknown_options_get_a_suggestion(void **state)
{
    (void)state;
    assert_refused("--bacth 3", "train: unknown option --bacth; did you mean --batch?");
    assert_refused("--no-nestrov", "train: unknown option --no-nestrov; did you mean "
                                   "--no-nesterov?");
    assert_refused("--shedule=step", "train: unknown option --shedule; did you mean --schedule?");
    assert_refused("--zzzzzz", "train: unknown option --zzzzzz; see stannis train --help=all");
    assert_refused("-batch 3", "train: unknown option -batch; did you mean --batch?");
    assert_refused("-q --batch 3", "train: unknown option -q; see stannis train --help=all");
    assert_refused("--top 3", "train: unknown option --top; see stannis train --help=all");
}

static void abbreviations_are_refused(void **state)
{
    (void)state;
    assert_refused("--bat 3", "train: unknown option --bat; did you mean --batch?");
    assert_refused("--sche=step", "train: unknown option --sche; did you mean --schedule?");
}

static void values_must_be_there(void **state)
{
    (void)state;
    assert_refused("--batch", "train: --batch needs a value");
    assert_refused("--out --nesterov", "--out needs a value, but --nesterov follows");
    assert_refused("--out=", "--out: must not be empty");
    assert_refused("--nesterov=yes", "train: --nesterov takes no value");
}

static void numbers_must_be_numbers(void **state)
{
    (void)state;
    assert_refused("--batch 3x", "--batch 3x: not a whole number");
    assert_refused("--batch 1.5", "--batch 1.5: not a whole number");
    assert_refused("--batch=", "--batch : not a whole number");
    assert_refused("--lr 0.1.2", "--lr 0.1.2: not a number");
    assert_refused("--lr nan", "--lr nan: not a number");
    assert_refused("--lr inf", "--lr inf: not a number");
    assert_refused("--seed -1", "--seed -1: not a whole number between 0 and 18446744073709551615");
    assert_refused("--memory 5X", "--memory 5X: not a size such as 1048576, 512M or 2G");
    assert_refused("--memory 5MB", "--memory 5MB: not a size such as 1048576, 512M or 2G");
    assert_refused("--memory -5", "--memory -5: not a size such as 1048576, 512M or 2G");
    assert_refused("--memory 99999999999T", "--memory 99999999999T: too large");
}

static void ranges_are_named(void **state)
{
    (void)state;
    assert_refused("--batch 0", "--batch 0: must be between 1 and 1000000");
    assert_refused("--batch 99999999999999999999",
                   "--batch 99999999999999999999: must be between 1 and 1000000");
    assert_refused("--steps -1", "--steps -1: must be at least 0");
    assert_refused("--lr -1", "--lr -1: must be at least 0");
    assert_refused("--momentum 1", "--momentum 1: must be at least 0 and below 1");
    assert_refused("--schedule fast", "--schedule fast: must be one of constant, step, cosine");
}

static void a_refused_value_leaves_the_field(void **state)
{
    (void)state;
    assert_int_equal(parse(&train, "--epochs 0"), STN_ERR_INVALID);
    assert_int_equal(settings.epochs, 10);
}

// ---- help --------------------------------------------------------------------------------------

static char *help_of(const struct command *command, enum command_help help)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    command_print_help(command, help, out);
    fclose(out);
    return text;
}

static void expect_in(const char *help, const char *text)
{
    if (!strstr(help, text)) {
        fail_msg("not in the help: \"%s\"\nhelp:\n%s", text, help);
    }
}

static void whole_help_shows_every_row(void **state)
{
    (void)state;
    char *help = help_of(&train, COMMAND_WHOLE_HELP);
    for (int i = 0; i < stn_setting_count(); i++) {
        char flag[80];
        const struct stn_setting *row = stn_setting_at(i);
        bool on = row->kind == STN_SETTING_FLAG && strcmp(row->initial, "on") == 0;
        snprintf(flag, sizeof(flag), "\n  --%s%s", on ? "[no-]" : "", row->name);
        if (row->verbs & STN_VERB_TRAIN) {
            expect_in(help, flag);
        }
    }
    expect_in(help, "Usage: stannis train [OPTION]…\nTrains.\n");
    expect_in(help, "  --epochs N              passes over the data (default 10)\n");
    expect_in(help, "  --schedule constant|step|cosine\n");
    expect_in(help, " falls (default cosine)\n");
    expect_in(help, "128, or what --split");
    expect_in(help, "unless there is a --split\n");
    expect_in(help, "\nMore.\n\nExamples\n  one\n  two\n");
    free(help);
}

static void short_help_shows_the_usual(void **state)
{
    (void)state;
    char *help = help_of(&train, COMMAND_SHORT_HELP);
    expect_in(help, "  --net NAME              the network\n");
    expect_in(help, "\nExamples\n  one\n\nAll options: stannis train --help=all\n");
    assert_null(strstr(help, "--evidence"));
    assert_null(strstr(help, "More."));
    int lines = 0;
    for (const char *c = help; *c; c++) {
        lines += *c == '\n';
    }
    assert_true(lines <= 40);
    free(help);
}

static void slips_are_near_and_strangers_far(void **state)
{
    (void)state;
    static const char *const words[] = {"train", "eval", "predict", "bench", "models", NULL};
    assert_string_equal(base_did_you_mean("trian", words), "train");
    assert_string_equal(base_did_you_mean("pred", words), "predict");
    assert_string_equal(base_did_you_mean("model", words), "models");
    assert_string_equal(base_did_you_mean("evall", words), "eval");
    assert_null(base_did_you_mean("", words));
    assert_null(base_did_you_mean("x", words));
    assert_null(base_did_you_mean("deploy", words));
    char huge[300];
    memset(huge, 'a', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    assert_null(base_did_you_mean(huge, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(every_kind_is_read),
        cmocka_unit_test(the_last_of_two_wins),
        cmocka_unit_test(operands_may_stand_anywhere),
        cmocka_unit_test(help_goes_before_everything),
        cmocka_unit_test(unknown_options_get_a_suggestion),
        cmocka_unit_test(abbreviations_are_refused),
        cmocka_unit_test(values_must_be_there),
        cmocka_unit_test(numbers_must_be_numbers),
        cmocka_unit_test(ranges_are_named),
        cmocka_unit_test(a_refused_value_leaves_the_field),
        cmocka_unit_test(whole_help_shows_every_row),
        cmocka_unit_test(short_help_shows_the_usual),
        cmocka_unit_test(slips_are_near_and_strangers_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
