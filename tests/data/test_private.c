// SPDX-License-Identifier: Apache-2.0
// A node's private pictures: where they lie, that they are seen as the public ones are, and how
// both come in one batch.
#include <stdlib.h>
#include <string.h>

#include "data/sample.h"
#include "support.h"

enum { SIZE = 16, PIXELS = SIZE * SIZE };

static void write_public(void)
{
    for (int i = 0; i < 6; i++) {
        const char *class = i % 2 ? "ant" : "bee";
        support_write_png(support_path("f/train/%s/%d.png", class, i), 30, 20, 3, (unsigned)i);
    }
    support_write_png(support_path("f/val/ant/0.png"), 30, 20, 3, 1);
}

static struct stn_dataset *open_private(const char *dir, const struct stn_dataset *like)
{
    struct stn_dataset *dataset;
    if (stn_dataset_open_private(support_path("%s", dir), like, &dataset) != STN_OK) {
        fail_msg("%s", support_last_line());
    }
    return dataset;
}

static void refuse_private(const char *dir, const struct stn_dataset *like, enum stn_status status,
                           const char *part)
{
    struct stn_dataset *dataset;
    assert_int_equal(stn_dataset_open_private(support_path("%s", dir), like, &dataset), status);
    assert_null(dataset);
    support_expect_error(part);
}

static void expect_counts(const struct stn_dataset *dataset, enum stn_subset subset, int64_t ant,
                          int64_t bee)
{
    int64_t counts[2];
    assert_int_equal(stn_dataset_info(dataset)->classes, 2);
    assert_int_equal(stn_dataset_info(dataset)->count[subset], ant + bee);
    stn_dataset_class_counts(dataset, subset, counts);
    assert_int_equal(counts[0], ant);
    assert_int_equal(counts[1], bee);
}

static void test_layouts(void **state)
{
    (void)state;
    write_public();
    struct stn_dataset *open = support_open(support_spec("folder", "f"), SIZE), *own;

    support_write_png(support_path("flat/bee/1.png"), 20, 20, 3, 1);
    support_write_png(support_path("flat/bee/2.png"), 20, 20, 3, 2);
    own = open_private("flat", open);
    expect_counts(own, STN_SUBSET_TRAIN, 0, 2);
    expect_counts(own, STN_SUBSET_VAL, 0, 0);
    stn_dataset_close(own);

    support_write_png(support_path("deep/train/ant/1.png"), 20, 20, 3, 1);
    own = open_private("deep", open);
    expect_counts(own, STN_SUBSET_TRAIN, 1, 0);
    expect_counts(own, STN_SUBSET_VAL, 0, 0);
    stn_dataset_close(own);

    support_write_png(support_path("deep/val/bee/1.png"), 20, 20, 3, 1);
    own = open_private("deep", open);
    expect_counts(own, STN_SUBSET_TRAIN, 1, 0);
    expect_counts(own, STN_SUBSET_VAL, 0, 1);
    stn_dataset_close(own);
    stn_dataset_close(open);
}

static void test_a_class_may_be_called_train(void **state)
{
    (void)state;
    const char *const names[] = {"car", "train"};
    const struct stn_dataset_options options = {
        .spec = "synthetic:10", .image_size = SIZE, .class_names = names, .class_count = 2};
    struct stn_dataset *open, *own;
    assert_int_equal(stn_dataset_open(&options, &open), STN_OK);
    support_write_png(support_path("p/train/1.png"), 20, 20, 3, 1);
    own = open_private("p", open);
    expect_counts(own, STN_SUBSET_TRAIN, 0, 1);
    stn_dataset_close(own);
    stn_dataset_close(open);
}

static void test_mistakes(void **state)
{
    (void)state;
    write_public();
    struct stn_dataset *open = support_open(support_spec("folder", "f"), SIZE);
    refuse_private("none", open, STN_ERR_NOT_FOUND, "none: No such file");
    support_mkdir(support_path("empty"));
    refuse_private("empty", open, STN_ERR_INVALID, "empty: no class directories in it");
    support_write_png(support_path("p/eel/1.png"), 20, 20, 3, 1);
    refuse_private("p", open, STN_ERR_INVALID, "/p: class 'eel' is not one of the 2 classes");
    support_write_png(support_path("q/train/ant/1.png"), 20, 20, 3, 1);
    support_write_png(support_path("q/val/eel/1.png"), 20, 20, 3, 1);
    refuse_private("q", open, STN_ERR_INVALID, "class-list FILE");
    stn_dataset_close(open);
}

// The same file gives the same pixels and the same label, as public or as private data.
static void expect_same_look(const struct stn_dataset *open, uint64_t sample,
                             const struct stn_dataset *own)
{
    static float a[3 * PIXELS], b[3 * PIXELS];
    const struct stn_dataset_info *info = stn_dataset_info(own);
    int32_t label[2];
    struct data_workspace workspace;
    data_workspace_init(&workspace);
    assert_int_equal(info->channels, stn_dataset_info(open)->channels);
    assert_int_equal(info->image_size, SIZE);
    assert_int_equal(data_sample_load(open, STN_SUBSET_TRAIN, sample, DATA_AUGMENT_FULL, 7,
                                      &workspace, a, &label[0]),
                     STN_OK);
    assert_int_equal(
        data_sample_load(own, STN_SUBSET_TRAIN, 0, DATA_AUGMENT_FULL, 7, &workspace, b, &label[1]),
        STN_OK);
    assert_int_equal(label[0], label[1]);
    assert_memory_equal(a, b, (size_t)info->channels * PIXELS * sizeof(float));
    data_workspace_fini(&workspace);
}

