// SPDX-License-Identifier: Apache-2.0
#include "trainer/data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/setting_mark.h"
#include "engine/engine.h"

// ---- sets --------------------------------------------------------------------------------------

static enum stn_status check_same_data(const struct checkpoint *resumed,
                                       const struct checkpoint_meta *meta)
{
    const struct checkpoint_meta *old = checkpoint_meta(resumed);
    const char *file = meta->settings->resume, *spec = meta->settings->data;
    if (meta->classes != old->classes || meta->channels != old->channels) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "data %s has %d classes and %d channels; %s was trained with %d and %d",
                        spec, meta->classes, meta->channels, file, old->classes, old->channels);
    }
    if (meta->train_samples != old->train_samples) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "data %s has %" PRId64
                                     " training samples; %s was trained with %" PRId64,
                        spec, meta->train_samples, file, old->train_samples);
    }
    return STN_OK;
}

static enum stn_status open_sets(struct crew *nodes, const struct checkpoint *resumed,
                                 const struct settings *settings, struct trainer_data *data)
{
    struct stn_dataset_options options = settings_dataset(settings);
    char *class_list;
    enum stn_status status = crew_share_file(nodes, settings->class_list, &class_list);
    if (!status && resumed) {
        options.class_names = checkpoint_class_names(resumed);
        options.class_count = checkpoint_meta(resumed)->classes;
        if (options.classes != 0 && options.classes != options.class_count) {
            status = stn_fail(STN_ERR_INVALID, BASE_SETTING "classes %d: %s was trained with %d",
                              options.classes, settings->resume, options.class_count);
        }
    }
    options.class_list = class_list;
    if (!status) {
        status = crew_sets_open(nodes, &options, settings->fill, &data->sets);
    }
    free(class_list);
    return status;
}

enum stn_status trainer_data_open(struct crew *nodes, const struct checkpoint *resumed,
                                  struct checkpoint_meta *meta, struct trainer_data *out)
{
    *out = (struct trainer_data){0};
    enum stn_status status = open_sets(nodes, resumed, meta->settings, out);
    if (status) {
        return status;
    }
    const struct stn_dataset_info *info = stn_dataset_info(out->sets.public_set);
    meta->train_samples = crew_sets_total(&out->sets, nodes, STN_SUBSET_TRAIN);
    meta->channels = info->channels;
    meta->classes = info->classes;
    memcpy(meta->mean, info->mean, sizeof(info->mean));
    memcpy(meta->std, info->std, sizeof(info->std));
    if (resumed) {
        status = check_same_data(resumed, meta);
    }
    if (!status) {
        status = checkpoint_class_list(info->class_names, info->classes, &out->class_list);
        meta->class_list = out->class_list;
    }
    return status;
}

void trainer_data_close(struct trainer_data *data)
{
    crew_feed_close(&data->validation);
    crew_feed_close(&data->train);
    crew_sets_close(&data->sets);
    free(data->class_list);
    *data = (struct trainer_data){0};
}

// ---- feeds -------------------------------------------------------------------------------------

// Where this node reads: the public set, and its private one in an order of its own.
static void name_sources(const struct trainer_data *data, const struct trainer_reading *reading,
                         enum stn_subset subset, bool shuffled,
                         struct data_source sources[DATA_SOURCES])
{
    uint64_t seed = reading->settings->seed;
    sources[DATA_PUBLIC] = (struct data_source){
        .dataset = data->sets.public_set,
        .sampler = {.seed = seed,
                    .count = (uint64_t)stn_dataset_info(data->sets.public_set)->count[subset],
                    .shuffled = shuffled}};
    if (data->sets.private_set) {
        sources[DATA_PRIVATE] = (struct data_source){
            .dataset = data->sets.private_set,
            .sampler = {.seed = base_key(seed, 1 + (uint64_t)reading->nodes->rank),
                        .count = (uint64_t)stn_dataset_info(data->sets.private_set)->count[subset],
                        .shuffled = shuffled}};
    }
}

struct crew_feed_config trainer_data_feed(const struct trainer_data *data,
                                          const struct trainer_reading *reading,
                                          enum stn_subset subset)
{
    const struct settings *settings = reading->settings;
    bool training = subset == STN_SUBSET_TRAIN;
    struct crew_feed_config feed = {
        .loader = {.subset = subset,
                   .augment = training ? (enum data_augment)settings->augment : DATA_AUGMENT_NONE,
                   .micro_batch = settings->micro_batch,
                   .threads = engine_loader_threads(settings->loader_threads, reading->threads),
                   .skip_bad = settings->skip_bad},
        .batch = settings->batch,
        .held = training ? reading->abreast : 1,
        .nodes = reading->nodes->size,
        .rank = reading->nodes->rank,
        .counts = data->sets.counts[subset],
        .split = reading->splits->values,
        .split_count = reading->splits->count,
    };
    name_sources(data, reading, subset, training, feed.loader.sources);
    return feed;
}

enum stn_status trainer_data_read(struct trainer_data *data, const struct trainer_reading *reading)
{
    struct crew_feed_config feed = trainer_data_feed(data, reading, STN_SUBSET_TRAIN);
    data->loader_threads = feed.loader.threads;
    enum stn_status status = crew_feed_open(&feed, &data->train);
    if (status || crew_sets_total(&data->sets, reading->nodes, STN_SUBSET_VAL) == 0) {
        return status;
    }
    feed = trainer_data_feed(data, reading, STN_SUBSET_VAL);
    return crew_feed_open(&feed, &data->validation);
}

int64_t trainer_data_skipped(const struct trainer_data *data)
{
    const struct data_loader *loaders[] = {data->train.loader, data->validation.loader};
    int64_t skipped = 0;
    for (int i = 0; i < 2; i++) {
        skipped += loaders[i] ? data_loader_stats(loaders[i]).skipped : 0;
    }
    return skipped;
}
