// SPDX-License-Identifier: Apache-2.0
// Training speed on made-up images: whole steps (micro-batches, statistics, optimizer), no data
// path.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/setting_mark.h"
#include "bench/bench.h"
#include "bench/micro_batch.h"
#include "bench/peak.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "optim/optimizer.h"
#include "stannis/train.h"

struct bench {
    struct engine engine;
    struct optim *optim;
    int batch, micro_batch;
    size_t image_floats;
    float *images;   // [micro_batch][channels][size][size]
    int32_t *labels; // [micro_batch]
    uint64_t *keys;  // [micro_batch]
    double *seconds; // [steps]
};

static enum stn_status check(const struct bench_config *config)
{
    if (config->batch > 0 && config->micro_batch > config->batch) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "micro-batch %d: must be at most " BASE_SETTING "batch %d",
                        config->micro_batch, config->batch);
    }
    if (config->shape.channels != 1 && config->shape.channels != 3) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "channels %d: must be 1 or 3",
                        config->shape.channels);
    }
    return STN_OK;
}

static enum stn_status choose_sizes(struct bench *b, const struct bench_config *config,
                                    const struct stn_model_info *model)
{
    b->micro_batch = config->micro_batch > 0 ? config->micro_batch : model->default_micro_batch;
    b->batch = config->batch > 0 ? config->batch : 2 * b->micro_batch;
    if (b->micro_batch > b->batch) {
        b->micro_batch = b->batch;
    }
    if (b->batch % b->micro_batch != 0) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "batch %d: must be a multiple of the micro-batch, %d",
                        b->batch, b->micro_batch);
    }
    return STN_OK;
}

static enum stn_status allocate(struct bench *b, const struct stn_model_shape *shape, int steps)
{
    size_t rows = (size_t)b->micro_batch, size = (size_t)shape->image_size;
    b->image_floats = rows * (size_t)shape->channels * size * size;
    b->images = base_pages_alloc(b->image_floats * sizeof(float));
    b->labels = calloc(rows, sizeof(*b->labels));
    b->keys = calloc(rows, sizeof(*b->keys));
    b->seconds = calloc((size_t)steps, sizeof(*b->seconds));
    if (!b->images || !b->labels || !b->keys || !b->seconds) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a micro-batch of %d", b->micro_batch);
    }
    return STN_OK;
}

static void make_up_images(struct bench *b, int classes)
{
    struct base_random random = base_random_from(1);
    for (size_t i = 0; i < b->image_floats; i++) {
        b->images[i] = (float)(2.0 * base_random_unit(&random) - 1.0);
    }
    for (int n = 0; n < b->micro_batch; n++) {
        b->labels[n] = (int32_t)base_random_below(&random, (uint64_t)classes);
        b->keys[n] = base_random_u64(&random);
    }
}

static enum stn_status bench_open(struct bench *b, const struct bench_config *config)
{
    const struct stn_model_info *model = NULL;
    enum stn_status status = check(config);
    if (!status) {
        status = engine_find_model(config->net, &model);
    }
    if (!status) {
        status = choose_sizes(b, config, model);
    }
    if (status) {
        return status;
    }
    struct nn_net_config net = {
        .model = model, .shape = config->shape, .micro_batch = b->micro_batch};
    if (net.shape.image_size == 0) {
        net.shape.image_size = model->default_image_size;
    }
    const struct optim_rule *rule = &optim_rules[config->optimizer];
    const struct optim_settings settings = {
        .momentum = 0.9f, .weight_decay = 1e-4f, .beta2 = 0.999f, .epsilon = 1e-8f};
    status = engine_open(config->backend, config->threads, optim_rule_bytes(rule), config->memory,
                         &net, &b->engine);
    if (!status) {
        status = optim_create(rule, &settings, nn_net_parameter_count(b->engine.net), &b->optim);
    }
    if (!status) {
        status = allocate(b, &net.shape, config->steps);
    }
    if (!status) {
        nn_net_init(b->engine.net, 1);
        make_up_images(b, net.shape.classes);
    }
    return status;
}

static void bench_close(struct bench *b)
{
    free(b->seconds);
    free(b->keys);
    free(b->labels);
    base_pages_free(b->images, b->image_floats * sizeof(float));
    optim_destroy(b->optim);
    engine_close(&b->engine);
}

// The next one of `left` micro-batches, or as many as the net likes to have abreast.
static enum stn_status bench_some(struct bench *b, int left, int *count,
                                  struct kernel_loss_totals *totals)
{
    struct nn_net *net = b->engine.net;
    struct nn_micro_batch batches[NN_ABREAST_MAX];
    *count = left >= nn_net_abreast(net) ? nn_net_abreast(net) : 1;
    if (*count == 1) {
        return nn_net_train(net, b->images, b->labels, b->keys, b->micro_batch, totals);
    }
    for (int i = 0; i < *count; i++) {
        batches[i] = (struct nn_micro_batch){b->images, b->labels, b->keys, b->micro_batch};
    }
    return nn_net_train_abreast(net, batches, totals);
}