static void test_seen_as_public_photographs(void **state)
{
    (void)state;
    write_public();
    support_write_png(support_path("p/bee/x.png"), 30, 20, 3, 2); // as public bee/2.png, sample 4
    struct stn_dataset *open = support_open(support_spec("folder", "f"), SIZE);
    struct stn_dataset *own = open_private("p", open);
    expect_same_look(open, 4, own);
    stn_dataset_close(own);
    stn_dataset_close(open);
}

// Grey, whole pictures, with the mean and deviation of the public ones.
static void test_seen_as_public_digits(void **state)
{
    (void)state;
    uint8_t images[16 + 2 * PIXELS] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, SIZE, 0, 0, 0, SIZE};
    uint8_t *pixels = support_pixels(SIZE, SIZE, 1, 5);
    memcpy(images + 16 + PIXELS, pixels, PIXELS);
    free(pixels);
    const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 0, 1};
    support_write(support_path("i/train-images-idx3-ubyte"), images, sizeof(images));
    support_write(support_path("i/t10k-images-idx3-ubyte"), images, sizeof(images));
    support_write(support_path("i/train-labels-idx1-ubyte"), labels, sizeof(labels));
    support_write(support_path("i/t10k-labels-idx1-ubyte"), labels, sizeof(labels));
    support_write_png(support_path("p/1/x.png"), SIZE, SIZE, 1, 5); // classes "0" and "1"
    struct stn_dataset *open = support_open(support_spec("idx", "i"), 0);
    struct stn_dataset *own = open_private("p", open);
    expect_same_look(open, 1, own);
    stn_dataset_close(own);
    stn_dataset_close(open);
}

// ---- both in one batch -------------------------------------------------------------------------

static struct data_loader_config mixed(struct stn_dataset *open, struct stn_dataset *own)
{
    return (struct data_loader_config){
        .subset = STN_SUBSET_TRAIN,
        .sources = {{open, {.seed = 1, .count = 50, .shuffled = true}},
                    {own, {.seed = 2, .count = 20, .shuffled = true}}},
        .augment = DATA_AUGMENT_FULL,
        .micro_batch = 6,
        .threads = 3,
        .depth = 2,
    };
}

static void test_a_batch_of_both_equals_its_parts(void **state)
{
    (void)state;
    struct stn_dataset *open = support_open("synthetic:50", SIZE);
    struct stn_dataset *own = support_open("synthetic:20", SIZE);
    const struct data_loader_config config = mixed(open, own);
    struct data_loader *loader;
    assert_int_equal(data_loader_create(&config, &loader), STN_OK);
    // The last begins a second pass over the private samples.
    const int counts[][2] = {{6, 0}, {4, 2}, {0, 6}, {1, 1}, {0, 1}, {2, 4}};
    uint64_t position[2] = {0, 7};
    static float image[3 * PIXELS];
    struct data_workspace workspace;
    data_workspace_init(&workspace);
    for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
        const struct data_request request = {
            .epoch = 3,
            .part = {{position[0], counts[n][0]}, {position[1], counts[n][1]}},
        };
        struct data_batch *batch;
        assert_true(data_loader_request(loader, request));
        assert_int_equal(data_loader_next(loader, &batch), STN_OK);
        assert_int_equal(batch->count, counts[n][0] + counts[n][1]);
        for (int i = 0; i < batch->count; i++) {
            int source = i >= counts[n][0];
            const struct data_source *from = &config.sources[source];
            struct data_draw draw = data_sampler_at(&from->sampler, 3, position[source]++);
            int32_t label;
            assert_int_equal(data_sample_load(from->dataset, STN_SUBSET_TRAIN, draw.sample,
                                              DATA_AUGMENT_FULL, draw.key, &workspace, image,
                                              &label),
                             STN_OK);
            assert_int_equal(batch->samples[i].source, source);
            assert_true(batch->samples[i].sample == draw.sample && batch->keys[i] == draw.key);
            assert_int_equal(batch->labels[i], label);
            assert_memory_equal(batch->images + i * 3 * PIXELS, image, sizeof(image));
        }
        data_loader_release(loader, batch);
    }
    data_workspace_fini(&workspace);
    data_loader_destroy(loader);
    stn_dataset_close(own);
    stn_dataset_close(open);
}

static void test_shapes_must_agree(void **state)
{
    (void)state;
    struct stn_dataset *open = support_open("synthetic:50", SIZE);
    struct stn_dataset *own = support_open("synthetic:20", SIZE + 1);
    struct data_loader_config config = mixed(open, own);
    struct data_loader *loader;
    assert_int_equal(data_loader_create(&config, &loader), STN_ERR_INTERNAL);
    support_expect_error("cannot be mixed");
    stn_dataset_close(own);
    own = support_open("synthetic:19", SIZE);
    config = mixed(open, own);
    assert_int_equal(data_loader_create(&config, &loader), STN_ERR_INTERNAL);
    support_expect_error("order of 20");
    stn_dataset_close(own);
    stn_dataset_close(open);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_layouts),
        TEST(test_a_class_may_be_called_train),
        TEST(test_mistakes),
        TEST(test_seen_as_public_photographs),
        TEST(test_seen_as_public_digits),
        TEST(test_a_batch_of_both_equals_its_parts),
        TEST(test_shapes_must_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
