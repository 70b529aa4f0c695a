// SPDX-License-Identifier: Apache-2.0
// IDX files: good ones in every spelling, and every way of being bad that we thought of.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/idx.h"
#include "data/sample.h"
#include "support.h"

enum { WIDTH = 6, HEIGHT = 4, IMAGE = WIDTH * HEIGHT, TRAIN = 20, VAL = 10, BYTES_MAX = 4096 };

struct blob {
    uint8_t bytes[BYTES_MAX];
    size_t size;
};

static struct blob idx_make(int rank, const uint32_t *lengths, const uint8_t *values, size_t count)
{
    struct blob blob = {.bytes = {0, 0, 8, (uint8_t)rank}, .size = 4};
    for (int i = 0; i < rank; i++) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            blob.bytes[blob.size++] = (uint8_t)(lengths[i] >> shift);
        }
    }
    assert_true(blob.size + count <= BYTES_MAX);
    memcpy(blob.bytes + blob.size, values, count);
    blob.size += count;
    return blob;
}

static struct blob images_make(uint32_t count)
{
    uint8_t *pixels = support_pixels(WIDTH, HEIGHT * (int)count, 1, 3);
    struct blob blob = idx_make(3, (uint32_t[]){count, HEIGHT, WIDTH}, pixels, count * IMAGE);
    free(pixels);
    return blob;
}

static struct blob labels_make(uint32_t count, int classes)
{
    uint8_t labels[256];
    for (uint32_t i = 0; i < count; i++) {
        labels[i] = (uint8_t)(i % (uint32_t)classes);
    }
    return idx_make(1, &count, labels, count);
}

static void write_blob(const char *name, struct blob blob)
{
    size_t length = strlen(name);
    bool gz = length > 3 && strcmp(name + length - 3, ".gz") == 0;
    (gz ? support_write_gz : support_write)(support_path("%s", name), blob.bytes, blob.size);
}

static void write_good(void)
{
    write_blob("set/train-images-idx3-ubyte", images_make(TRAIN));
    write_blob("set/train-labels-idx1-ubyte.gz", labels_make(TRAIN, 5));
    write_blob("set/t10k-images.idx3-ubyte.gz", images_make(VAL));
    write_blob("set/t10k-labels.idx1-ubyte", labels_make(VAL, 5));
}

static void test_reads_good_files_in_all_spellings(void **state)
{
    (void)state;
    write_good();
    struct stn_dataset *dataset = support_open(support_spec("idx", "set"), 0);
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    assert_int_equal(info->channels, 1);
    assert_int_equal(info->image_size, WIDTH);
    assert_int_equal(info->classes, 5);
    assert_string_equal(info->class_names[4], "4");
    assert_int_equal(info->count[STN_SUBSET_TRAIN], TRAIN);
    assert_int_equal(info->count[STN_SUBSET_VAL], VAL);

    struct blob images = images_make(TRAIN);
    double sum = 0, squares = 0;
    for (int i = 0; i < TRAIN * IMAGE; i++) {
        double v = images.bytes[16 + i] / 255.0;
        sum += v;
        squares += v * v;
    }
    double mean = sum / (TRAIN * IMAGE), std = sqrt(squares / (TRAIN * IMAGE) - mean * mean);
    assert_true(fabs(info->mean[0] - mean) < 1e-6 && fabs(info->std[0] - std) < 1e-6);
    stn_dataset_close(dataset);
}

static void test_sample_is_the_files_bytes(void **state)
{
    (void)state;
    uint8_t *pixels = support_pixels(8, 8 * 3, 1, 3);
    struct blob square = idx_make(3, (uint32_t[]){3, 8, 8}, pixels, 3 * 64);
    write_blob("set/train-images-idx3-ubyte", square);
    write_blob("set/train-labels-idx1-ubyte", labels_make(3, 3));
    write_blob("set/t10k-images-idx3-ubyte", square);
    write_blob("set/t10k-labels-idx1-ubyte", labels_make(3, 3));
    struct stn_dataset *dataset = support_open(support_spec("idx", "set"), 0);
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    struct data_workspace workspace;
    float image[64];
    int32_t label;
    data_workspace_init(&workspace);
    assert_int_equal(data_sample_load(dataset, STN_SUBSET_VAL, 2, DATA_AUGMENT_NONE, 0, &workspace,
                                      image, &label),
                     STN_OK);
    assert_int_equal(label, 2);
    for (int i = 0; i < 64; i++) {
        float want = ((float)pixels[2 * 64 + i] / 255 - info->mean[0]) / info->std[0];
        assert_true(fabsf(image[i] - want) < 1e-5f);
    }
    data_workspace_fini(&workspace);
    stn_dataset_close(dataset);
    free(pixels);
}

