// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/random.h"
#include "base/setting_mark.h"
#include "engine/memory.h"
#include "stannis/log.h"
#include "tune/micro_batch.h"

// ---- data --------------------------------------------------------------------------------------

static enum stn_status check_same_data(const struct trainer *t)
{
    const struct checkpoint_meta *old = checkpoint_meta(t->resumed);
    const char *file = t->meta.settings->resume, *spec = t->meta.settings->data;
    if (t->meta.classes != old->classes || t->meta.channels != old->channels) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "data %s has %d classes and %d channels; %s was trained with %d and %d",
                        spec, t->meta.classes, t->meta.channels, file, old->classes, old->channels);
    }
    if (t->meta.train_samples != old->train_samples) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "data %s has %" PRId64
                                     " training samples; %s was trained with %" PRId64,
                        spec, t->meta.train_samples, file, old->train_samples);
    }
    return STN_OK;
}

static enum stn_status open_sets(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    struct stn_dataset_options options = settings_dataset(settings);
    char *class_list;
    enum stn_status status = crew_share_file(&t->nodes, settings->class_list, &class_list);
    if (!status && t->resumed) {
        options.class_names = checkpoint_class_names(t->resumed);
        options.class_count = checkpoint_meta(t->resumed)->classes;
        if (options.classes != 0 && options.classes != options.class_count) {
            status = stn_fail(STN_ERR_INVALID, BASE_SETTING "classes %d: %s was trained with %d",
                              options.classes, settings->resume, options.class_count);
        }
    }
    options.class_list = class_list;
    if (!status) {
        status = crew_sets_open(&t->nodes, &options, settings->fill, &t->sets);
    }
    free(class_list);
    return status;
}

static enum stn_status open_data(struct trainer *t)
{
    enum stn_status status = open_sets(t);
    if (status) {
        return status;
    }
    const struct stn_dataset_info *data = stn_dataset_info(t->sets.public_set);
    t->meta.train_samples = crew_sets_total(&t->sets, &t->nodes, STN_SUBSET_TRAIN);
    t->meta.channels = data->channels;
    t->meta.classes = data->classes;
    memcpy(t->meta.mean, data->mean, sizeof(data->mean));
    memcpy(t->meta.std, data->std, sizeof(data->std));
    if (t->resumed) {
        status = check_same_data(t);
    }
    if (!status) {
        status = checkpoint_class_list(data->class_names, data->classes, &t->class_list);
        t->meta.class_list = t->class_list;
    }
    return status;
}

// Where this node reads: the public set, and its private one in an order of its own.
static void name_sources(const struct trainer *t, enum stn_subset subset, bool shuffled,
                         struct data_source sources[DATA_SOURCES])
{
    uint64_t seed = t->meta.settings->seed;
    sources[DATA_PUBLIC] = (struct data_source){
        .dataset = t->sets.public_set,
        .sampler = {.seed = seed,
                    .count = (uint64_t)stn_dataset_info(t->sets.public_set)->count[subset],
                    .shuffled = shuffled}};
    if (t->sets.private_set) {
        sources[DATA_PRIVATE] = (struct data_source){
            .dataset = t->sets.private_set,
            .sampler = {.seed = base_key(seed, 1 + (uint64_t)t->nodes.rank),
                        .count = (uint64_t)stn_dataset_info(t->sets.private_set)->count[subset],
                        .shuffled = shuffled}};
    }
}

struct crew_feed_config trainer_feed_config(const struct trainer *t, enum stn_subset subset)
{
    const struct settings *settings = t->meta.settings;
    bool training = subset == STN_SUBSET_TRAIN;
    struct crew_feed_config feed = {
        .loader = {.subset = subset,
                   .augment = training ? (enum data_augment)settings->augment : DATA_AUGMENT_NONE,
                   .micro_batch = settings->micro_batch,
                   .threads = t->loader_threads,
                   .skip_bad = settings->skip_bad},
        .batch = settings->batch,
        .held = training ? nn_net_abreast(t->engine.net) : 1,
        .nodes = t->nodes.size,
        .rank = t->nodes.rank,
        .counts = t->sets.counts[subset],
        .split = t->splits.values,
        .split_count = t->splits.count,
    };
    name_sources(t, subset, training, feed.loader.sources);
    return feed;
}

