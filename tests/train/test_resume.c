// SPDX-License-Identifier: Apache-2.0
// A run that was interrupted and resumed must be, bit for bit, the run that was not.
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "session.h"
#include "small_call.h"
#include "small_run.h"
#include "support.h"

static struct bytes whole, whole_best; // checkpoints of the run nobody interrupted

static void run_to(int64_t stop_step, const char *resume, enum stn_status expected)
{
    struct settings config = small_settings(scratch);
    struct stop_at stop = {.step = stop_step};
    struct stn_train_observer observer = stop_at_observer(&stop);
    struct stn_train_result result;
    config.resume = resume;
    assert_int_equal(small_train(&config, &observer, &result), expected);
    if (stop_step > 0) {
        assert_int_equal(stop.seen, stop_step);
    }
}

static void assert_same_as_whole(void)
{
    struct bytes last = file_load(in(scratch, "last.safetensors"));
    struct bytes best = file_load(in(scratch, "best.safetensors"));
    assert_int_equal(last.size, whole.size);
    assert_memory_equal(last.data, whole.data, whole.size);
    assert_int_equal(best.size, whole_best.size);
    assert_memory_equal(best.data, whole_best.data, whole_best.size);
    free(last.data);
    free(best.data);
}

static void interrupted_at(int64_t step)
{
    run_to(step, NULL, STN_ERR_INTERRUPTED);
    run_to(0, in(scratch, "last.safetensors"), STN_OK);
    assert_same_as_whole();
}

static void inside_the_first_epoch(void **state)
{
    (void)state;
    interrupted_at(1);
    interrupted_at(4);
}

static void at_the_end_of_an_epoch(void **state)
{
    (void)state;
    interrupted_at(7); // the epoch's evaluation is left to the resumed run
}

static void inside_the_second_epoch(void **state)
{
    (void)state;
    interrupted_at(8);
    interrupted_at(13);
}

static void again_and_again(void **state)
{
    (void)state;
    const char *last = in(scratch, "last.safetensors");
    run_to(2, NULL, STN_ERR_INTERRUPTED);
    run_to(3, last, STN_ERR_INTERRUPTED);
    run_to(7, last, STN_ERR_INTERRUPTED);
    run_to(12, last, STN_ERR_INTERRUPTED);
    run_to(0, last, STN_OK);
    assert_same_as_whole();
}

// Keeps the first last.safetensors that is written, as if the process had died right after.
static void keep_first(void *context, const char *path)
{
    struct bytes *kept = context;
    if (!kept->data && strstr(path, "last.safetensors")) {
        *kept = file_load(path);
    }
}

static void from_a_periodic_checkpoint(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct stn_train_result result;
    struct bytes kept = {0};
    const struct stn_train_observer observer = {.context = &kept, .saved = keep_first};
    config.checkpoint_steps = 5;
    assert_int_equal(small_train(&config, &observer, &result), STN_OK);
    assert_same_as_whole();
    file_store(in(scratch, "last.safetensors"), kept.data, kept.size);
    free(kept.data);
    run_to(0, in(scratch, "last.safetensors"), STN_OK);
    assert_same_as_whole();
}

// Compares the data behind the headers: --steps adds an evaluation, which metadata may show.
static void after_a_limit_of_steps(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct stn_train_result result;
    config.steps = 9;
    assert_int_equal(small_train(&config, NULL, &result), STN_OK);
    assert_int_equal(result.steps, 9);
    run_to(0, in(scratch, "last.safetensors"), STN_OK);
    struct bytes last = file_load(in(scratch, "last.safetensors"));
    uint64_t header;
    memcpy(&header, last.data, sizeof(header));
    size_t data_bytes = last.size - 8 - header;
    assert_memory_equal(last.data + 8 + header, whole.data + whole.size - data_bytes, data_bytes);
    free(last.data);
}

