// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "stannis/log.h"
#include "train/config.h"
#include "train/micro_batch.h"

// ---- settings -----------------------------------------------------------------------------------

// The config with the checkpoint's settings merged in, if there is one.
static enum stn_status settle_config(struct trainer *t, const struct stn_train_config *config)
{
    t->meta.config = *config;
    if (config->resume && config->micro_batch == STN_MICRO_BATCH_AUTO) {
        t->meta.config.micro_batch = 0; // the one that the run began with
    }
    t->meta.progress.best_accuracy = -1.0;
    if (config->resume) {
        enum stn_status status = checkpoint_open(config->resume, &t->resumed);
        if (!status) {
            status = checkpoint_merge_config(t->resumed, &t->meta.config);
        }
        if (status) {
            return status;
        }
        t->meta.progress = checkpoint_meta(t->resumed)->progress;
    }
    return train_config_check(&t->meta.config);
}

// The fastest micro-batch here, where the user wants it measured.
static enum stn_status measure_micro_batch(struct trainer *t)
{
    struct stn_train_config *config = &t->meta.config;
    if (config->micro_batch != STN_MICRO_BATCH_AUTO) {
        return STN_OK;
    }
    const struct stn_dataset_info *data = stn_dataset_info(t->dataset);
    const struct stn_bench_config bench = {
        .net = config->net,
        .shape = {.image_size = data->image_size,
                  .channels = data->channels,
                  .classes = data->classes},
        .threads = config->threads,
        .backend = config->backend,
        .memory = config->memory,
        .steps = 1,
    };
    struct stn_micro_batch_trials trials;
    enum stn_status status = train_micro_batch_choose(&bench, config->batch, &trials);
    if (!status) {
        config->micro_batch = trials.at[trials.best].micro_batch;
        stn_log(STN_LOG_INFO, "micro-batches of %d are the fastest here (%.1f img/s)",
                config->micro_batch, trials.at[trials.best].images_per_second);
    }
    return status;
}

static void resolve_sizes(struct stn_train_config *config, const struct stn_model_info *model,
                          const struct stn_dataset_info *data)
{
    config->data.image_size = data->image_size;
    if (config->micro_batch == 0) {
        config->micro_batch =
            model->default_micro_batch < config->batch ? model->default_micro_batch : config->batch;
    }
}

// ---- data ---------------------------------------------------------------------------------------

static enum stn_status check_same_data(const struct trainer *t, const struct stn_dataset_info *data)
{
    const struct checkpoint_meta *old = checkpoint_meta(t->resumed);
    const char *file = t->meta.config.resume, *spec = t->meta.config.data.spec;
    if (data->classes != old->classes || data->channels != old->channels) {
        return stn_fail(STN_ERR_INVALID,
                        "--data %s has %d classes and %d channels; %s was trained with %d and %d",
                        spec, data->classes, data->channels, file, old->classes, old->channels);
    }
    if (data->count[STN_SPLIT_TRAIN] != old->train_samples) {
        return stn_fail(STN_ERR_INVALID,
                        "--data %s has %" PRId64 " training samples; %s was trained with %" PRId64,
                        spec, data->count[STN_SPLIT_TRAIN], file, old->train_samples);
    }
    return STN_OK;
}

static enum stn_status open_data(struct trainer *t)
{
    struct stn_dataset_options options = t->meta.config.data;
    if (t->resumed) {
        options.class_names = checkpoint_class_names(t->resumed);
        options.class_count = checkpoint_meta(t->resumed)->classes;
        if (options.classes != 0 && options.classes != options.class_count) {
            return stn_fail(STN_ERR_INVALID, "--classes %d: %s was trained with %d",
                            options.classes, t->meta.config.resume, options.class_count);
        }
    }
    enum stn_status status = stn_dataset_open(&options, &t->dataset);
    if (status) {
        return status;
    }
    const struct stn_dataset_info *data = stn_dataset_info(t->dataset);
    t->meta.train_samples = data->count[STN_SPLIT_TRAIN];
    t->meta.channels = data->channels;
    t->meta.classes = data->classes;
    memcpy(t->meta.mean, data->mean, sizeof(data->mean));
    memcpy(t->meta.std, data->std, sizeof(data->std));
    if (t->resumed) {
        status = check_same_data(t, data);
    }
    if (!status) {
        status = checkpoint_class_list(data->class_names, data->classes, &t->class_list);
        t->meta.class_list = t->class_list;
    }
    return status;
}

