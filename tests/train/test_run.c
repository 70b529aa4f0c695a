// SPDX-License-Identifier: Apache-2.0
// Whole trainings, seen from outside: what the observer hears, what is on the disk, what goes wrong
// and how.
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "session.h"
#include "small_call.h"
#include "small_run.h"
#include "support.h"

struct heard {
    int starts, epochs, best_saved, last_saved;
    int64_t steps, images, eval_done, eval_total;
    struct stn_train_start start;
    struct stn_train_epoch epoch;
    double lr_first, lr_last;
};

static void hear_start(void *context, const struct stn_train_start *start)
{
    struct heard *heard = context;
    heard->starts++;
    heard->start = *start;
}

static void hear_step(void *context, const struct stn_train_step *step)
{
    struct heard *heard = context;
    heard->steps++;
    assert_int_equal(step->step, heard->start.first_step + heard->steps);
    assert_int_equal(step->epoch, heard->epochs + 1);
    assert_int_equal(step->images, step->step % 7 == 0 ? 200 - 6 * 32 : 32);
    assert_int_equal(step->epoch_samples, 200);
    assert_true(isfinite(step->loss) && step->seconds > 0.0 && step->images_per_second > 0.0);
    assert_true(step->accuracy >= 0.0 && step->accuracy <= 1.0 && step->eta_seconds >= 0.0);
    heard->images += step->images;
    heard->lr_first = heard->steps == 1 ? step->lr : heard->lr_first;
    heard->lr_last = step->lr;
}

static void hear_epoch(void *context, const struct stn_train_epoch *epoch)
{
    struct heard *heard = context;
    heard->epochs++;
    heard->epoch = *epoch;
}

static void hear_eval(void *context, int64_t done, int64_t total)
{
    struct heard *heard = context;
    heard->eval_done = done;
    heard->eval_total = total;
}

static void hear_saved(void *context, const char *path)
{
    struct heard *heard = context;
    assert_true(file_exists(path));
    heard->best_saved += strstr(path, "best.safetensors") != NULL;
    heard->last_saved += strstr(path, "last.safetensors") != NULL;
}

static struct stn_train_observer hear(struct heard *heard)
{
    *heard = (struct heard){0};
    return (struct stn_train_observer){.context = heard,
                                       .start = hear_start,
                                       .step = hear_step,
                                       .epoch = hear_epoch,
                                       .eval = hear_eval,
                                       .saved = hear_saved};
}

static void trains_and_tells(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct heard heard;
    struct stn_train_observer observer = hear(&heard);
    struct stn_train_result result;
    config.epochs = 6;
    assert_int_equal(small_train(&config, &observer, &result), STN_OK);
    assert_int_equal(heard.starts, 1);
    assert_int_equal(heard.start.steps_total, 42);
    assert_int_equal(heard.start.micro_batch, 12);
    assert_true(heard.start.planned_bytes > (size_t)heard.start.parameters * 3 * sizeof(float));
    assert_int_equal(heard.steps, 42);
    assert_int_equal(heard.images, 1200);
    assert_int_equal(heard.epochs, 6);
    assert_int_equal(heard.last_saved, 6);
    assert_true(heard.best_saved >= 1);
    assert_true(heard.eval_total > 0 && heard.eval_done == heard.eval_total);
    assert_true(heard.lr_first < 0.01 && heard.lr_last < 0.001);
    assert_int_equal(result.steps, 42);
    assert_int_equal(result.images, 1200);
    assert_true(result.accuracy == heard.epoch.val_accuracy &&
                result.loss == heard.epoch.train_loss);
    assert_true(result.best_accuracy >= 0.5); // chance is 0.25
    assert_int_equal(directory_entries(scratch), 2);
}

static void evaluation_agrees(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct heard heard;
    struct stn_train_observer observer = hear(&heard);
    struct stn_train_result trained;
    assert_int_equal(small_train(&config, &observer, &trained), STN_OK);
    struct settings eval = settings_defaults(STN_VERB_EVAL);
    eval.checkpoint = in(scratch, "last.safetensors");
    eval.threads = 1;
    struct stn_eval_result result;
    assert_int_equal(small_eval(&eval, &observer, &result), STN_OK);
    assert_int_equal(result.images, heard.eval_total);
    assert_true(result.accuracy == heard.epoch.val_accuracy);
    assert_true(fabs(result.loss - heard.epoch.val_loss) < 1e-5);
    eval.subset = STN_SUBSET_TRAIN;
    eval.micro_batch = 7;
    assert_int_equal(small_eval(&eval, NULL, &result), STN_OK);
    assert_int_equal(result.images, 200);
    eval.data = "synthetic:60";
    assert_int_equal(small_eval(&eval, NULL, &result), STN_OK);
    assert_int_equal(result.images, 60);
}