static void with_two_threads(void **state)
{
    (void)state;
    struct bytes weights[2];
    for (int interrupted = 0; interrupted < 2; interrupted++) {
        struct settings config = small_settings(scratch);
        struct stop_at stop = {.step = interrupted ? 3 : 0};
        struct stn_train_observer observer = stop_at_observer(&stop);
        struct stn_train_result result;
        config.threads = 2;
        config.epochs = 1;
        enum stn_status status = small_train(&config, &observer, &result);
        if (interrupted) {
            assert_int_equal(status, STN_ERR_INTERRUPTED);
            stop.step = 0;
            config.resume = in(scratch, "last.safetensors");
            status = small_train(&config, &observer, &result);
        }
        assert_int_equal(status, STN_OK);
        assert_int_equal(result.threads, 2);
        weights[interrupted] = file_load(in(scratch, "last.safetensors"));
    }
    assert_int_equal(weights[0].size, weights[1].size);
    assert_memory_equal(weights[0].data, weights[1].data, weights[0].size);
    free(weights[0].data);
    free(weights[1].data);
}

static void settings_come_from_the_checkpoint(void **state)
{
    (void)state;
    run_to(5, NULL, STN_ERR_INTERRUPTED);
    struct settings config = settings_defaults(STN_VERB_TRAIN);
    struct stn_train_result result;
    config.resume = in(scratch, "last.safetensors");
    config.out = scratch;
    config.data_seed = 99; // what is generated stays what it was
    config.threads = 1;
    assert_int_equal(small_train(&config, NULL, &result), STN_OK);
    assert_same_as_whole();
}

static void epochs_may_be_extended(void **state)
{
    (void)state;
    run_to(0, NULL, STN_OK);
    struct settings config = small_settings(scratch);
    struct stn_train_result result;
    config.resume = in(scratch, "last.safetensors");
    assert_int_equal(small_train(&config, NULL, &result), STN_OK);
    assert_int_equal(result.steps, 0);
    config.epochs = 3;
    assert_int_equal(small_train(&config, NULL, &result), STN_OK);
    assert_int_equal(result.steps, 7);
    assert_int_equal(result.images, 200);
}

static void expect_refused(struct settings config, const char *one, const char *other)
{
    struct stn_train_result result;
    errors_reset();
    config.resume = in(scratch, "last.safetensors");
    assert_int_equal(small_train(&config, NULL, &result), STN_ERR_INVALID);
    assert_int_equal(errors_count(), 1);
    if (!strstr(errors_last(), one) || !strstr(errors_last(), other)) {
        print_error("\"%s\" names not both \"%s\" and \"%s\"\n", errors_last(), one, other);
        fail();
    }
}

static void another_training_is_refused(void **state)
{
    (void)state;
    run_to(3, NULL, STN_ERR_INTERRUPTED);
    struct settings config = small_settings(scratch);
    config.net = "squeezenet1_1";
    expect_refused(config, "squeezenet1_1", "lenet");
    config = small_settings(scratch);
    config.batch = 64;
    expect_refused(config, "batch 64", "32");
    config = small_settings(scratch);
    config.micro_batch = 16;
    expect_refused(config, "micro-batch 16", "12");
    config = small_settings(scratch);
    config.seed = 12;
    expect_refused(config, "seed 12", "11");
    config = small_settings(scratch);
    config.image_size = 32;
    expect_refused(config, "image-size 32", "28");
    config = small_settings(scratch);
    config.classes = 5;
    expect_refused(config, "classes 5", "4");
    config = small_settings(scratch);
    config.data = "synthetic:300";
    expect_refused(config, "300", "200");
}

static int run_whole(void **state)
{
    errors_catch();
    scratch_set_up(state);
    run_to(0, NULL, STN_OK);
    whole = file_load(in(scratch, "last.safetensors"));
    whole_best = file_load(in(scratch, "best.safetensors"));
    return scratch_tear_down(state);
}

static int free_whole(void **state)
{
    (void)state;
    free(whole.data);
    free(whole_best.data);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(inside_the_first_epoch),     WITH_SCRATCH(at_the_end_of_an_epoch),
        WITH_SCRATCH(inside_the_second_epoch),    WITH_SCRATCH(again_and_again),
        WITH_SCRATCH(from_a_periodic_checkpoint), WITH_SCRATCH(after_a_limit_of_steps),
        WITH_SCRATCH(with_two_threads),           WITH_SCRATCH(settings_come_from_the_checkpoint),
        WITH_SCRATCH(epochs_may_be_extended),     WITH_SCRATCH(another_training_is_refused),
    };
    return cmocka_run_group_tests_name("resume", tests, run_whole, free_whole);
}
