// SPDX-License-Identifier: Apache-2.0
// A small command with every kind of option: what is accepted, and which line a mistake gets.
#include "base/option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "cmocka_all.h"

struct target {
    bool fast, log;
    int batch;
    int64_t steps;
    uint64_t seed;
    double lr;
    size_t memory;
    const char *out;
    int schedule;
};

static const char *const schedules[] = {"constant", "step", "cosine", NULL};

#define FIELD(name) offsetof(struct target, name)
static const struct base_option options[] = {
    {"Training", BASE_OPTION_HEADING, 0, NULL, NULL, 0, 0, NULL},
    {"batch", BASE_OPTION_INT, FIELD(batch), "N", "samples a step", 1, 4096, NULL},
    {"steps", BASE_OPTION_INT64, FIELD(steps), "N", "steps at most", 0, INFINITY, NULL},
    {"lr", BASE_OPTION_REAL, FIELD(lr), "X", "learning rate", 0, 100, NULL},
    {"schedule", BASE_OPTION_CHOICE, FIELD(schedule), NULL, "how it falls", 0, 0, schedules},
    {"seed", BASE_OPTION_SEED, FIELD(seed), "N", "for all randomness", 0, 0, NULL},
    {"Other", BASE_OPTION_HEADING, 0, NULL, NULL, 0, 0, NULL},
    {"fast", BASE_OPTION_FLAG, FIELD(fast), NULL, "hurry", 0, 0, NULL},
    {"log", BASE_OPTION_FLAG, FIELD(log), NULL, "keep no log", 0, 0, NULL},
    {"memory", BASE_OPTION_BYTES, FIELD(memory), "SIZE", "memory; the default is all of it", 0, 0,
     NULL},
    {"out", BASE_OPTION_TEXT, FIELD(out), "DIR", "where results go", 0, 0, NULL},
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static const struct base_command with_operands = {"paint", "Paints.", "FILE…", "Example: none",
                                                  options};
static const struct base_command without_operands = {"paint", "Paints.", NULL, NULL, options};
static const struct target defaults = {
    .batch = 32, .lr = 0.1, .out = "run", .log = true, .schedule = 2};

static struct target target;
static struct base_option_result result;
static struct capture capture;

// Parses a line split at spaces; "" stands for no arguments.
static enum stn_status parse(const struct base_command *command, const char *line)
{
    static char text[512];
    static char *argv[32];
    int argc = 0;
    snprintf(text, sizeof(text), "paint %s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    target = defaults;
    capture_start(&capture);
    enum stn_status status = base_option_parse(command, argc, argv, &target, &result);
    capture_stop();
    return status;
}

static void assert_refused(const char *line, const char *message)
{
    assert_int_equal(parse(&without_operands, line), STN_ERR_INVALID);
    assert_int_equal(capture.lines, 1);
    assert_string_equal(capture.last, message);
}

static void defaults_stay(void **state)
{
    (void)state;
    assert_int_equal(parse(&without_operands, ""), STN_OK);
    assert_int_equal(target.batch, 32);
    assert_string_equal(target.out, "run");
    assert_int_equal(result.operand_count, 0);
    assert_false(result.help);
}

static void every_kind_is_read(void **state)
{
    (void)state;
    assert_int_equal(parse(&without_operands,
                           "--batch 64 --steps=9000000000 --lr 2.5e-1 --seed 0xffffffffffffffff "
                           "--schedule step --fast --no-log --memory 3g --out here"),
                     STN_OK);
    assert_int_equal(target.batch, 64);
    assert_true(target.steps == 9000000000);
    assert_true(target.lr == 0.25);
    assert_true(target.seed == UINT64_MAX);
    assert_int_equal(target.schedule, 1);
    assert_true(target.fast);
    assert_false(target.log);
    assert_true(target.memory == (size_t)3 << 30);
    assert_string_equal(target.out, "here");
}

static void the_last_of_two_wins(void **state)
{
    (void)state;
    assert_int_equal(parse(&without_operands, "--batch 1 --fast --no-fast --batch=2"), STN_OK);
    assert_int_equal(target.batch, 2);
    assert_false(target.fast);
}

static void operands_may_stand_anywhere(void **state)
{
    (void)state;
    assert_int_equal(parse(&with_operands, "a.png --batch 8 b.png -- --fast"), STN_OK);
    assert_int_equal(result.operand_count, 3);
    assert_string_equal(result.operands[0], "a.png");
    assert_string_equal(result.operands[1], "b.png");
    assert_string_equal(result.operands[2], "--fast");
    assert_int_equal(target.batch, 8);
    assert_refused("a.png", "paint: unexpected argument a.png; see stannis paint --help");
}

static void help_goes_before_everything(void **state)
{
    (void)state;
    assert_int_equal(parse(&without_operands, "--bogus --help"), STN_OK);
    assert_true(result.help);
    assert_int_equal(parse(&with_operands, "-h"), STN_OK);
    assert_true(result.help);
    assert_int_equal(parse(&with_operands, "-- --help"), STN_OK);
    assert_false(result.help);
}

static void unknown_options_get_a_suggestion(void **state)
{
    (void)state;
    assert_refused("--bacth 3", "paint: unknown option --bacth; did you mean --batch?");
    assert_refused("--no-fats", "paint: unknown option --no-fats; did you mean --no-fast?");
    assert_refused("--shedule=step", "paint: unknown option --shedule; did you mean --schedule?");
    assert_refused("--zzzzzz", "paint: unknown option --zzzzzz; see stannis paint --help");
    assert_refused("-batch 3", "paint: unknown option -batch; did you mean --batch?");
    assert_refused("-q --batch 3", "paint: unknown option -q; see stannis paint --help");
}

static void abbreviations_are_refused(void **state)
{
    (void)state;
    assert_refused("--bat 3", "paint: unknown option --bat; did you mean --batch?");
    assert_refused("--sche=step", "paint: unknown option --sche; did you mean --schedule?");
    assert_refused("--s 3", "paint: unknown option --s; see stannis paint --help"); // ambiguous
}

static void values_must_be_there(void **state)
{
    (void)state;
    assert_refused("--batch", "paint: --batch needs a value");
    assert_refused("--out --fast", "--out needs a value, but --fast follows");
    assert_refused("--out=", "--out: must not be empty");
    assert_refused("--fast=yes", "paint: --fast takes no value");
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
    assert_refused("--batch 0", "--batch 0: must be between 1 and 4096");
    assert_refused("--batch 99999999999999999999",
                   "--batch 99999999999999999999: must be between 1 and 4096");
    assert_refused("--steps -1", "--steps -1: must be at least 0");
    assert_refused("--lr 101", "--lr 101: must be between 0 and 100");
    assert_refused("--schedule fast", "--schedule fast: must be one of constant, step, cosine");
}

static void a_refused_value_leaves_the_field(void **state)
{
    (void)state;
    assert_int_equal(parse(&without_operands, "--batch 0"), STN_ERR_INVALID);
    assert_int_equal(target.batch, 32);
}

static void help_shows_every_row(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    base_option_help(&with_operands, &defaults, out);
    fclose(out);
    static const char *const expected[] = {
        "Usage: stannis paint [OPTION]… FILE…\nPaints.\n",
        "\nTraining\n",
        "\nOther\n",
        "  --batch N                 samples a step (default 32)\n",
        "  --lr X                    learning rate (default 0.1)\n",
        "  --schedule constant|step|cosine\n",
        "                            how it falls (default cosine)\n",
        "  --fast                    hurry\n",
        "  --no-log                  keep no log (default on)\n",
        "  --memory SIZE             memory; the default is all of it\n",
        "  --out DIR                 where results go (default run)\n",
        "\nExample: none\n"};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        if (!strstr(text, expected[i])) {
            fail_msg("not in the help: \"%s\"\nhelp:\n%s", expected[i], text);
        }
    }
    free(text);
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
        cmocka_unit_test(help_shows_every_row),
        cmocka_unit_test(slips_are_near_and_strangers_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
