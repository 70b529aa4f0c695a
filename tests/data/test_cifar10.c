// SPDX-License-Identifier: Apache-2.0
// CIFAR-10's binary batches, made here.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/sample.h"
#include "support.h"

enum { PLANE = 32 * 32, RECORD = 1 + 3 * PLANE, RECORDS = 12 };

static uint8_t *batch_make(unsigned seed)
{
    uint8_t *bytes = support_pixels(RECORD, RECORDS, 1, seed);
    for (int i = 0; i < RECORDS; i++) {
        bytes[i * RECORD] = (uint8_t)((i + (int)seed) % 10);
    }
    return bytes;
}

static void batch_write(const char *name, unsigned seed)
{
    uint8_t *bytes = batch_make(seed);
    support_write(support_path("c/%s", name), bytes, RECORDS * RECORD);
    free(bytes);
}

static void write_good(void)
{
    batch_write("data_batch_1.bin", 1);
    batch_write("data_batch_2.bin", 2);
    batch_write("test_batch.bin", 3);
}

static void test_reads_planes(void **state)
{
    (void)state;
    write_good();
    struct stn_dataset *dataset = support_open(support_spec("cifar10", "c"), 0);
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    assert_int_equal(info->count[STN_SUBSET_TRAIN], 2 * RECORDS);
    assert_int_equal(info->count[STN_SUBSET_VAL], RECORDS);
    assert_int_equal(info->image_size, 32);
    assert_string_equal(info->class_names[0], "airplane");

    struct data_workspace workspace;
    float image[3 * PLANE];
    int32_t label;
    data_workspace_init(&workspace);
    assert_int_equal(data_sample_load(dataset, STN_SUBSET_TRAIN, RECORDS + 4, DATA_AUGMENT_NONE, 0,
                                      &workspace, image, &label),
                     STN_OK);
    assert_int_equal(label, 6);
    uint8_t *batch = batch_make(2);
    for (int i = 0; i < 3 * PLANE; i++) {
        int c = i / PLANE;
        float want = ((float)batch[4 * RECORD + 1 + i] / 255 - info->mean[c]) / info->std[c];
        assert_true(fabsf(image[i] - want) < 1e-5f);
    }
    free(batch);
    data_workspace_fini(&workspace);
    stn_dataset_close(dataset);
}

static void test_takes_names_from_the_meta_file(void **state)
{
    (void)state;
    static const char meta[] = "n0\r\nn1\nn2\nn3\nn4\nn5\nn6\nn7\nn8\nn9\n\n";
    write_good();
    support_write(support_path("c/batches.meta.txt"), meta, sizeof(meta) - 1);
    struct stn_dataset *dataset = support_open(support_spec("cifar10", "c"), 0);
    assert_string_equal(stn_dataset_info(dataset)->class_names[0], "n0");
    assert_string_equal(stn_dataset_info(dataset)->class_names[9], "n9");
    stn_dataset_close(dataset);
    support_write(support_path("c/batches.meta.txt"), meta, 6); // too few: the usual ones
    dataset = support_open(support_spec("cifar10", "c"), 0);
    assert_string_equal(stn_dataset_info(dataset)->class_names[9], "truck");
    stn_dataset_close(dataset);
}

static void test_refuses(void **state)
{
    (void)state;
    const char *spec = support_spec("cifar10", "c");
    support_refuse(spec, STN_ERR_NOT_FOUND, "data_batch_1.bin");
    write_good();
    assert_int_equal(unlink(support_path("c/test_batch.bin")), 0);
    support_refuse(spec, STN_ERR_NOT_FOUND, "test_batch.bin");
    write_good();
    batch_write("data_batch_4.bin", 4);
    support_refuse(spec, STN_ERR_NOT_FOUND, "data_batch_3.bin is missing, though data_batch_4.bin");
    assert_int_equal(unlink(support_path("c/data_batch_4.bin")), 0);

    uint8_t *bytes = batch_make(2);
    support_write(support_path("c/data_batch_2.bin"), bytes, RECORDS * RECORD - 1);
    support_refuse(spec, STN_ERR_CORRUPT, "data_batch_2.bin: not a CIFAR-10 batch, or truncated");
    support_write(support_path("c/data_batch_2.bin"), bytes, 0);
    support_refuse(spec, STN_ERR_CORRUPT, "data_batch_2.bin");
    bytes[5 * RECORD] = 10;
    support_write(support_path("c/data_batch_2.bin"), bytes, RECORDS * RECORD);
    support_refuse(spec, STN_ERR_CORRUPT, "data_batch_2.bin: label 10 at image 5");
    free(bytes);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_reads_planes),
        TEST(test_takes_names_from_the_meta_file),
        TEST(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
