// SPDX-License-Identifier: Apache-2.0
// Files of class names: what is accepted, what is refused where, and whose labels follow them.
#include <stdlib.h>
#include <string.h>

#include "data/class_list.h"
#include "support.h"

static void accept(const char *text, int count, const char *last)
{
    struct data_class_list list;
    assert_int_equal(data_class_list_parse(text, strlen(text), "L", &list), STN_OK);
    assert_int_equal(list.count, count);
    assert_string_equal(list.names[count - 1], last);
    data_class_list_fini(&list);
}

static void refuse(const char *text, size_t bytes, const char *part)
{
    struct data_class_list list;
    assert_int_equal(data_class_list_parse(text, bytes, "L", &list), STN_ERR_INVALID);
    support_expect_error(part);
}

static void test_one_name_a_line(void **state)
{
    (void)state;
    accept("ant", 1, "ant");
    accept("ant\nbee\n", 2, "bee");
    accept("ant\r\nAnkle boot\r\n", 2, "Ankle boot");
    accept("ant\nT-shirt/top\ncafé\n", 3, "café");
}

static void test_mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    refuse("", 0, "L: 0 class names");
    refuse("ant\n\nbee\n", 9, "L:2: an empty line");
    refuse("\n", 1, "L:1: an empty line");
    refuse("ant\nbee\n\r\n", 10, "L:3: an empty line");
    refuse("ant\nb\tee\n", 9, "L:2: a control character");
    refuse("ant\nb\0ee\n", 9, "L:2: a control character");
    refuse("ant\nbee \n", 9, "L:2: a space at the end");
    refuse(" ant\nbee", 8, "L:1: a space at the beginning");
    refuse("ant\nbee\ncat\nbee\nant\n", 20, "L:4: class 'bee' is already there");
}

static void open_listed(const char *spec, const char *list, struct stn_dataset **out)
{
    const struct stn_dataset_options options = {.spec = spec, .image_size = 8, .class_list = list};
    assert_int_equal(stn_dataset_open(&options, out), STN_OK);
}

static void refuse_listed(const struct stn_dataset_options *options, enum stn_status status,
                          const char *part)
{
    struct stn_dataset *dataset;
    assert_int_equal(stn_dataset_open(options, &dataset), status);
    assert_null(dataset);
    support_expect_error(part);
}

static void test_public_data_may_show_fewer_classes(void **state)
{
    (void)state;
    const char *list = support_path("classes.txt"), *spec = support_spec("folder", "f");
    support_write(list, "dog\nbee\nant\n", 12);
    support_write_png(support_path("f/train/ant/1.png"), 9, 9, 3, 1);
    support_write_png(support_path("f/train/dog/1.png"), 9, 9, 3, 2);
    support_write_png(support_path("f/train/dog/2.png"), 9, 9, 3, 3);
    support_write_png(support_path("f/val/bee/1.png"), 9, 9, 3, 4); // only private in training
    struct stn_dataset *dataset;
    open_listed(spec, list, &dataset);
    assert_int_equal(stn_dataset_info(dataset)->classes, 3);
    assert_string_equal(stn_dataset_info(dataset)->class_names[1], "bee");
    int64_t counts[3];
    stn_dataset_class_counts(dataset, STN_SUBSET_TRAIN, counts);
    assert_memory_equal(counts, ((const int64_t[]){2, 0, 1}), sizeof(counts));
    stn_dataset_class_counts(dataset, STN_SUBSET_VAL, counts);
    assert_memory_equal(counts, ((const int64_t[]){0, 1, 0}), sizeof(counts));
    stn_dataset_close(dataset);

    support_write_png(support_path("f/train/eel/1.png"), 9, 9, 3, 2);
    struct stn_dataset_options options = {.spec = spec, .class_list = list};
    refuse_listed(&options, STN_ERR_INVALID, "f: class 'eel' is not in class-list ");
    options.class_list = support_path("none.txt");
    refuse_listed(&options, STN_ERR_NOT_FOUND, "none.txt: No such file");
    support_write(options.class_list, "ant\nant\n", 8);
    refuse_listed(&options, STN_ERR_INVALID, "none.txt:2: class 'ant'");
}

static void test_numbered_classes_take_the_first_names(void **state)
{
    (void)state;
    const char *list = support_path("classes.txt");
    support_write(list, "a\nb\nc\n", 6);
    struct stn_dataset *dataset;
    open_listed("synthetic:30", list, &dataset); // as many as the list has
    int64_t counts[3];
    stn_dataset_class_counts(dataset, STN_SUBSET_TRAIN, counts);
    assert_memory_equal(counts, ((const int64_t[]){10, 10, 10}), sizeof(counts));
    stn_dataset_close(dataset);
    struct stn_dataset_options options = {.spec = "synthetic:30", .class_list = list, .classes = 2};
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_OK);
    stn_dataset_class_counts(dataset, STN_SUBSET_TRAIN, counts);
    assert_memory_equal(counts, ((const int64_t[]){15, 15, 0}), sizeof(counts));
    stn_dataset_close(dataset);
    options.classes = 4;
    refuse_listed(&options, STN_ERR_INVALID, "4 classes, but class-list ");
}

static void test_must_agree_with_given_names(void **state)
{
    (void)state;
    const char *list = support_path("classes.txt");
    const char *const same[] = {"a", "b", "c"}, *const other[] = {"a", "c", "b"};
    support_write(list, "a\nb\nc\n", 6);
    struct stn_dataset_options options = {
        .spec = "synthetic:30", .class_names = same, .class_count = 3, .class_list = list};
    struct stn_dataset *dataset;
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_OK);
    stn_dataset_close(dataset);
    options.class_names = other;
    refuse_listed(&options, STN_ERR_INVALID, "not the 3 classes the network was trained for");
    options.class_names = same;
    options.class_count = 2;
    refuse_listed(&options, STN_ERR_INVALID, "not the 2 classes the network was trained for");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_one_name_a_line),
        TEST(test_mistakes_are_named_with_their_line),
        TEST(test_public_data_may_show_fewer_classes),
        TEST(test_numbered_classes_take_the_first_names),
        TEST(test_must_agree_with_given_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