// Replaces one of the good files, which must make opening fail with the file's name in the line.
static void refuse_with(const char *name, struct blob blob, const char *part)
{
    write_blob(name, blob);
    support_refuse(support_spec("idx", "set"), STN_ERR_CORRUPT, part);
}

static void test_refuses_bad_headers_and_sizes(void **state)
{
    (void)state;
    static const char name[] = "set/train-images-idx3-ubyte";
    write_good();
    struct blob good = images_make(TRAIN), bad = good;
    bad.size--;
    refuse_with(name, bad, "train-images-idx3-ubyte: truncated");
    bad.size = good.size + 1;
    refuse_with(name, bad, "foreign bytes at the end");
    for (size_t size = 0; size < 16; size++) {
        bad.size = size;
        refuse_with(name, bad, "train-images-idx3-ubyte: too short");
    }
    refuse_with(name, labels_make(TRAIN, 5), "not an IDX file of bytes in 3 dimensions");
    // Every single flipped bit of the header is noticed.
    for (int bit = 0; bit < 16 * 8; bit++) {
        bad = good;
        bad.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        refuse_with(name, bad, "train-images-idx3-ubyte: ");
    }
    uint32_t huge[] = {0x7fffffff, 4096, 4096};
    refuse_with(name, idx_make(3, huge, good.bytes, 100), "truncated");
}

static void test_refuses_what_does_not_fit_together(void **state)
{
    (void)state;
    write_good();
    write_blob("set/train-labels-idx1-ubyte.gz", labels_make(TRAIN - 1, 5));
    support_refuse(support_spec("idx", "set"), STN_ERR_CORRUPT, "20 train images but 19 labels");
    write_good();
    write_blob("set/t10k-labels.idx1-ubyte", labels_make(VAL, 7));
    support_refuse(support_spec("idx", "set"), STN_ERR_INVALID, "t10k label 6");
    write_good();
    assert_int_equal(unlink(support_path("set/t10k-labels.idx1-ubyte")), 0);
    support_refuse(support_spec("idx", "set"), STN_ERR_NOT_FOUND, "no t10k-labels-idx1-ubyte");
    support_refuse(support_spec("idx", "nowhere"), STN_ERR_NOT_FOUND, "nowhere: ");
}

static void test_refuses_damaged_gzip(void **state)
{
    (void)state;
    write_good();
    const char *path = support_path("set/t10k-images.idx3-ubyte.gz");
    size_t size;
    uint8_t *bytes = support_read(path, &size);
    for (size_t cut = 1; cut < size - 3; cut += 7) { // any missing tail, the checksum's too
        support_write(path, bytes, size - cut);
        support_refuse(support_spec("idx", "set"), STN_ERR_CORRUPT, "t10k-images.idx3-ubyte.gz: ");
    }
    bytes[size - 6] ^= 1; // the checksum
    support_write(path, bytes, size);
    support_refuse(support_spec("idx", "set"), STN_ERR_CORRUPT, "damaged or truncated gzip");
    free(bytes);
}

static void test_parses_memory(void **state)
{
    (void)state;
    struct blob blob = images_make(3);
    struct data_idx idx;
    assert_int_equal(data_idx_parse("x", blob.bytes, blob.size, 3, &idx), STN_OK);
    assert_int_equal(idx.count, 3 * IMAGE);
    assert_ptr_equal(idx.values, blob.bytes + 16);
    assert_int_equal(data_idx_parse("x", blob.bytes, blob.size, 1, &idx), STN_ERR_CORRUPT);
    support_expect_error("x: not an IDX file of bytes in 1 dimension ");
}

static void test_fashion_mnist(void **state)
{
    (void)state;
    if (access("/usr/share/datasets/fashion-mnist", F_OK) != 0) {
        support_refuse("fashion-mnist", STN_ERR_NOT_FOUND, "apt-get install dataset-fashion-mnist");
        return;
    }
    struct stn_dataset *dataset = support_open("fashion-mnist", 0);
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    assert_int_equal(info->image_size, 28);
    assert_int_equal(info->classes, 10);
    assert_string_equal(info->class_names[9], "Ankle boot");
    assert_int_equal(info->count[STN_SUBSET_TRAIN], 60000);
    assert_int_equal(info->count[STN_SUBSET_VAL], 10000);
    assert_true(fabsf(info->mean[0] - 0.2860f) < 1e-4f && fabsf(info->std[0] - 0.3530f) < 1e-4f);
    stn_dataset_close(dataset);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_reads_good_files_in_all_spellings),
        TEST(test_sample_is_the_files_bytes),
        TEST(test_refuses_bad_headers_and_sizes),
        TEST(test_refuses_what_does_not_fit_together),
        TEST(test_refuses_damaged_gzip),
        TEST(test_parses_memory),
        TEST(test_fashion_mnist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
