// SPDX-License-Identifier: Apache-2.0
// Which micro-batches are tried when the fastest is to be found; which one wins is the machine's affair.
#include <string.h>

#include "capture.h"
#include "cmocka_all.h"
#include "train/micro_batch.h"

static struct stn_bench_config config_of(const char *net)
{
    return (struct stn_bench_config){.net = net,
                                     .shape = {.image_size = 28, .channels = 3, .classes = 3},
                                     .threads = 1,
                                     .steps = 1};
}

static void assert_tried(const struct stn_micro_batch_trials *trials, int count, const int *sizes)
{
    assert_int_equal(trials->count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(trials->at[i].micro_batch, sizes[i]);
        assert_true(trials->at[i].images_per_second > 0);
        assert_true(trials->at[i].images_per_second <= trials->at[trials->best].images_per_second);
    }
}

static void test_all_without_batchnorm(void **state)
{
    (void)state;
    struct stn_bench_config config = config_of("lenet");
    struct stn_micro_batch_trials trials;
    assert_int_equal(train_micro_batch_choose(&config, 0, &trials), STN_OK);
    assert_tried(&trials, 4, (const int[]){4, 8, 16, 32});
}

static void test_divisors_of_the_batch(void **state)
{
    (void)state;
    struct stn_bench_config config = config_of("lenet");
    struct stn_micro_batch_trials trials;
    assert_int_equal(train_micro_batch_choose(&config, 24, &trials), STN_OK);
    assert_tried(&trials, 2, (const int[]){4, 8});
}

static void test_batchnorm_wants_more(void **state)
{
    (void)state;
    struct stn_bench_config config = config_of("mobilenet_v2");
    struct stn_micro_batch_trials trials;
    assert_int_equal(train_micro_batch_choose(&config, 0, &trials), STN_OK);
    assert_tried(&trials, 2, (const int[]){16, 32});
}

// What does not fit is not tried, and not an error while something else does.
static void test_memory_limits(void **state)
{
    (void)state;
    struct stn_bench_config config = config_of("squeezenet1_1");
    struct stn_micro_batch_trials trials;
    config.shape.image_size = 160;
    config.memory = (size_t)120 << 20;
    assert_int_equal(train_micro_batch_choose(&config, 0, &trials), STN_OK);
    assert_in_range(trials.count, 1, 3);
    config.memory = 1 << 20;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(train_micro_batch_choose(&config, 0, &trials), STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "--micro-batch auto"));
}

// The bench then runs with the fastest.
static void test_bench_uses_it(void **state)
{
    (void)state;
    struct stn_bench_config config = config_of("lenet");
    struct stn_bench_result result;
    config.micro_batch = STN_MICRO_BATCH_AUTO;
    assert_int_equal(stn_bench_run(&config, &result), STN_OK);
    assert_int_equal(result.trials.count, 4);
    assert_int_equal(result.micro_batch, result.trials.at[result.trials.best].micro_batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_without_batchnorm), cmocka_unit_test(test_divisors_of_the_batch),
        cmocka_unit_test(test_batchnorm_wants_more),  cmocka_unit_test(test_memory_limits),
        cmocka_unit_test(test_bench_uses_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