static enum stn_status open_feeds(struct trainer *t)
{
    struct crew_feed_config feed = trainer_feed_config(t, STN_SUBSET_TRAIN);
    enum stn_status status = crew_feed_open(&feed, &t->feed);
    if (status || crew_sets_total(&t->sets, &t->nodes, STN_SUBSET_VAL) == 0) {
        return status;
    }
    feed = trainer_feed_config(t, STN_SUBSET_VAL);
    return crew_feed_open(&feed, &t->validation);
}

// ---- network and optimizer ---------------------------------------------------------------------

// A launcher that started several nodes here without binding them leaves each its part of the CPUs.
static int own_threads(const struct trainer *t)
{
    int asked =
        t->meta.settings->threads ? t->meta.settings->threads : crew_own(&t->nodes)->threads;
    int neighbours = comm_launch_detect().local_size;
    struct base_cpu_share cpu = base_cpu_share();
    if (asked > 0 || neighbours < 2 || cpu.quota > 0.0) {
        return asked;
    }
    int part = (int)sysconf(_SC_NPROCESSORS_ONLN) / neighbours;
    return part < 1 ? 1 : part < cpu.threads ? part : cpu.threads;
}

size_t trainer_state_bytes(const struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    bool exact = settings->exact && settings->wire == SETTINGS_FP32;
    return optim_rule_bytes(optim_rule_find("sgd")) + (exact ? ENGINE_EXACT_BYTES : 0);
}

static enum stn_status open_net(struct trainer *t, const struct stn_model_info *model)
{
    assert(model);
    const struct settings *settings = t->meta.settings;
    size_t memory = settings->memory ? settings->memory : crew_own(&t->nodes)->memory;
    const struct nn_net_config net = {
        .model = model,
        .shape = {.image_size = settings->image_size,
                  .channels = t->meta.channels,
                  .classes = t->meta.classes},
        .micro_batch = settings->micro_batch,
        .label_smoothing = (float)settings->label_smoothing,
    };
    enum stn_status status = engine_open(settings->backend, own_threads(t), trainer_state_bytes(t),
                                         memory, &net, &t->engine);
    if (status) {
        return status;
    }
    t->loader_threads = engine_loader_threads(settings->loader_threads, t->engine.threads);
    const struct optim_settings rule = {.momentum = (float)settings->momentum,
                                        .weight_decay = (float)settings->weight_decay,
                                        .nesterov = settings->nesterov};
    status = optim_create(optim_rule_find("sgd"), &rule, nn_net_parameter_count(t->engine.net),
                          &t->optim);
    return status ? status : trainer_set_weights(t);
}

enum stn_status trainer_set_weights(struct trainer *t)
{
    struct nn_net *net = t->engine.net;
    if (t->resumed) {
        return checkpoint_load(t->resumed, net, t->optim);
    }
    optim_clear(t->optim);
    nn_net_init(net, t->meta.settings->seed);
    return STN_OK;
}

// The same numbers everywhere to begin with: not every machine's libm rounds alike.
static enum stn_status spread_weights(struct trainer *t)
{
    struct nn_net *net = t->engine.net;
    if (t->nodes.size == 1) {
        return STN_OK;
    }
    enum stn_status status = comm_broadcast(t->nodes.comm, COMM_CONTROL, 0, nn_net_parameters(net),
                                            nn_net_parameter_count(net) * sizeof(float));
    nn_net_weights_changed(net);
    return status;
}

static enum optim_schedule_kind schedule_kind(enum settings_schedule schedule)
{
    switch (schedule) {
    case SETTINGS_CONSTANT: return OPTIM_CONSTANT;
    case SETTINGS_STEP: return OPTIM_STEP;
    case SETTINGS_COSINE: return OPTIM_COSINE;
    }
    return OPTIM_CONSTANT;
}

