// SPDX-License-Identifier: Apache-2.0
// The one reader of plan files: what programs before wrote it still reads, and what is none it
// leaves to others. (tests/tune/test_plan.c has damaged files, tests/fuzz/fuzz_plan.c any others.)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "planfile/planfile.h"

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

static void a_plan_of_before_is_read(void **state)
{
    (void)state;
    struct stn_plan *plan;
    assert_int_equal(stn_plan_read(OLD_PLAN, &plan), STN_OK);
    assert_string_equal(plan->info.net, "lenet");
    assert_string_equal(plan->info.date, "2026-11-18T20:41:38Z");
    assert_string_equal(plan->info.version, "0.1.0");
    assert_int_equal(plan->info.image_size, 28);
    assert_int_equal(plan->info.channels, 3);
    assert_int_equal(plan->info.classes, 10);
    assert_int_equal(plan->info.micro_batch, 8);
    assert_int_equal(plan->info.batch, 96);
    assert_int_equal(plan->info.policy, STN_POLICY_BALANCED);
    assert_false(plan->info.in_turn);
    assert_true(plan->info.hidden_seconds == 0.000850403);
    assert_true(plan->info.uneven_seconds == 0.0013050715);
    assert_int_equal(plan->info.nodes, 3);
    const struct stn_plan_node *node = &plan->node[1];
    assert_string_equal(node->name, "csd.0");
    assert_true(node->cpus == 0.2 && node->fixed_seconds == 0.0);
    assert_true(node->each_seconds == 0.0157323651 && node->noise == 0.015542672);
    assert_int_equal(node->samples, 32);
    assert_int_equal(node->outliers, 1);
    assert_string_equal(node->doubt, "steps with the others took -60 % of alone");
    assert_int_equal(node->memory_limit, 25276518400);
    assert_int_equal(node->cap, 12);
    assert_int_equal(node->micro_batches, 3);
    assert_false(node->too_slow);
    stn_plan_destroy(plan);
}

// Byte for byte: a program of before reads what this one writes.
static void a_plan_is_written_as_before(void **state)
{
    (void)state;
    char *text = read_text(OLD_PLAN), *again;
    struct stn_plan *plan;
    assert_true(planfile_is(text, strlen(text)));
    assert_int_equal(planfile_parse(text, strlen(text), "old", &plan), STN_OK);
    assert_int_equal(stn_plan_text(plan, &again), STN_OK);
    assert_true(strncmp(text, again, strlen(again)) == 0);
    assert_string_equal(text + strlen(again), "\n");
    stn_plan_destroy(plan);
    free(again);
    free(text);
}

static void other_files_are_no_plans(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "  ",
                                         "{}",
                                         "devices:\n  - name: stannis_plan\n",
                                         "[\"stannis_plan\"]",
                                         "{\"stannis_pla"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(planfile_is(others[i], strlen(others[i])));
    }
    assert_true(planfile_is("\n {\"stannis_plan\": 9", 19)); // damaged, but meant to be one
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_of_before_is_read),
        cmocka_unit_test(a_plan_is_written_as_before),
        cmocka_unit_test(other_files_are_no_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
