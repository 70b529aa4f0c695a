// SPDX-License-Identifier: Apache-2.0
// --split as text, and the split by CPUs.
#include <string.h>

#include "cmocka_all.h"
#include "support.h"
#include "train/split.h"

static void assert_split(const struct train_splits *splits, int64_t step, const int *expected)
{
    assert_memory_equal(train_splits_at(splits, step), expected,
                        (size_t)splits->nodes * sizeof(int));
}

static void texts_are_read(void **state)
{
    (void)state;
    struct train_splits splits;
    assert_int_equal(train_splits_parse("12,4,4,4", 4, 24, &splits), STN_OK);
    assert_split(&splits, 7, (int[]){12, 4, 4, 4});
    assert_int_equal(train_splits_sum(&splits), 24);
    train_splits_fini(&splits);
    assert_int_equal(train_splits_parse("5:2:1;0,0,8", 3, 0, &splits), STN_OK);
    assert_split(&splits, 0, (int[]){5, 2, 1});
    assert_split(&splits, 1, (int[]){0, 0, 8});
    assert_split(&splits, 2, (int[]){5, 2, 1});
    train_splits_fini(&splits);
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "1",       "1,2,3", "1,2,",     "1,,2", "1,x",
                                      "-1,2", "1,2;3,4", "0,0",   "1,2;1,2;", "1 ,2", "9999999,1"};
    struct train_splits splits;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        errors_reset();
        assert_int_equal(train_splits_parse(bad[i], 2, 0, &splits), STN_ERR_INVALID);
        assert_int_equal(errors_count(), 1);
    }
    assert_int_equal(train_splits_parse("3,4", 2, 8, &splits), STN_ERR_INVALID);
    assert_non_null(strstr(errors_last(), "8"));
}

static void cpus_make_a_split(void **state)
{
    (void)state;
    struct train_splits splits;
    const double cpus[] = {1.0, 0.25, 0.25, 0.25};
    const int none[4] = {0}, limits[] = {6, 0, 2, 0};
    assert_int_equal(train_splits_weigh(cpus, none, 4, 28, &splits), STN_OK);
    assert_split(&splits, 0, (int[]){16, 4, 4, 4});
    train_splits_fini(&splits);
    assert_int_equal(train_splits_weigh(cpus, none, 4, 8, &splits), STN_OK);
    assert_split(&splits, 0, (int[]){5, 1, 1, 1});
    train_splits_fini(&splits);
    assert_int_equal(train_splits_weigh(cpus, limits, 4, 28, &splits), STN_OK);
    assert_split(&splits, 0, (int[]){6, 10, 2, 10});
    assert_int_equal(train_splits_over_limit(&splits, limits), -1);
    assert_int_equal(train_splits_over_limit(&splits, (int[]){0, 9, 0, 0}), 1);
    train_splits_fini(&splits);
    assert_int_equal(train_splits_weigh(cpus, (int[]){1, 1, 1, 1}, 4, 5, &splits), STN_ERR_INVALID);
}

static int catch (void **state)
{
    (void)state;
    errors_catch();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(cpus_make_a_split),
    };
    return cmocka_run_group_tests(tests, catch, NULL);
}
