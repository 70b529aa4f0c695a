// SPDX-License-Identifier: Apache-2.0
// What a training's settings become: a checkpoint, a plan and a split say what the user left open.
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "stannis/log.h"
#include "trainer/check.h"
#include "trainer/trainer.h"
#include "tune/plan.h"

// What a user leaves open although nobody but him could say it.
static void fill_gaps(const struct settings *wish, struct settings *resolved)
{
    bool resumes = wish->resume != NULL;
    if (resumes && wish->micro_batch == SETTINGS_AUTO) {
        resolved->micro_batch = 0; // the one that the run began with
    }
    if (resumes && wish->batch == SETTINGS_AUTO) {
        resolved->batch = 0; // the same
    }
    resolved->data_seed = resolved->data_seed ? resolved->data_seed : wish->seed;
}

static enum stn_status merge_checkpoint(struct trainer *t, const char *path,
                                        struct settings *resolved)
{
    enum stn_status status = checkpoint_open(path, &t->resumed);
    if (!status) {
        status = checkpoint_merge(t->resumed, resolved);
    }
    if (!status) {
        t->meta.progress = checkpoint_meta(t->resumed)->progress;
    }
    return status;
}

enum stn_status trainer_resolve_wish(struct trainer *t, const struct settings *wish,
                                     struct settings *resolved)
{
    *resolved = *wish;
    t->meta.settings = resolved;
    t->meta.progress.best_accuracy = -1.0;
    fill_gaps(wish, resolved);
    char *path;
    enum stn_status status = crew_share_file(&t->nodes, wish->resume, &path);
    if (!status && path) {
        status = merge_checkpoint(t, path, resolved);
    }
    free(path);
    if (resolved->batch == 0 && !resolved->split && !resolved->plan) {
        resolved->batch = SETTINGS_BATCH_USUAL; // else they say it
    }
    return status ? status : trainer_settings_check(resolved);
}

// Node 0 looks.
static enum stn_status plan_is_there(struct trainer *t, bool *there)
{
    const struct settings *settings = t->meta.settings;
    struct wire_answer found = {.yes = settings->plan &&
                                       (!settings->cache || access(settings->plan, F_OK) == 0)};
    enum stn_status status = comm_broadcast_message(t->nodes.comm, 0, WIRE_ANSWER, &found);
    *there = found.yes;
    return status;
}

// Where it may be left out, a plan that does not fit is forgotten.
static enum stn_status check_plan(struct trainer *t)
{
    const struct settings *settings = t->meta.settings;
    const struct tune_subject subject = trainer_subject(t);
    char why[160];
    if (!settings->cache) {
        return tune_plan_check(t->assignment.plan, &subject, settings->plan);
    }
    if (!tune_plan_fits(t->assignment.plan, &subject, why, sizeof(why))) {
        if (t->nodes.rank == 0) {
            stn_log(STN_LOG_INFO, "%s: %s; measuring anew", settings->plan, why);
        }
        stn_plan_destroy(t->assignment.plan);
        t->assignment.plan = NULL;
    }
    return STN_OK;
}

enum stn_status trainer_resolve_plan(struct trainer *t, struct settings *resolved)
{
    resolved->image_size = stn_dataset_info(t->data.sets.public_set)->image_size;
    bool there;
    char *path = NULL;
    enum stn_status status = plan_is_there(t, &there);
    if (status || !there) {
        return status;
    }
    status = crew_share_file(&t->nodes, resolved->plan, &path);
    if (!status) {
        status = stn_plan_read(path, &t->assignment.plan);
    }
    free(path);
    if (!status) {
        status = check_plan(t);
    }
    if (status || !t->assignment.plan) {
        return status;
    }
    resolved->micro_batch = stn_plan_info(t->assignment.plan)->micro_batch;
    resolved->batch = resolved->batch ? resolved->batch : stn_plan_info(t->assignment.plan)->batch;
    if (resolved->policy == STN_POLICY_DEFAULT) {
        resolved->policy = stn_plan_info(t->assignment.plan)->policy;
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

enum stn_status trainer_resolve_sizes(struct trainer *t, const struct stn_model_info *model,
                                      struct settings *resolved)
{
    if (resolved->batch == 0 && !resolved->split) {
        resolved->batch = SETTINGS_BATCH_USUAL;
    }
    if (resolved->micro_batch == 0) {
        resolved->micro_batch = usual_micro_batch(model, resolved->batch, t->nodes.size);
    }
    if (resolved->policy == STN_POLICY_DEFAULT) {
        resolved->policy = STN_POLICY_BALANCED;
    }
    if (isnan(resolved->lr)) {
        resolved->lr = optim_rules[resolved->optimizer].does->usual_lr;
    }
    if (isnan(resolved->move_gain)) {
        resolved->move_gain = crew_move_gain(resolved);
    }
    if (!resolved->split) {
        return STN_OK;
    }
    int micro_batches = (resolved->batch + resolved->micro_batch - 1) / resolved->micro_batch;
    enum stn_status status =
        crew_splits_parse(resolved->split, t->nodes.size, micro_batches, &t->assignment.splits);
    if (!status && resolved->batch == 0) {
        resolved->batch = crew_splits_sum(&t->assignment.splits) * resolved->micro_batch;
    }
    return status;
}
