// SPDX-License-Identifier: Apache-2.0
// The loader: the same batches whatever the threads, bad samples, and stopping with work in flight.
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "support.h"

enum { MICRO_BATCH = 6, DEPTH = 3, SIZE = 32 };

static struct data_loader *create(struct stn_dataset *dataset, int threads, bool skip_bad)
{
    struct data_loader_config config = {
        .subset = STN_SUBSET_TRAIN,
        .sources = {{.dataset = dataset,
                     .sampler = {.seed = 9,
                                 .count =
                                     (uint64_t)stn_dataset_info(dataset)->count[STN_SUBSET_TRAIN],
                                 .shuffled = true}}},
        .augment = DATA_AUGMENT_FULL,
        .micro_batch = MICRO_BATCH,
        .threads = threads,
        .depth = DEPTH,
        .skip_bad = skip_bad,
    };
    struct data_loader *loader;
    assert_int_equal(data_loader_create(&config, &loader), STN_OK);
    return loader;
}

static struct data_request request(uint64_t epoch, uint64_t position, int count)
{
    return (struct data_request){.epoch = epoch,
                                 .part = {[DATA_PUBLIC] = {.position = position, .count = count}}};
}

static uint64_t hash(uint64_t h, const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < size; i++) {
        h = (h ^ b[i]) * 0x100000001b3u;
    }
    return h;
}

// Reads `epochs` epochs and digests all that was delivered.
static uint64_t digest(struct stn_dataset *dataset, int threads, uint64_t epochs,
                       int64_t *delivered)
{
    struct data_loader *loader = create(dataset, threads, true);
    const struct stn_dataset_info *info = stn_dataset_info(dataset);
    uint64_t count = (uint64_t)info->count[STN_SUBSET_TRAIN], h = 1;
    size_t size = (size_t)info->image_size;
    size_t floats = MICRO_BATCH * (size_t)info->channels * size * size;
    uint64_t batches = (count + MICRO_BATCH - 1) / MICRO_BATCH * epochs, asked = 0;
    *delivered = 0;
    for (uint64_t taken = 0; taken < batches; taken++) {
        for (; asked < batches; asked++) {
            uint64_t in_epoch = asked % (batches / epochs) * MICRO_BATCH;
            uint64_t left = count - in_epoch;
            if (!data_loader_request(loader,
                                     request(asked / (batches / epochs), in_epoch,
                                             left < MICRO_BATCH ? (int)left : MICRO_BATCH))) {
                break;
            }
        }
        assert_true(asked == batches || asked - taken == DEPTH);
        struct data_batch *batch;
        assert_int_equal(data_loader_next(loader, &batch), STN_OK);
        h = hash(h, batch->images, floats * sizeof(float));
        h = hash(h, batch->labels, (size_t)batch->count * sizeof(*batch->labels));
        for (int i = 0; i < batch->count; i++) {
            h = hash(h, &batch->samples[i].sample, sizeof(batch->samples[i].sample));
        }
        h = hash(h, batch->keys, (size_t)batch->count * sizeof(*batch->keys));
        *delivered += batch->count;
        data_loader_release(loader, batch);
    }
    data_loader_destroy(loader);
    return h;
}

// A hundred pictures of odd sizes, some grey, some PNG with alpha.
static void pictures_write(int count)
{
    for (int i = 0; i < count; i++) {
        int width = 17 + i * 7 % 90, height = 19 + i * 11 % 80;
        const char *class = i % 3 ? "one" : "two";
        if (i % 4 == 0) {
            support_write_png(support_path("f/train/%s/%d.png", class, i), width, height,
                              1 + i / 4 % 4, (unsigned)i);
        } else {
            support_write_jpeg(support_path("f/train/%s/%d.jpg", class, i), width, height,
                               i % 5 ? SUPPORT_JPEG_COLOUR : SUPPORT_JPEG_GREY, (unsigned)i);
        }
    }
    support_write_png(support_path("f/val/one/v.png"), 30, 30, 3, 1);
}

static void test_threads_do_not_change_batches(void **state)
{
    (void)state;
    pictures_write(100);
    const char *specs[] = {support_spec("folder", "f"), "synthetic:100"};
    for (int i = 0; i < 2; i++) {
        struct stn_dataset *dataset = support_open(specs[i], SIZE);
        int64_t delivered;
        uint64_t one = digest(dataset, 1, 3, &delivered);
        assert_int_equal(delivered, 300);
        assert_true(one == digest(dataset, 2, 3, &delivered));
        assert_true(one == digest(dataset, 4, 3, &delivered));
        assert_true(one != digest(dataset, 4, 2, &delivered)); // the digest does see differences
        stn_dataset_close(dataset);
    }
}

