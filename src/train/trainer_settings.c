// SPDX-License-Identifier: Apache-2.0
// What a trainer's settings become: a checkpoint, a plan and a split say what the user left open.
#include <stdlib.h>
#include <unistd.h>

#include "stannis/log.h"
#include "train/config.h"
#include "train/trainer.h"

enum stn_status trainer_settle_config(struct trainer *t, const struct stn_train_config *config)
{
    t->meta.config = *config;
    if (config->resume && config->micro_batch == STN_MICRO_BATCH_AUTO) {
        t->meta.config.micro_batch = 0; // the one that the run began with
    }
    if (config->resume && config->batch == STN_BATCH_AUTO) {
        t->meta.config.batch = stn_train_defaults().batch; // the same
    }
    t->meta.progress.best_accuracy = -1.0;
    char *path;
    enum stn_status status = crew_share_file(&t->nodes, config->resume, &path);
    if (status) {
        return status;
    }
    if (path) {
        status = checkpoint_open(path, &t->resumed);
        if (!status) {
            status = checkpoint_merge_config(t->resumed, &t->meta.config);
        }
        if (!status) {
            t->meta.progress = checkpoint_meta(t->resumed)->progress;
        }
        free(path);
    }
    return status ? status : train_config_check(&t->meta.config);
}

struct tune_subject trainer_subject(const struct trainer *t)
{
    return (struct tune_subject){
        .config = &t->meta.config,
        .cluster = &t->nodes.cluster,
        .channels = t->meta.channels,
        .classes = t->meta.classes,
        .counts = t->sets.counts[STN_SUBSET_TRAIN],
        .samples = t->meta.train_samples,
    };
}

// Node 0 looks.
static enum stn_status plan_is_there(struct trainer *t, bool *there)
{
    const struct stn_train_config *config = &t->meta.config;
    struct wire_answer found = {.yes = config->plan &&
                                       (!config->plan_optional || access(config->plan, F_OK) == 0)};
    enum stn_status status = comm_broadcast_message(t->nodes.comm, 0, WIRE_ANSWER, &found);
    *there = found.yes;
    return status;
}

// Where it may be left out, a plan that does not fit is forgotten.
static enum stn_status check_plan(struct trainer *t)
{
    const struct stn_train_config *config = &t->meta.config;
    const struct tune_subject subject = trainer_subject(t);
    char why[160];
    if (!config->plan_optional) {
        return tune_plan_check(t->plan, &subject, config->plan);
    }
    if (!tune_plan_fits(t->plan, &subject, why, sizeof(why))) {
        if (t->nodes.rank == 0) {
            stn_log(STN_LOG_INFO, "%s: %s; measuring anew", config->plan, why);
        }
        stn_plan_destroy(t->plan);
        t->plan = NULL;
    }
    return STN_OK;
}

enum stn_status trainer_open_plan(struct trainer *t)
{
    struct stn_train_config *config = &t->meta.config;
    config->data.image_size = stn_dataset_info(t->sets.public_set)->image_size;
    bool there;
    char *path = NULL;
    enum stn_status status = plan_is_there(t, &there);
    if (status || !there) {
        return status;
    }
    status = crew_share_file(&t->nodes, config->plan, &path);
    if (!status) {
        status = stn_plan_read(path, &t->plan);
    }
    free(path);
    if (!status) {
        status = check_plan(t);
    }
    if (status || !t->plan) {
        return status;
    }
    config->micro_batch = stn_plan_info(t->plan)->micro_batch;
    config->batch = config->batch ? config->batch : stn_plan_info(t->plan)->batch;
    if (config->policy == STN_POLICY_DEFAULT) {
        config->policy = stn_plan_info(t->plan)->policy;
    }
    return STN_OK;
}

// The network's default. Several nodes want some micro-batches each, to be dealt out in proportion:
// with BatchNorm their size is part of what is learned and stays, without they may be smaller.
static int usual_micro_batch(const struct stn_model_info *model, int batch, int nodes)
{
    enum { EACH_LEAST = 4, SMALLEST = 8, SMALL = 16 };
    int size = model->default_micro_batch;
    if (batch > 0 && batch < size) {
        size = batch;
    }
    if (nodes == 1 || model->has_batchnorm) {
        return size;
    }
    if (batch <= 0) {
        return size < SMALL ? size : SMALL;
    }
    while (size / 2 >= SMALLEST && batch / size < EACH_LEAST * nodes) {
        size /= 2;
    }
    return size;
}

enum stn_status trainer_resolve_sizes(struct trainer *t, const struct stn_model_info *model)
{
    struct stn_train_config *config = &t->meta.config;
    if (config->batch == 0 && !config->split) {
        config->batch = STN_BATCH_USUAL;
    }
    if (config->micro_batch == 0) {
        config->micro_batch = usual_micro_batch(model, config->batch, t->nodes.size);
    }
    if (config->policy == STN_POLICY_DEFAULT) {
        config->policy = STN_POLICY_BALANCED;
    }
    if (!config->split) {
        return STN_OK;
    }
    int micro_batches = (config->batch + config->micro_batch - 1) / config->micro_batch;
    enum stn_status status =
        crew_splits_parse(config->split, t->nodes.size, micro_batches, &t->splits);
    if (!status && config->batch == 0) {
        config->batch = crew_splits_sum(&t->splits) * config->micro_batch;
    }
    return status;
}