static enum stn_status bench_step(struct bench *b)
{
    struct nn_net *net = b->engine.net;
    struct kernel_loss_totals totals = {0};
    nn_net_begin_step(net);
    for (int done = 0, count; done < b->batch; done += count * b->micro_batch) {
        enum stn_status status = bench_some(b, (b->batch - done) / b->micro_batch, &count, &totals);
        if (status) {
            return status;
        }
    }
    nn_net_merge_statistics(net, b->batch, 0.1);
    engine_descend(&b->engine, b->optim, 1, 1e-3, b->batch);
    engine_flip(&b->engine, b->optim);
    return STN_OK;
}

static enum stn_status bench_time(struct bench *b, const struct bench_config *config)
{
    for (int i = -config->warmup_steps; i < config->steps; i++) {
        if (i == 0 && config->profile) {
            enum stn_status status = nn_net_profile_start(b->engine.net);
            if (status) {
                return status;
            }
        }
        double begin = base_clock_seconds();
        enum stn_status status = bench_step(b);
        if (status) {
            return status;
        }
        if (i >= 0) {
            b->seconds[i] = base_clock_seconds() - begin;
        }
    }
    return STN_OK;
}

static int compare_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The kernel's own text goes with the kernel; a process has one kernel version, so one place is
// enough.
static const char *keep_version(const struct kernel *kernel)
{
    static char version[128];
    snprintf(version, sizeof(version), "%s", kernel_version(kernel));
    return version;
}

static void summarise(struct bench *b, int steps, struct stn_bench_result *out)
{
    struct stn_model_cost cost = nn_net_cost(b->engine.net);
    qsort(b->seconds, (size_t)steps, sizeof(*b->seconds), compare_seconds);
    double median = 0.5 * (b->seconds[(steps - 1) / 2] + b->seconds[steps / 2]);
    *out = (struct stn_bench_result){
        .backend_version = keep_version(b->engine.kernel),
        .batch = b->batch,
        .micro_batch = b->micro_batch,
        .threads = b->engine.threads,
        .steps = steps,
        .images_per_second = b->batch / median,
        .images_per_second_best = b->batch / b->seconds[0],
        .gflops = 3.0 * 2.0 * (double)cost.macs * b->batch / median * 1e-9,
        .peak_gflops = bench_peak_gflops(b->engine.threads),
        .peak_memory = base_memory_peak(),
        .parameters = cost.parameters,
        .macs = cost.macs,
    };
}

// Micro-batches for a while: a quota gives and takes a node its CPUs by periods of some hundredths
// of a second.
static enum stn_status bench_window(struct bench *b, double *images_per_second)
{
    const double window_s = 0.15;
    struct kernel_loss_totals totals = {0};
    double begin = base_clock_seconds(), seconds = 0.0;
    int done = 0;
    do {
        int count;
        nn_net_begin_step(b->engine.net);
        enum stn_status status = bench_some(b, b->batch / b->micro_batch, &count, &totals);
        if (status) {
            return status;
        }
        done += count;
        seconds = base_clock_seconds() - begin;
    } while (seconds < window_s);
    *images_per_second = done * b->micro_batch / seconds;
    return STN_OK;
}

enum stn_status bench_micro_batches(const struct bench_config *config, double *images_per_second)
{
    enum { WARM_UP = 1, TIMED = 2 };
    struct bench b = {0};
    double best = 0.0;
    enum stn_status status = bench_open(&b, config);
    for (int i = 0; i < WARM_UP + TIMED && !status; i++) {
        double speed = 0.0;
        status = bench_window(&b, &speed);
        best = i >= WARM_UP ? fmax(best, speed) : best;
    }
    *images_per_second = best;
    bench_close(&b);
    return status;
}

static enum stn_status measure(const struct bench_config *config, struct stn_bench_result *out)
{
    struct bench b = {0};
    enum stn_status status = bench_open(&b, config);
    if (!status) {
        status = bench_time(&b, config);
    }
    if (!status && config->profile) {
        status = nn_net_profile_take(b.engine.net, config->profile);
    }
    if (!status) {
        summarise(&b, config->steps, out);
    }
    bench_close(&b);
    return status;
}

static struct bench_config config_of(const struct settings *s, struct stn_profile *profile)
{
    return (struct bench_config){
        .net = s->net,
        .shape = {.image_size = s->image_size, .channels = s->channels, .classes = s->classes},
        .batch = s->batch,
        .micro_batch = s->micro_batch,
        .threads = s->threads,
        .steps = (int)s->steps,
        .warmup_steps = s->warmup_steps,
        .backend = s->backend,
        .optimizer = s->optimizer,
        .memory = s->memory,
        .profile = profile,
    };
}

enum stn_status bench_run(const struct settings *settings, struct stn_profile *profile,
                          struct stn_bench_result *out)
{
    struct bench_config config = config_of(settings, profile);
    struct stn_micro_batch_trials trials = {0};
    enum stn_status status = settings_check(STN_VERB_BENCH, settings);
    if (!status) {
        status = check(&config);
    }
    if (!status && config.micro_batch == SETTINGS_AUTO) {
        status = bench_micro_batch_choose(&config, config.batch, &trials);
        config.micro_batch = trials.at[trials.best].micro_batch;
    }
    if (!status) {
        status = measure(&config, out);
    }
    out->trials = trials;
    return status;
}