static void test_rows_beyond_count_are_zero(void **state)
{
    (void)state;
    struct stn_dataset *dataset = support_open("synthetic:50", SIZE);
    struct data_loader *loader = create(dataset, 2, false);
    struct data_batch *batch;
    const size_t row = 3 * SIZE * SIZE;
    for (uint64_t i = 0; i < 2 * DEPTH; i++) { // the second time round, slots hold old batches
        int count = i < DEPTH ? MICRO_BATCH : 2;
        assert_true(data_loader_request(loader, request(0, i * 2, count)));
        assert_int_equal(data_loader_next(loader, &batch), STN_OK);
        assert_int_equal(batch->count, count);
        for (size_t k = (size_t)count * row; k < MICRO_BATCH * row; k++) {
            assert_true(batch->images[k] == 0);
        }
        data_loader_release(loader, batch);
    }
    data_loader_destroy(loader);
    stn_dataset_close(dataset);
}

static void test_depth_limits_requests(void **state)
{
    (void)state;
    struct stn_dataset *dataset = support_open("synthetic:50", SIZE);
    struct data_loader *loader = create(dataset, 2, false);
    struct data_batch *batch;
    assert_int_equal(data_loader_next(loader, &batch), STN_ERR_INTERNAL);
    support_expect_error("not asked for");
    for (int i = 0; i < DEPTH; i++) {
        assert_true(data_loader_request(loader, request(0, 0, MICRO_BATCH)));
    }
    assert_false(data_loader_request(loader, request(0, 0, MICRO_BATCH)));
    assert_int_equal(data_loader_next(loader, &batch), STN_OK);
    assert_false(
        data_loader_request(loader, request(0, 0, MICRO_BATCH))); // taken is still in flight
    data_loader_release(loader, batch);
    assert_true(data_loader_request(loader, request(0, 0, MICRO_BATCH)));
    data_loader_destroy(loader);
    stn_dataset_close(dataset);
}

static void test_bad_sample_fails_its_batch_alone(void **state)
{
    (void)state;
    pictures_write(12);
    support_write(support_path("f/train/one/bad.jpg"), "\xff\xd8\xff text", 8);
    struct stn_dataset *dataset = support_open(support_spec("folder", "f"), SIZE);
    struct data_loader *loader = create(dataset, 3, false);
    int failed = 0;
    for (uint64_t i = 0; i < 13; i++) {
        struct data_batch *batch;
        assert_true(data_loader_request(loader, request(0, i, 1)));
        enum stn_status status = data_loader_next(loader, &batch);
        if (status == STN_OK) {
            data_loader_release(loader, batch);
            continue;
        }
        failed++;
        assert_int_equal(status, STN_ERR_CORRUPT);
        assert_null(batch);
        support_expect_error("f/train/one/bad.jpg: damaged JPEG");
    }
    assert_int_equal(failed, 1);
    assert_int_equal(support_errors(), 0);
    data_loader_destroy(loader);
    stn_dataset_close(dataset);
}

static void test_skip_bad_counts_and_closes_ranks(void **state)
{
    (void)state;
    pictures_write(20);
    for (int i = 0; i < 15; i++) {
        support_write(support_path("f/train/two/bad%d.jpg", i), "text", 4);
    }
    struct stn_dataset *dataset = support_open(support_spec("folder", "f"), SIZE);
    assert_int_equal(stn_dataset_info(dataset)->count[STN_SUBSET_TRAIN], 35);
    int64_t delivered;
    uint64_t one = digest(dataset, 1, 1, &delivered);
    assert_int_equal(delivered, 20);
    assert_int_equal(support_errors(), 0);
    assert_int_equal(support_warnings(), 10);
    assert_non_null(strstr(support_last_line(), "skipping "));
    assert_non_null(strstr(support_last_line(), ".jpg: neither a JPEG nor a PNG picture (further"));
    assert_true(one == digest(dataset, 4, 1, &delivered));

    // A whole batch of bad ones is delivered empty.
    struct data_loader *loader = create(dataset, 2, true);
    struct data_batch *batch;
    int empty = 0;
    for (uint64_t i = 0; i < 35; i++) {
        assert_true(data_loader_request(loader, request(0, i, 1)));
        assert_int_equal(data_loader_next(loader, &batch), STN_OK);
        empty += batch->count == 0;
        data_loader_release(loader, batch);
    }
    assert_int_equal(empty, 15);
    assert_int_equal(data_loader_stats(loader).skipped, 15);
    data_loader_destroy(loader);
    stn_dataset_close(dataset);
}

static uint64_t batch_digest(const struct data_batch *batch)
{
    uint64_t h = hash(1, batch->images, MICRO_BATCH * 3 * SIZE * SIZE * sizeof(float));
    h = hash(h, batch->labels, (size_t)batch->count * sizeof(*batch->labels));
    return hash(h, batch->keys, (size_t)batch->count * sizeof(*batch->keys));
}

