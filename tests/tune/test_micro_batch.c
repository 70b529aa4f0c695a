// SPDX-License-Identifier: Apache-2.0
// Which micro-batches are tried when the fastest is to be found; which one wins is the machine's
// affair.
#include <math.h>
#include <string.h>

#include "bench/micro_batch.h"
#include "capture.h"
#include "cmocka_all.h"
#include "session.h"
#include "tune/micro_batch.h"

static struct bench_config config_of(const char *net)
{
    return (struct bench_config){.net = net,
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
    struct bench_config config = config_of("lenet");
    struct stn_micro_batch_trials trials;
    assert_int_equal(bench_micro_batch_choose(&config, 0, &trials), STN_OK);
    assert_tried(&trials, 4, (const int[]){4, 8, 16, 32});
}

static void test_divisors_of_the_batch(void **state)
{
    (void)state;
    struct bench_config config = config_of("lenet");
    struct stn_micro_batch_trials trials;
    assert_int_equal(bench_micro_batch_choose(&config, 24, &trials), STN_OK);
    assert_tried(&trials, 2, (const int[]){4, 8});
}

static void test_batchnorm_wants_more(void **state)
{
    (void)state;
    struct bench_config config = config_of("mobilenet_v2");
    struct stn_micro_batch_trials trials;
    assert_int_equal(bench_micro_batch_choose(&config, 0, &trials), STN_OK);
    assert_tried(&trials, 2, (const int[]){16, 32});
}

// What does not fit is not tried, and not an error while something else does.
static void test_memory_limits(void **state)
{
    (void)state;
    struct bench_config config = config_of("squeezenet1_1");
    struct stn_micro_batch_trials trials;
    config.shape.image_size = 160;
    config.memory = (size_t)132 << 20;
    assert_int_equal(bench_micro_batch_choose(&config, 0, &trials), STN_OK);
    assert_in_range(trials.count, 1, 3);
    config.memory = 1 << 20;
    struct capture capture;
    capture_start(&capture);
    assert_int_equal(bench_micro_batch_choose(&config, 0, &trials), STN_ERR_INVALID);
    capture_stop();
    assert_int_equal(capture.lines, 1);
    assert_non_null(strstr(capture.last, "micro-batch auto"));
}

// The bench then runs with the fastest.
static void test_bench_uses_it(void **state)
{
    (void)state;
    struct stn_settings settings = {.verb = STN_VERB_BENCH,
                                    .values = settings_defaults(STN_VERB_BENCH)};
    struct stn_bench_result result;
    settings.values.net = "lenet";
    settings.values.image_size = 28;
    settings.values.classes = 3;
    settings.values.threads = 1;
    settings.values.steps = 1;
    settings.values.micro_batch = SETTINGS_AUTO;
    assert_int_equal(stn_bench_run(test_session(), &settings, NULL, &result), STN_OK);
    assert_int_equal(result.trials.count, 4);
    assert_int_equal(result.micro_batch, result.trials.at[result.trials.best].micro_batch);
}

// A server and three devices, a quarter of its speed each, and batches of 128. In two of 64 only
// the server computes; in 16 of 8, that cost everybody a tenth, it computes ten, and devices two
// each.
static void test_fine_enough_for_all_nodes(void **state)
{
    (void)state;
    enum { NODES = 4 };
    const double coarse[NODES] = {1000, 250, 250, 250}, fine[NODES] = {900, 225, 225, 225};
    struct plan_node nodes[NODES];
    struct plan_offer offers[NODES];
    const struct plan_scratch scratch = {.nodes = nodes, .offers = offers};
    int split[NODES];
    double together = tune_micro_batch_speed(coarse, NODES, 64, 128, &scratch, split);
    assert_true(fabs(together - 1000.0) < 1e-6);
    assert_int_equal(split[0], 2);
    together = tune_micro_batch_speed(fine, NODES, 8, 128, &scratch, split);
    assert_true(fabs(together - 128 / (80 / 900.0)) < 1e-6);
    assert_int_equal(split[0], 10);
    assert_int_equal(split[3], 2);
    assert_true(fabs(tune_micro_batch_speed(coarse, NODES, 64, 0, &scratch, split) - 1750.0) <
                1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_without_batchnorm),
        cmocka_unit_test(test_divisors_of_the_batch),
        cmocka_unit_test(test_batchnorm_wants_more),
        cmocka_unit_test(test_memory_limits),
        cmocka_unit_test(test_bench_uses_it),
        cmocka_unit_test(test_fine_enough_for_all_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
