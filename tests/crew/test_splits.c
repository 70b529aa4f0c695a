// SPDX-License-Identifier: Apache-2.0
// --split as text, and the split by CPUs.
#include <string.h>

#include "cmocka_all.h"
#include "crew/split.h"
#include "train/support.h"

static void assert_split(const struct crew_splits *splits, int64_t step, const int *expected)
{
    assert_memory_equal(crew_splits_at(splits, step), expected,
                        (size_t)splits->nodes * sizeof(int));
}

static void texts_are_read(void **state)
{
    (void)state;
    struct crew_splits splits;
    assert_int_equal(crew_splits_parse("12,4,4,4", 4, 24, &splits), STN_OK);
    assert_split(&splits, 7, (int[]){12, 4, 4, 4});
    assert_int_equal(crew_splits_sum(&splits), 24);
    crew_splits_fini(&splits);
    assert_int_equal(crew_splits_parse("5:2:1;0,0,8", 3, 0, &splits), STN_OK);
    assert_split(&splits, 0, (int[]){5, 2, 1});
    assert_split(&splits, 1, (int[]){0, 0, 8});
    assert_split(&splits, 2, (int[]){5, 2, 1});
    crew_splits_fini(&splits);
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "1",       "1,2,3", "1,2,",     "1,,2", "1,x",
                                      "-1,2", "1,2;3,4", "0,0",   "1,2;1,2;", "1 ,2", "9999999,1"};
    struct crew_splits splits;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        errors_reset();
        assert_int_equal(crew_splits_parse(bad[i], 2, 0, &splits), STN_ERR_INVALID);
        assert_int_equal(errors_count(), 1);
    }
    assert_int_equal(crew_splits_parse("3,4", 2, 8, &splits), STN_ERR_INVALID);
    assert_non_null(strstr(errors_last(), "8"));
}

static void policies_make_a_split(void **state)
{
    (void)state;
    struct crew_splits splits;
    struct plan_node nodes[4];
    for (int i = 0; i < 4; i++) {
        nodes[i] =
            (struct plan_node){.kind = i, .curve.line.each_s = i == 0 ? 1.0 : 4.0, .cap = 100};
    }
    struct plan_request request = {
        .cluster = {.nodes = nodes, .count = 4, .micro_batch = 16},
        .micro_batches = 28,
        .options = plan_policy_defaults,
    };
    assert_int_equal(crew_splits_plan(&request, STN_POLICY_BALANCED, &splits), STN_OK);
    assert_split(&splits, 0, (int[]){16, 4, 4, 4});
    crew_splits_fini(&splits);
    assert_int_equal(crew_splits_plan(&request, STN_POLICY_UNIFORM, &splits), STN_OK);
    assert_split(&splits, 0, (int[]){7, 7, 7, 7});
    assert_int_equal(crew_splits_over_cap(&splits, &request.cluster), -1);
    nodes[2].cap = 6;
    assert_int_equal(crew_splits_over_cap(&splits, &request.cluster), 2);
    crew_splits_fini(&splits);
    nodes[0].cap = nodes[1].cap = nodes[3].cap = 1;
    request.micro_batches = 10;
    assert_int_equal(crew_splits_plan(&request, STN_POLICY_BALANCED, &splits), STN_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(policies_make_a_split),
    };
    return cmocka_run_group_tests(tests, errors_set_up, NULL);
}