// Takes one batch, which must be the one at `position`, as a loader that is asked for nothing else
// makes it.
static void take_and_compare(struct data_loader *loader, struct data_loader *other,
                             uint64_t position)
{
    struct data_batch *batch, *expected;
    assert_int_equal(data_loader_next(loader, &batch), STN_OK);
    assert_int_equal(batch->request.part[DATA_PUBLIC].position, position);
    assert_true(data_loader_request(other, request(0, position, MICRO_BATCH)));
    assert_int_equal(data_loader_next(other, &expected), STN_OK);
    assert_true(batch_digest(batch) == batch_digest(expected));
    data_loader_release(loader, batch);
    data_loader_release(other, expected);
}

// Asked for again after a cancel, shifted, so that some batches are kept and others are not.
static void test_batches_kept_over_a_cancel_are_right(void **state)
{
    (void)state;
    struct stn_dataset *dataset = support_open("synthetic:200", SIZE);
    for (int threads = 1; threads <= 3; threads++) {
        struct data_loader *loader = create(dataset, threads, false);
        struct data_loader *other = create(dataset, 1, false);
        for (int round = 0; round < 60; round++) {
            uint64_t from = (uint64_t)(round * 7 % 11), shift = (uint64_t)(round % 5);
            for (uint64_t k = 0; k < DEPTH; k++) {
                assert_true(
                    data_loader_request(loader, request(0, (from + k) * MICRO_BATCH, MICRO_BATCH)));
            }
            if (round % 2) {
                take_and_compare(loader, other, from * MICRO_BATCH);
            }
            data_loader_cancel(loader);
            from = from + 2 - shift % 4 + (from == 0 && shift % 4 == 3);
            for (uint64_t k = 0; k < DEPTH; k++) {
                assert_true(
                    data_loader_request(loader, request(0, (from + k) * MICRO_BATCH, MICRO_BATCH)));
            }
            for (uint64_t k = 0; k < DEPTH; k++) {
                take_and_compare(loader, other, (from + k) * MICRO_BATCH);
            }
        }
        data_loader_destroy(other);
        data_loader_destroy(loader);
    }
    stn_dataset_close(dataset);
}

static void test_cancel_and_destroy_with_work_in_flight(void **state)
{
    (void)state;
    struct stn_dataset *dataset = support_open("synthetic:200", 96);
    for (uint64_t round = 0; round < 40; round++) {
        struct data_loader *loader = create(dataset, 4, false);
        struct data_batch *held = NULL, *batch;
        for (uint64_t i = 0; i < DEPTH; i++) {
            assert_true(data_loader_request(loader, request(round, i, MICRO_BATCH)));
        }
        if (round % 2) {
            assert_int_equal(data_loader_next(loader, &held), STN_OK);
        }
        data_loader_cancel(loader);
        data_loader_cancel(loader);
        // What was asked before is gone; a batch already taken is still the consumer's.
        assert_true(data_loader_request(loader, request(round, 100, 2)));
        assert_int_equal(data_loader_next(loader, &batch), STN_OK);
        assert_int_equal(batch->request.part[DATA_PUBLIC].position, 100);
        assert_int_equal(batch->count, 2);
        assert_ptr_not_equal(batch, held);
        if (held) {
            assert_int_equal(held->request.part[DATA_PUBLIC].position, 0);
            data_loader_release(loader, held);
        }
        data_loader_release(loader, batch);
        for (uint64_t i = 0; i < DEPTH; i++) {
            assert_true(data_loader_request(loader, request(round, i, MICRO_BATCH)));
        }
        data_loader_destroy(loader);
    }
    stn_dataset_close(dataset);
    data_loader_destroy(NULL);
}

static void test_refuses_senseless_configurations(void **state)
{
    (void)state;
    struct stn_dataset *dataset = support_open("synthetic:50", SIZE);
    struct data_loader_config good = {.subset = STN_SUBSET_VAL,
                                      .sources = {{.dataset = dataset, .sampler = {.count = 10}}},
                                      .micro_batch = 1,
                                      .threads = 1,
                                      .depth = 2};
    struct data_loader *loader;
    struct data_loader_config bad = good;
    bad.threads = 0;
    assert_int_equal(data_loader_create(&bad, &loader), STN_ERR_INVALID);
    support_expect_error("0 threads");
    bad = good;
    bad.sources[DATA_PUBLIC].sampler.count = 51;
    assert_int_equal(data_loader_create(&bad, &loader), STN_ERR_INTERNAL);
    support_expect_error("order of 51");
    assert_int_equal(data_loader_create(&good, &loader), STN_OK);
    data_loader_destroy(loader);
    stn_dataset_close(dataset);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_threads_do_not_change_batches),
        TEST(test_rows_beyond_count_are_zero),
        TEST(test_depth_limits_requests),
        TEST(test_bad_sample_fails_its_batch_alone),
        TEST(test_skip_bad_counts_and_closes_ranks),
        TEST(test_batches_kept_over_a_cancel_are_right),
        TEST(test_cancel_and_destroy_with_work_in_flight),
        TEST(test_refuses_senseless_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