static void write_png(const char *path)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = 40, .height = 32, .format = PNG_FORMAT_RGB};
    static unsigned char pixels[32 * 40 * 3];
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = (unsigned char)(i * 7);
    }
    assert_true(png_image_write_to_file(&image, path, 0, pixels, 0, NULL));
}

static enum stn_status open_predictor(const char *checkpoint, struct stn_predictor **out)
{
    struct stn_settings settings = {.verb = STN_VERB_PREDICT,
                                    .values = settings_defaults(STN_VERB_PREDICT)};
    settings.values.checkpoint = checkpoint;
    settings.values.threads = 1;
    return stn_predictor_open(test_session(), &settings, out);
}

static void predicts(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct stn_train_result trained;
    config.epochs = 1;
    assert_int_equal(small_train(&config, NULL, &trained), STN_OK);
    const char *picture = in(scratch, "picture.png");
    write_png(picture);
    struct stn_predictor *predictor;
    assert_int_equal(open_predictor(in(scratch, "best.safetensors"), &predictor), STN_OK);
    struct stn_prediction top[10];
    int count;
    assert_int_equal(stn_predictor_classify(predictor, picture, 10, top, &count), STN_OK);
    assert_int_equal(count, 4);
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        assert_true(i == 0 || top[i].probability <= top[i - 1].probability);
        assert_non_null(top[i].class_name);
        sum += top[i].probability;
    }
    assert_true(fabs(sum - 1.0) < 1e-9);
    assert_int_equal(stn_predictor_classify(predictor, picture, 1, top, &count), STN_OK);
    assert_int_equal(count, 1);
    errors_reset();
    assert_int_not_equal(stn_predictor_classify(predictor, "/nonexistent.png", 1, top, &count),
                         STN_OK);
    assert_int_equal(errors_count(), 1);
    assert_int_equal(stn_predictor_classify(predictor, picture, 0, top, &count), STN_ERR_INVALID);
    stn_predictor_close(predictor);
}

static void diverge(struct settings config, const char *what)
{
    struct stn_train_result result;
    struct bytes before = file_load(config.resume);
    errors_reset();
    assert_int_equal(small_train(&config, NULL, &result), STN_ERR_DIVERGED);
    assert_int_equal(errors_count(), 1);
    assert_int_equal(strncmp(errors_last(), what, strlen(what)), 0);
    assert_non_null(strstr(errors_last(), "try a lower lr; the last checkpoint is intact"));
    struct bytes after = file_load(config.resume);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    assert_int_equal(directory_entries(scratch), 2);
    free(before.data);
    free(after.data);
}

static void divergence_keeps_the_last_checkpoint(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct stn_train_result result;
    config.epochs = 1;
    assert_int_equal(small_train(&config, NULL, &result), STN_OK);
    config.resume = in(scratch, "last.safetensors");
    config.epochs = 4;
    config.lr = 1e30;
    diverge(config, "loss became ");
    // The step's loss was still a number, but what it left would be saved at once.
    config.lr = 1e300;
    config.checkpoint_steps = 1;
    diverge(config, "a weight became ");
}

static void a_damaged_checkpoint_stops_everything(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct stn_train_result result;
    config.steps = 1;
    assert_int_equal(small_train(&config, NULL, &result), STN_OK);
    const char *last = in(scratch, "last.safetensors");
    struct bytes b = file_load(last);
    b.data[b.size / 2] ^= 0x10;
    file_store(last, b.data, b.size);
    config.resume = last;
    assert_int_equal(small_train(&config, NULL, &result), STN_ERR_CORRUPT);
    struct settings eval = settings_defaults(STN_VERB_EVAL);
    eval.checkpoint = last;
    struct stn_eval_result evaluated;
    assert_int_equal(small_eval(&eval, NULL, &evaluated), STN_ERR_CORRUPT);
    struct stn_predictor *predictor;
    assert_int_equal(open_predictor(last, &predictor), STN_ERR_CORRUPT);
    assert_null(predictor);
    free(b.data);
}

static bool stop_now(void *context)
{
    (void)context;
    return true;
}

// The stop comes while evaluating: the epoch's evaluation is done by the resumed run, exactly once.
static bool stop_when_evaluating(void *context)
{
    const struct heard *heard = context;
    return heard->eval_done > 0;
}

static void evaluation_can_be_interrupted(void **state)
{
    (void)state;
    struct settings config = small_settings(scratch);
    struct heard heard;
    struct stn_train_observer observer = hear(&heard);
    struct stn_train_result result;
    config.epochs = 1;
    observer.stop_requested = stop_when_evaluating;
    observer.stop_context = &heard;
    assert_int_equal(small_train(&config, &observer, &result), STN_ERR_INTERRUPTED);
    assert_int_equal(heard.epochs, 0);
    assert_int_equal(result.steps, 7);
    config.resume = in(scratch, "last.safetensors");
    observer = hear(&heard);
    assert_int_equal(small_train(&config, &observer, &result), STN_OK);
    assert_int_equal(heard.epochs, 1);
    assert_int_equal(result.steps, 0);
}