// The schedule spans the epochs. --steps only ends a run early, so that such a run can be resumed
// as if it had never ended.
static void plan_run(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    double samples = (double)t->meta.train_samples;
    t->schedule = (struct optim_schedule){
        .kind = schedule_kind(settings->schedule),
        .base = settings->lr,
        .total_samples = samples * settings->epochs,
        .warmup_samples = samples * settings->warmup_epochs,
        .step_samples = samples * settings->lr_step_epochs,
        .gamma = settings->lr_gamma,
    };
    t->meta.progress.batch = settings->batch;
    t->meta.progress.lr = settings->lr;
    trainer_count_steps(t);
}

void trainer_count_steps(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    const struct checkpoint_progress *progress = &t->meta.progress;
    int64_t batch = progress->batch, samples = t->meta.train_samples;
    int64_t epoch_steps = (samples + batch - 1) / batch;
    int64_t of_this_epoch = (progress->position + batch - 1) / batch;
    t->steps_total =
        progress->step + epoch_steps * (settings->epochs - progress->epoch) - of_this_epoch;
    if (settings->steps > 0 && settings->steps < t->steps_total) {
        t->steps_total = settings->steps;
    }
}

// ---- output ------------------------------------------------------------------------------------

static enum stn_status make_directories(const char *path)
{
    char part[4096];
    if (strlen(path) == 0 || strlen(path) >= sizeof(part)) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "out: not a usable directory name");
    }
    strcpy(part, path);
    for (char *c = part + 1;; c++) {
        if (*c != '/' && *c != '\0') {
            continue;
        }
        bool last = *c == '\0';
        *c = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return stn_fail(STN_ERR_IO, BASE_SETTING "out %s: cannot make %s: %s", path, part,
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
    const char *directory = t->meta.settings->out;
    if (!directory) {
        return STN_OK;
    }
    enum stn_status status = make_directories(directory);
    if (status) {
        return status;
    }
    struct stat info;
    if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "out %s: not a directory", directory);
    }
    if (asprintf(&t->last_path, "%s/last.safetensors", directory) < 0 ||
        asprintf(&t->best_path, "%s/best.safetensors", directory) < 0) {
        return stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "out %s: out of memory", directory);
    }
    return STN_OK;
}

static enum stn_status open_audit(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    const char *node = t->nodes.cluster.nodes[t->nodes.rank].name;
    return settings->audit
               ? crew_audit_open(settings->audit, node, settings->resume != NULL, &t->audit)
               : STN_OK;
}

bool trainer_polls_stop(const struct trainer *t)
{
    const struct stn_train_observer *observer = t->observer;
    return observer && observer->stop_requested && observer->stop_requested(observer->stop_context);
}

// ---- all of it ---------------------------------------------------------------------------------

// What needs no other node but to agree whether it went well.
static enum stn_status open_engine(struct trainer *t, const struct stn_model_info *model,
                                   struct settings *resolved)
{
    const struct stn_model_shape shape = {stn_dataset_info(t->sets.public_set)->image_size,
                                          t->meta.channels, t->meta.classes};
    enum stn_status status = crew_agree(&t->nodes, trainer_open_plan(t, resolved));
    if (!status) {
        status = tune_micro_batch_settle(resolved, shape, own_threads(t), &t->nodes);
    }
    if (!status) {
        status = trainer_resolve_sizes(t, model, resolved);
    }
    if (!status) {
        status = open_net(t, model);
    }
    return crew_agree(&t->nodes, status);
}

// Who computes what; from here on all is known. The tuner leaves weights as they come.
static enum stn_status open_split(struct trainer *t, struct settings *resolved)
{
    enum stn_status status = trainer_settle_split(t, resolved);
    if (!status) {
        plan_run(t);
        status = trainer_set_weights(t);
    }
    status = crew_agree(&t->nodes, status);
    return status ? status : spread_weights(t);
}

