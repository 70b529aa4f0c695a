// SPDX-License-Identifier: Apache-2.0
// Generated data: what it is made of, and that its classes can be told apart.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/sample.h"
#include "support.h"

static struct stn_dataset *open_with(int size, int classes, uint64_t seed, const char *spec)
{
    struct stn_dataset_options options = {
        .spec = spec, .image_size = size, .classes = classes, .seed = seed};
    struct stn_dataset *dataset;
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_OK);
    return dataset;
}

static int32_t load(const struct stn_dataset *dataset, enum stn_subset subset, uint64_t i,
                    float *out)
{
    struct data_workspace workspace;
    int32_t label = -1;
    data_workspace_init(&workspace);
    assert_int_equal(
        data_sample_load(dataset, subset, i, DATA_AUGMENT_NONE, 0, &workspace, out, &label),
        STN_OK);
    data_workspace_fini(&workspace);
    return label;
}

static void test_info(void **state)
{
    (void)state;
    struct stn_dataset *dataset = support_open("synthetic", 0);
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    assert_string_equal(info->kind, "synthetic");
    assert_int_equal(info->image_size, 32);
    assert_int_equal(info->channels, 3);
    assert_int_equal(info->classes, 10);
    assert_string_equal(info->class_names[9], "9");
    assert_int_equal(info->count[STN_SUBSET_TRAIN], 10000);
    assert_int_equal(info->count[STN_SUBSET_VAL], 1000);
    stn_dataset_close(dataset);

    dataset = open_with(28, 57, 0, "synthetic:100");
    info = stn_dataset_info(dataset);
    assert_int_equal(info->count[STN_SUBSET_TRAIN], 100);
    assert_int_equal(info->count[STN_SUBSET_VAL], 57);
    stn_dataset_close(dataset);
}

static void test_depends_on_seed_split_and_index_alone(void **state)
{
    (void)state;
    enum { N = 3 * 28 * 28 };
    float a[N], b[N];
    struct stn_dataset *one = open_with(28, 4, 1, "synthetic"),
                       *two = open_with(28, 4, 2, "synthetic");
    load(one, STN_SUBSET_TRAIN, 8, a);
    load(one, STN_SUBSET_TRAIN, 8, b);
    assert_memory_equal(a, b, sizeof(a));
    load(one, STN_SUBSET_TRAIN, 12, b);
    assert_memory_not_equal(a, b, sizeof(a));
    load(one, STN_SUBSET_VAL, 8, b);
    assert_memory_not_equal(a, b, sizeof(a));
    load(two, STN_SUBSET_TRAIN, 8, b);
    assert_memory_not_equal(a, b, sizeof(a));
    stn_dataset_close(one);
    stn_dataset_close(two);
}

static void test_normalised_and_balanced(void **state)
{
    (void)state;
    static const int sizes[] = {28, 32, 97, 299};
    for (int s = 0; s < 4; s++) {
        size_t n = 3 * (size_t)sizes[s] * (size_t)sizes[s];
        float *image = malloc(n * sizeof(*image));
        assert_non_null(image);
        struct stn_dataset *dataset = open_with(sizes[s], 30, 3, "synthetic:600");
        double sum = 0, squares = 0;
        int counts[30] = {0};
        for (uint64_t i = 0; i < 60; i++) {
            counts[load(dataset, STN_SUBSET_TRAIN, i, image)]++;
            for (size_t k = 0; k < n; k++) {
                sum += image[k];
                squares += image[k] * image[k];
            }
        }
        double mean = sum / (60.0 * (double)n),
               variance = squares / (60.0 * (double)n) - mean * mean;
        assert_true(fabs(mean) < 0.3 && variance > 0.4 && variance < 1.6);
        for (int c = 0; c < 30; c++) {
            assert_int_equal(counts[c], 2);
        }
        stn_dataset_close(dataset);
        free(image);
    }
}

// Colours are far apart when classes are few: the average over a whole picture shows the red ones.
static void test_colour_tells_classes_apart(void **state)
{
    (void)state;
    enum { SIZE = 32, PLANE = SIZE * SIZE };
    float image[3 * PLANE];
    struct stn_dataset *dataset = open_with(SIZE, 2, 5, "synthetic");
    int right = 0;
    for (uint64_t i = 0; i < 400; i++) {
        int32_t label = load(dataset, STN_SUBSET_VAL, i, image);
        double red = 0, green = 0;
        for (int k = 0; k < PLANE; k++) {
            red += image[k];
            green += image[PLANE + k] + image[2 * PLANE + k];
        }
        right += (red > green / 2) == (label == 0);
    }
    assert_in_range(right, 390, 400);
    stn_dataset_close(dataset);
}

static void test_follows_a_class_list(void **state)
{
    (void)state;
    const char *names[] = {"a", "b", "c"};
    struct stn_dataset_options options = {
        .spec = "synthetic", .class_names = names, .class_count = 3};
    struct stn_dataset *dataset;
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_OK);
    assert_int_equal(stn_dataset_info(dataset)->classes, 3);
    assert_string_equal(stn_dataset_info(dataset)->class_names[2], "c");
    stn_dataset_close(dataset);
    options.classes = 4;
    assert_int_equal(stn_dataset_open(&options, &dataset), STN_ERR_INVALID);
    support_expect_error("4 classes, but the network was trained for 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_info, support_setup, support_teardown),
        cmocka_unit_test(test_depends_on_seed_split_and_index_alone),
        cmocka_unit_test(test_normalised_and_balanced),
        cmocka_unit_test(test_colour_tells_classes_apart),
        cmocka_unit_test_setup_teardown(test_follows_a_class_list, support_setup, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
