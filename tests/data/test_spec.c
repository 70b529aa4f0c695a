// SPDX-License-Identifier: Apache-2.0
// Specs: what is accepted, and what the refusals say.
#include <string.h>

#include "data/spec.h"
#include "data/store.h"
#include "fixture.h"
#include "support.h"

static void test_accepts(void **state)
{
    (void)state;
    struct data_spec spec;
    assert_int_equal(data_spec_parse("synthetic", &spec), STN_OK);
    assert_ptr_equal(spec.kind, &data_synthetic);
    assert_int_equal(spec.count, 0);
    assert_int_equal(data_spec_parse("synthetic:1000000000", &spec), STN_OK);
    assert_int_equal(spec.count, 1000000000);
    assert_int_equal(data_spec_parse("fashion-mnist", &spec), STN_OK);
    assert_ptr_equal(spec.kind, &data_fashion_mnist);
    assert_int_equal(data_spec_parse("folder:a:b/c d", &spec), STN_OK);
    assert_ptr_equal(spec.kind, &data_folder);
    assert_string_equal(spec.dir, "a:b/c d");
    assert_int_equal(data_spec_parse("cifar10:x", &spec), STN_OK);
    assert_int_equal(data_spec_parse("idx:.", &spec), STN_OK);
}

static void test_refuses_in_one_line(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {NULL, "no data set given; write one of synthetic[:COUNT], fashion-mnist, idx:DIR"},
        {"", "no data set given"},
        {":", "no data set given"},
        {"syntetic", "did you mean 'synthetic'?"},
        {"/some/dir", "unknown kind; write one of"},
        {"Folder:x", "folder:DIR"},
        {"folder", "directory is missing"},
        {"folder:", "directory is missing"},
        {"fashion-mnist:", "write just fashion-mnist"},
        {"fashion-mnist:x", "write just fashion-mnist"},
        {"synthetic:", "count must be"},
        {"synthetic:0", "count must be"},
        {"synthetic:-1", "count must be"},
        {"synthetic: 5", "count must be"},
        {"synthetic:5x", "count must be"},
        {"synthetic:1000000001", "count must be"},
        {"synthetic:99999999999999999999999999", "count must be"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct data_spec spec;
        assert_int_equal(data_spec_parse(bad[i][0], &spec), STN_ERR_INVALID);
        support_expect_error(bad[i][1]);
    }
}

static void test_long_text_is_cut(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct data_spec spec;
    assert_int_equal(data_spec_parse(text, &spec), STN_ERR_INVALID);
    assert_true(strlen(support_last_line()) < 400);
    support_expect_error("folder:DIR");
}

static void test_bad_options(void **state)
{
    (void)state;
    struct stn_dataset *dataset;
    struct stn_dataset_options options = {.spec = "synthetic", .image_size = -1};
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_ERR_INVALID);
    support_expect_error("image size -1");
    options = (struct stn_dataset_options){.spec = "synthetic", .classes = 1};
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_ERR_INVALID);
    support_expect_error("1 classes");
    options = (struct stn_dataset_options){.spec = NULL};
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_ERR_INVALID);
    support_expect_error("no data set given");
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses_in_one_line),
        cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_bad_options),
    };
    fixture_for_each(tests, sizeof(tests) / sizeof(*tests), support_setup, support_teardown);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
