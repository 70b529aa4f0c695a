// SPDX-License-Identifier: Apache-2.0
// Command lines (an argument a line) into the option parser, and the same text as data set specs.
#include <math.h>
#include <string.h>

#include "base/option.h"
#include "data/spec.h"
#include "target.h"

enum { ARGUMENTS_MAX = 64, TEXT_MAX = 4096 };

struct target {
    bool flag;
    int integer, choice;
    int64_t long_integer;
    uint64_t seed;
    double real;
    size_t bytes;
    const char *text;
};

static const char *const choices[] = {"constant", "step", "cosine", NULL};

#define FIELD(name) offsetof(struct target, name)
static const struct base_option options[] = {
    {"Group", BASE_OPTION_HEADING, 0, NULL, NULL, 0, 0, NULL},
    {"nesterov", BASE_OPTION_FLAG, FIELD(flag), NULL, "", 0, 0, NULL},
    {"batch", BASE_OPTION_INT, FIELD(integer), "N", "", 1, 4096, NULL},
    {"classes", BASE_OPTION_INT, FIELD(integer), "N", "", 0, 0, NULL},
    {"schedule", BASE_OPTION_CHOICE, FIELD(choice), NULL, "", 0, 0, choices},
    {"steps", BASE_OPTION_INT64, FIELD(long_integer), "N", "", 0, INFINITY, NULL},
    {"seed", BASE_OPTION_SEED, FIELD(seed), "N", "", 0, 0, NULL},
    {"lr", BASE_OPTION_REAL, FIELD(real), "X", "", 0, 1000, NULL},
    {"memory", BASE_OPTION_BYTES, FIELD(bytes), "SIZE", "", 0, 0, NULL},
    {"data", BASE_OPTION_TEXT, FIELD(text), "SPEC", "", 0, 0, NULL},
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};
static const struct base_command command = {"fuzz", "", "FILE…", NULL, options};

static void parse_spec(const char *text)
{
    struct data_spec spec;
    if (data_spec_parse(text, &spec) == STN_OK) {
        fuzz_check(spec.kind != NULL);
        fuzz_check(spec.count >= 0 && spec.count <= DATA_SPEC_COUNT_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX + 1];
    char *argv[ARGUMENTS_MAX + 2] = {(char[]){"fuzz"}};
    int argc = 1;
    size = size < TEXT_MAX ? size : TEXT_MAX;
    memcpy(text, data, size);
    text[size] = '\0';
    fuzz_quiet();
    char *save;
    for (char *word = strtok_r(text, "\n", &save); word && argc <= ARGUMENTS_MAX;
         word = strtok_r(NULL, "\n", &save)) {
        parse_spec(word);
        argv[argc++] = word;
    }
    struct target target = {.integer = 1, .text = "default"};
    struct base_option_result result;
    if (base_option_parse(&command, argc, argv, &target, &result) == STN_OK && !result.help) {
        fuzz_check(target.real >= 0 && target.real <= 1000);
        fuzz_check(target.choice >= 0 && target.choice < 3);
        fuzz_check(target.long_integer >= 0);
        fuzz_check(target.text && *target.text);
        for (int i = 0; i < result.operand_count; i++) {
            fuzz_check(result.operands[i] != NULL);
        }
        fuzz_check(result.operands[result.operand_count] == NULL);
    }
    return 0;
}