static enum stn_status open_feeds(struct trainer *t)
{
    const struct stn_train_config *config = &t->meta.config;
    const struct stn_dataset_info *data = stn_dataset_info(t->dataset);
    t->loader_threads = train_loader_threads(config->loader_threads, t->engine.threads);
    struct data_loader_config loader = {
        .split = STN_SPLIT_TRAIN,
        .sampler = {.seed = config->seed,
                    .count = (uint64_t)data->count[STN_SPLIT_TRAIN],
                    .shuffled = true},
        .augment = (enum data_augment)config->augment,
        .micro_batch = config->micro_batch,
        .threads = t->loader_threads,
        .skip_bad = config->skip_bad,
    };
    enum stn_status status = train_feed_open(t->dataset, &loader, config->batch, &t->feed);
    if (status || data->count[STN_SPLIT_VAL] == 0) {
        return status;
    }
    loader.split = STN_SPLIT_VAL;
    loader.sampler.count = (uint64_t)data->count[STN_SPLIT_VAL];
    loader.sampler.shuffled = false;
    loader.augment = DATA_AUGMENT_NONE;
    return train_feed_open(t->dataset, &loader, config->micro_batch, &t->validation);
}

// ---- network and optimizer ----------------------------------------------------------------------

static enum stn_status open_net(struct trainer *t, const struct stn_model_info *model)
{
    const struct stn_train_config *config = &t->meta.config;
    const struct nn_net_config net = {
        .model = model,
        .shape = {.image_size = config->data.image_size,
                  .channels = t->meta.channels,
                  .classes = t->meta.classes},
        .micro_batch = config->micro_batch,
        .label_smoothing = (float)config->label_smoothing,
    };
    enum stn_status status =
        train_engine_open(config->backend, config->threads, config->memory, &net, &t->engine);
    if (status) {
        return status;
    }
    t->momentum = base_pages_alloc(nn_net_parameter_count(t->engine.net) * sizeof(float));
    if (!t->momentum) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the optimizer's state of %s",
                        model->name);
    }
    if (t->resumed) {
        return checkpoint_load(t->resumed, t->engine.net, t->momentum);
    }
    nn_net_init(t->engine.net, config->seed);
    nn_net_weights_changed(t->engine.net);
    return STN_OK;
}

static enum optim_schedule_kind schedule_kind(enum stn_schedule schedule)
{
    switch (schedule) {
    case STN_SCHEDULE_CONSTANT: return OPTIM_CONSTANT;
    case STN_SCHEDULE_STEP: return OPTIM_STEP;
    case STN_SCHEDULE_COSINE: return OPTIM_COSINE;
    }
    return OPTIM_CONSTANT;
}

// The schedule spans the epochs. --steps only ends a run early, so that such a run can be resumed
// as if it had never ended.
static void plan_run(struct trainer *t)
{
    const struct stn_train_config *config = &t->meta.config;
    double samples = (double)t->meta.train_samples;
    t->schedule = (struct optim_schedule){
        .kind = schedule_kind(config->schedule),
        .base = config->lr,
        .total_samples = samples * config->epochs,
        .warmup_samples = samples * config->warmup_epochs,
        .step_samples = samples * config->lr_step_epochs,
        .gamma = config->lr_gamma,
    };
    t->sgd = (struct optim_sgd){.momentum = (float)config->momentum,
                                .weight_decay = (float)config->weight_decay,
                                .nesterov = config->nesterov};
    int64_t epoch_steps = (t->meta.train_samples + config->batch - 1) / config->batch;
    t->steps_total = epoch_steps * config->epochs;
    if (config->steps > 0 && config->steps < t->steps_total) {
        t->steps_total = config->steps;
    }
}

