// SPDX-License-Identifier: Apache-2.0
// Directories of pictures: classes, order, what is ignored, what is refused.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/sample.h"
#include "support.h"

static void write_good(void)
{
    support_write_jpeg(support_path("f/train/cat/b.JPG"), 40, 30, SUPPORT_JPEG_COLOUR, 1);
    support_write_jpeg(support_path("f/train/cat/a.jpeg"), 30, 40, SUPPORT_JPEG_GREY, 2);
    support_write_png(support_path("f/train/ant/x.png"), 20, 20, 4, 3);
    support_write_png(support_path("f/train/dog/y.Png"), 20, 20, 1, 3);
    support_write_jpeg(support_path("f/val/dog/z.jpg"), 50, 50, SUPPORT_JPEG_COLOUR, 4);
    support_write_jpeg(support_path("f/val/cat/z.jpg"), 50, 50, SUPPORT_JPEG_COLOUR, 4);
}

// The labels of a subset, in order: "0112".
static const char *labels(const struct stn_dataset *dataset, enum stn_subset subset)
{
    static char text[64];
    static float image[3 * 64 * 64];
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    struct data_workspace workspace;
    data_workspace_init(&workspace);
    assert_true(info->image_size <= 64 && info->count[subset] < 64);
    for (int64_t i = 0; i < info->count[subset]; i++) {
        int32_t label;
        assert_int_equal(data_sample_load(dataset, subset, (uint64_t)i, DATA_AUGMENT_FULL, 1,
                                          &workspace, image, &label),
                         STN_OK);
        text[i] = (char)('0' + label);
    }
    text[info->count[subset]] = '\0';
    data_workspace_fini(&workspace);
    return text;
}

static void test_classes_are_sorted_names(void **state)
{
    (void)state;
    write_good();
    struct stn_dataset *dataset = support_open(support_spec("folder", "f"), 32);
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    assert_int_equal(info->classes, 3);
    assert_string_equal(info->class_names[0], "ant");
    assert_string_equal(info->class_names[1], "cat");
    assert_string_equal(info->class_names[2], "dog");
    assert_string_equal(labels(dataset, STN_SUBSET_TRAIN), "0112");
    assert_string_equal(labels(dataset, STN_SUBSET_VAL), "12");
    assert_int_equal(support_warnings(), 0);
    stn_dataset_close(dataset);
    dataset = support_open(support_spec("folder", "f"), 0);
    assert_int_equal(stn_dataset_info(dataset)->image_size, 224);
    stn_dataset_close(dataset);
}

static void test_other_files_are_counted_hidden_ones_not(void **state)
{
    (void)state;
    write_good();
    support_write(support_path("f/train/cat/.DS_Store"), "x", 1);
    support_write(support_path("f/train/.hidden/a.jpg"), "x", 1);
    support_write(support_path("f/train/README"), "x", 1);
    support_write(support_path("f/train/cat/notes.txt"), "x", 1);
    support_write(support_path("f/val/cat/sub.jpg/x.jpg"), "x", 1);
    struct stn_dataset *dataset = support_open(support_spec("folder", "f"), 32);
    assert_int_equal(support_warnings(), 1);
    assert_non_null(strstr(support_last_line(), "ignoring 3 entries"));
    assert_string_equal(labels(dataset, STN_SUBSET_TRAIN), "0112");
    stn_dataset_close(dataset);
}

static void test_links_are_followed(void **state)
{
    (void)state;
    write_good();
    assert_int_equal(symlink("cat", support_path("f/train/eel")), 0);
    assert_int_equal(symlink("y.Png", support_path("f/train/dog/also.png")), 0);
    struct stn_dataset *dataset = support_open(support_spec("folder", "f"), 32);
    assert_string_equal(labels(dataset, STN_SUBSET_TRAIN), "0112233");
    stn_dataset_close(dataset);
}

static void test_refuses_incomplete_sets(void **state)
{
    (void)state;
    const char *spec = support_spec("folder", "f");
    support_refuse(spec, STN_ERR_NOT_FOUND, "f/train: No such file");
    support_mkdir(support_path("f/train"));
    support_refuse(spec, STN_ERR_INVALID, "f/train: no class directories");
    support_mkdir(support_path("f/train/ant"));
    support_refuse(spec, STN_ERR_INVALID, "f/train/ant: no .jpg, .jpeg or .png");
    support_write_png(support_path("f/train/ant/x.png"), 20, 20, 4, 3);
    support_refuse(spec, STN_ERR_NOT_FOUND, "f/val: No such file");
    support_mkdir(support_path("f/val"));
    support_refuse(spec, STN_ERR_INVALID, "f/val: no pictures");
    support_mkdir(support_path("f/val/ant"));
    support_refuse(spec, STN_ERR_INVALID, "f/val: no pictures");
    support_write_png(support_path("f/val/bee/x.png"), 20, 20, 4, 3);
    support_refuse(spec, STN_ERR_INVALID, "class 'bee' is not in ");
}

static void test_refuses_what_is_no_directory(void **state)
{
    (void)state;
    support_write(support_path("f/train"), "x", 1);
    support_refuse(support_spec("folder", "f"), STN_ERR_IO, "f/train: Not a directory");
}

static void test_refuses_an_unreadable_directory(void **state)
{
    (void)state;
    write_good();
    bool root = geteuid() == 0;
    assert_int_equal(chmod(support_path("f/train/cat"), 0), 0);
    assert_int_equal(chmod(support_path("."), 0755), 0);
    // Root may read everything: become nobody for a moment.
    assert_int_equal(root ? seteuid(65534) : 0, 0);
    support_refuse(support_spec("folder", "f"), STN_ERR_IO, "f/train/cat: Permission denied");
    assert_int_equal(root ? seteuid(0) : 0, 0);
    assert_int_equal(chmod(support_path("f/train/cat"), 0755), 0);
}

static void test_labels_follow_a_given_list(void **state)
{
    (void)state;
    write_good();
    const char *const names[] = {"dog", "bee", "cat", "ant"};
    struct stn_dataset_options options = {.spec = support_spec("folder", "f"),
                                          .image_size = 32,
                                          .class_names = names,
                                          .class_count = 4};
    struct stn_dataset *dataset;
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_OK);
    assert_int_equal(stn_dataset_info(dataset)->classes, 4);
    assert_string_equal(stn_dataset_info(dataset)->class_names[1], "bee");
    assert_string_equal(labels(dataset, STN_SUBSET_TRAIN), "3220");
    assert_string_equal(labels(dataset, STN_SUBSET_VAL), "20");
    stn_dataset_close(dataset);
    options.class_count = 3;
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_ERR_INVALID);
    support_expect_error("class 'ant' is not one of the 3 classes");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_classes_are_sorted_names),     TEST(test_other_files_are_counted_hidden_ones_not),
        TEST(test_links_are_followed),           TEST(test_refuses_incomplete_sets),
        TEST(test_refuses_what_is_no_directory), TEST(test_refuses_an_unreadable_directory),
        TEST(test_labels_follow_a_given_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