static enum stn_status open_all(struct trainer *t, const struct settings *wish,
                                struct settings *resolved)
{
    const struct stn_model_info *model = NULL;
    enum stn_status status = trainer_settle_wish(t, wish, resolved);
    if (!status) {
        status = engine_find_model(t->meta.settings->net, &model);
    }
    status = crew_agree(&t->nodes, status);
    if (!status) {
        status = crew_agree(&t->nodes, open_data(t));
    }
    if (!status) {
        status = open_engine(t, model, resolved);
    }
    if (!status) {
        status = trainer_check_identity(t);
    }
    if (!status) {
        status = trainer_open_exchange(t);
        if (!status && t->nodes.rank == 0) {
            status = open_output(t);
        }
        if (!status) {
            status = open_audit(t);
        }
        if (!status && !t->hooks) {
            status =
                rig_open(t->meta.settings->interfere, &t->nodes.cluster, t->nodes.rank, &t->rig);
            t->hooks = rig_hooks(t->rig);
        }
        status = crew_agree(&t->nodes, status);
    }
    if (!status) {
        status = open_split(t, resolved);
    }
    if (!status) {
        status = crew_agree(&t->nodes, open_feeds(t));
    }
    if (!status) {
        status = crew_agree(&t->nodes, trainer_open_adapt(t));
    }
    return status ? status : trainer_gather_nodes(t);
}

enum stn_status trainer_open(struct comm *comm, const struct settings *wish,
                             const struct stn_train_observer *observer,
                             const struct crew_hooks *hooks, struct settings *resolved,
                             struct trainer *out)
{
    *out = (struct trainer){.observer = observer, .hooks = hooks};
    enum stn_status status = crew_open(comm, wish, &out->nodes);
    return status ? status : open_all(out, wish, resolved);
}

void trainer_close(struct trainer *t)
{
    rig_close(t->rig);
    crew_audit_close(t->audit);
    free(t->best_path);
    free(t->last_path);
    crew_feed_close(&t->validation);
    crew_feed_close(&t->feed);
    crew_trade_destroy(t->trade);
    exchange_destroy(t->exchange);
    crew_adapt_destroy(t->adapt);
    crew_vitals_close(&t->vitals);
    free(t->all);
    stn_plan_destroy(t->plan);
    crew_splits_fini(&t->splits);
    crew_profile_fini(&t->profile);
    optim_destroy(t->optim);
    engine_close(&t->engine);
    crew_sets_close(&t->sets);
    free(t->class_list);
    checkpoint_close(t->resumed);
    crew_close(&t->nodes);
    *t = (struct trainer){0};
}

// ---- divergence --------------------------------------------------------------------------------

enum stn_status trainer_diverged(const struct trainer *t, const char *what, double value,
                                 int64_t step)
{
    const struct checkpoint_progress *progress = &t->meta.progress;
    if (t->nodes.rank > 0) {
        return STN_ERR_DIVERGED; // all nodes see it at once, and one says it
    }
    return stn_fail(STN_ERR_DIVERGED,
                    "%s became %s at step %" PRId64 " (epoch %d); try a lower " BASE_SETTING "lr%s",
                    what, isnan(value) ? "nan" : "infinite", step, progress->epoch + 1,
                    t->last_path ? "; the last checkpoint is intact" : "");
}

static enum stn_status check_array(const struct trainer *t, const float values[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return trainer_diverged(t, "a weight", (double)values[i], t->meta.progress.step);
        }
    }
    return STN_OK;
}

enum stn_status trainer_check_finite(struct trainer *t)
{
    struct nn_net *net = t->engine.net;
    size_t parameters = nn_net_parameter_count(net);
    enum stn_status status = check_array(t, nn_net_parameters(net), parameters);
    if (!status) {
        status = check_array(t, nn_net_buffers(net), nn_net_buffer_count(net));
    }
    for (int i = 0; i < optim_rule(t->optim)->does->states && !status; i++) {
        status = check_array(t, optim_state(t->optim, i), parameters);
    }
    return status;
}