static void works_without_output(void **state)
{
    (void)state;
    struct settings config = small_settings(NULL);
    struct stn_train_result result;
    const struct stn_train_observer observer = {.stop_requested = stop_now};
    assert_int_equal(small_train(&config, &observer, &result), STN_ERR_INTERRUPTED);
    assert_int_equal(result.steps, 1);
    assert_int_equal(result.images, 32);
}

static void expect_invalid(struct settings config, const char *line)
{
    struct stn_train_result result;
    errors_reset();
    assert_int_equal(small_train(&config, NULL, &result), STN_ERR_INVALID);
    assert_int_equal(errors_count(), 1);
    if (!strstr(errors_last(), line)) {
        print_error("\"%s\" does not say \"%s\"\n", errors_last(), line);
        fail();
    }
}

static void bad_settings_name_their_flag(void **state)
{
    (void)state;
    const struct settings good = small_settings(NULL);
#define EXPECT(field, value, line)                                                                 \
    do {                                                                                           \
        struct settings bad = good;                                                                \
        bad.field = value;                                                                         \
        expect_invalid(bad, line);                                                                 \
    } while (0)
    EXPECT(batch, -5, "batch -5: must be between 1 and 1000000");
    EXPECT(epochs, 0, "epochs 0: must be between 1 and 1000000");
    EXPECT(steps, -1, "steps -1: must be at least 0");
    EXPECT(micro_batch, 33, "micro-batch 33: must be at most 32");
    EXPECT(threads, -2, "threads -2");
    EXPECT(loader_threads, -2, "loader-threads -2");
    EXPECT(checkpoint_steps, -1, "checkpoint-steps -1");
    EXPECT(momentum, (double)NAN, "momentum: not a number");
    EXPECT(lr, -0.1, "lr -0.1: must be at least 0");
    EXPECT(lr, (double)INFINITY, "lr: not a number");
    EXPECT(momentum, 1.0, "momentum 1: must be at least 0 and below 1");
    EXPECT(weight_decay, -1.0, "weight-decay -1");
    EXPECT(warmup_epochs, -1.0, "warmup-epochs -1");
    EXPECT(label_smoothing, 1.0, "label-smoothing 1");
    EXPECT(net, "lenett", "did you mean lenet");
    EXPECT(net, "zzzzzzzzzzzz", "there are lenet");
    EXPECT(net, NULL, "net");
    EXPECT(data, NULL, "data");
    EXPECT(image_size, 20, "20");
#undef EXPECT
    struct settings bad = good;
    bad.nesterov = true;
    bad.momentum = 0.0;
    expect_invalid(bad, "nesterov");
    bad.momentum = 0.9;
    bad.optimizer = SETTINGS_OPTIMIZER_adamw;
    expect_invalid(bad, "nesterov: is of optimizer sgd");
    bad = good;
    bad.schedule = SETTINGS_STEP;
    bad.lr_step_epochs = 0.0;
    expect_invalid(bad, "lr-step-epochs");
    bad = good;
    file_store(in(scratch, "file"), "x", 1);
    bad.out = in(scratch, "file");
    expect_invalid(bad, "not a directory");
}

static void benches(void **state)
{
    (void)state;
    struct stn_settings bench = {.verb = STN_VERB_BENCH,
                                 .values = settings_defaults(STN_VERB_BENCH)};
    struct settings *settings = &bench.values;
    settings->net = "lenet";
    settings->image_size = 28;
    settings->channels = 1;
    settings->classes = 10;
    settings->batch = 8;
    settings->micro_batch = 4;
    settings->threads = 1;
    settings->steps = 3;
    settings->warmup_steps = 1;
    struct stn_bench_result result;
    assert_int_equal(stn_bench_run(test_session(), &bench, NULL, &result), STN_OK);
    assert_int_equal(result.batch, 8);
    assert_int_equal(result.steps, 3);
    assert_true(result.images_per_second > 0.0);
    assert_true(result.images_per_second_best >= result.images_per_second);
    assert_true(result.gflops > 0.0 && result.peak_gflops > 0.0 && result.macs > 0);
    assert_true(strlen(result.backend_version) > 0);
    settings->batch = 6;
    assert_int_equal(stn_bench_run(test_session(), &bench, NULL, &result), STN_ERR_INVALID);
    settings->batch = 8;
    settings->steps = 0;
    assert_int_equal(stn_bench_run(test_session(), &bench, NULL, &result), STN_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(trains_and_tells),
        WITH_SCRATCH(evaluation_agrees),
        WITH_SCRATCH(predicts),
        WITH_SCRATCH(divergence_keeps_the_last_checkpoint),
        WITH_SCRATCH(a_damaged_checkpoint_stops_everything),
        WITH_SCRATCH(evaluation_can_be_interrupted),
        WITH_SCRATCH(works_without_output),
        WITH_SCRATCH(bad_settings_name_their_flag),
        WITH_SCRATCH(benches),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