// ---- output -------------------------------------------------------------------------------------

static enum stn_status make_directories(const char *path)
{
    char part[4096];
    if (strlen(path) == 0 || strlen(path) >= sizeof(part)) {
        return stn_fail(STN_ERR_INVALID, "--out: not a usable directory name");
    }
    strcpy(part, path);
    for (char *c = part + 1;; c++) {
        if (*c != '/' && *c != '\0') {
            continue;
        }
        bool last = *c == '\0';
        *c = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return stn_fail(STN_ERR_IO, "--out %s: cannot make %s: %s", path, part,
                            strerror(errno));
        }
        if (last) {
            return STN_OK;
        }
        *c = '/';
    }
}

static enum stn_status open_output(struct trainer *t)
{
    const char *directory = t->meta.config.out_dir;
    if (!directory) {
        return STN_OK;
    }
    enum stn_status status = make_directories(directory);
    if (status) {
        return status;
    }
    struct stat info;
    if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return stn_fail(STN_ERR_INVALID, "--out %s: not a directory", directory);
    }
    if (asprintf(&t->last_path, "%s/last.safetensors", directory) < 0 ||
        asprintf(&t->best_path, "%s/best.safetensors", directory) < 0) {
        return stn_fail(STN_ERR_NO_MEMORY, "--out %s: out of memory", directory);
    }
    return STN_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

static enum stn_status open_all(struct trainer *t, const struct stn_train_config *config)
{
    const struct stn_model_info *model = NULL;
    enum stn_status status = settle_config(t, config);
    if (!status) {
        status = train_find_model(t->meta.config.net, &model);
    }
    if (!status) {
        status = open_data(t);
    }
    if (!status) {
        status = measure_micro_batch(t);
    }
    if (!status) {
        resolve_sizes(&t->meta.config, model, stn_dataset_info(t->dataset));
        plan_run(t);
        status = open_net(t, model);
    }
    if (!status) {
        status = open_feeds(t);
    }
    if (!status) {
        status = open_output(t);
    }
    return status;
}

enum stn_status trainer_open(const struct stn_train_config *config, struct trainer *out)
{
    *out = (struct trainer){0};
    enum stn_status status = open_all(out, config);
    if (status) {
        trainer_close(out);
    }
    return status;
}

void trainer_close(struct trainer *t)
{
    free(t->best_path);
    free(t->last_path);
    train_feed_close(&t->validation);
    train_feed_close(&t->feed);
    if (t->momentum) {
        base_pages_free(t->momentum, nn_net_parameter_count(t->engine.net) * sizeof(float));
    }
    train_engine_close(&t->engine);
    stn_dataset_close(t->dataset);
    free(t->class_list);
    checkpoint_close(t->resumed);
    *t = (struct trainer){0};
}

// ---- divergence ---------------------------------------------------------------------------------

enum stn_status trainer_diverged(const struct trainer *t, const char *what, double value,
                                 int64_t step)
{
    const struct train_progress *progress = &t->meta.progress;
    return stn_fail(STN_ERR_DIVERGED,
                    "%s became %s at step %" PRId64 " (epoch %d); try a lower --lr%s", what,
                    isnan(value) ? "nan" : "infinite", step, progress->epoch + 1,
                    t->last_path ? "; the last checkpoint is intact" : "");
}

enum stn_status trainer_check_finite(struct trainer *t)
{
    struct nn_net *net = t->engine.net;
    const struct {
        const float *values;
        size_t count;
    } arrays[] = {
        {nn_net_parameters(net), nn_net_parameter_count(net)},
        {nn_net_buffers(net), nn_net_buffer_count(net)},
        {t->momentum, nn_net_parameter_count(net)},
    };
    for (size_t a = 0; a < sizeof(arrays) / sizeof(arrays[0]); a++) {
        for (size_t i = 0; i < arrays[a].count; i++) {
            if (!isfinite(arrays[a].values[i])) {
                return trainer_diverged(t, "a weight", (double)arrays[a].values[i],
                                        t->meta.progress.step);
            }
        }
    }
    return STN_OK;
}
