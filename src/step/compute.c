// SPDX-License-Identifier: Apache-2.0
// The part of a step that a node does by itself: its micro-batches, one after the other or as many
// at once as the net likes to have abreast, and where their gradients go. Allocates nothing.
#include "step/step.h"

static void gradients_final(void *context, size_t from)
{
    exchange_ready(context, from);
}

static void gradients_kept(void *context, size_t from)
{
    exchange_keep_from(context, from);
}

// The micro-batches at hand.
struct group {
    struct data_batch *batches[NN_ABREAST_MAX];
    int count;
};

static enum stn_status group_take(const struct step_work *work, int count, struct group *out)
{
    enum stn_status status = STN_OK;
    out->count = 0;
    while (out->count < count && !status) {
        status = work->take(work->feed, &out->batches[out->count]);
        out->count += !status;
    }
    return status;
}

static void group_release(const struct step_work *work, struct group *group)
{
    for (int i = 0; i < group->count; i++) {
        crew_feed_release(work->feed, group->batches[i]);
    }
}

// How many of those that are left to take next. What leaves for other nodes leaves while the last
// one goes backwards; with one in each thread nothing would be final before all is.
static int group_size(const struct step *step, enum step_sums last, int left)
{
    int abreast = nn_net_abreast(step->model.engine.net);
    bool leaves = last == STEP_SEND && step->nodes->size > 1 && step->settings->overlap;
    return left > abreast || (left == abreast && !leaves) ? abreast : 1;
}

// With --skip-bad all images of a micro-batch may have been left out.
static bool is_whole(const struct group *group)
{
    for (int i = 0; i < group->count; i++) {
        if (group->batches[i]->count == 0) {
            return false;
        }
    }
    return true;
}

// While the last micro-batch goes backwards, finished gradients leave already (with one node: are
// rounded); of those before it they are kept as long as they are in the cache.
static enum stn_status train_one(struct step *step, const struct data_batch *batch,
                                 enum step_sums sums, struct kernel_loss_totals *totals)
{
    struct nn_net *net = step->model.engine.net;
    enum stn_status status = STN_OK;
    if (sums == STEP_SEND && step->settings->overlap) {
        nn_net_watch_gradients(net, gradients_final, step->peers.exchange);
    } else if (sums == STEP_KEEP && step->settings->exact) {
        nn_net_watch_gradients(net, gradients_kept, step->peers.exchange);
    }
    if (batch->count > 0) {
        status = nn_net_train(net, batch->images, batch->labels, batch->keys, batch->count, totals);
    }
    nn_net_watch_gradients(net, NULL, NULL);
    if (sums != STEP_KEEP || step->settings->exact) {
        nn_net_collect_gradients(net); // exact sums take each micro-batch's out of the array
    }
    if (sums == STEP_KEEP) {
        exchange_keep(step->peers.exchange);
    }
    return status;
}

static enum stn_status train_abreast(struct step *step, const struct group *group,
                                     enum step_sums sums, struct kernel_loss_totals *totals)
{
    struct nn_net *net = step->model.engine.net;
    struct nn_micro_batch batches[NN_ABREAST_MAX];
    for (int i = 0; i < group->count; i++) {
        const struct data_batch *batch = group->batches[i];
        batches[i] =
            (struct nn_micro_batch){batch->images, batch->labels, batch->keys, batch->count};
    }
    enum stn_status status = nn_net_train_abreast(net, batches, totals);
    for (int i = 0; i < group->count; i++) {
        nn_net_collect_abreast(net, i);
        if (i < group->count - 1 || sums == STEP_KEEP) {
            exchange_keep(step->peers.exchange);
        }
    }
    return status;
}

static enum stn_status group_train(struct step *step, const struct group *group,
                                   enum step_sums sums, struct kernel_loss_totals *totals)
{
    if (group->count > 1 && is_whole(group)) {
        return train_abreast(step, group, sums, totals);
    }
    enum stn_status status = STN_OK;
    for (int i = 0; i < group->count && !status; i++) {
        enum step_sums own = i < group->count - 1 ? STEP_KEEP : sums;
        status = train_one(step, group->batches[i], own, totals);
    }
    return status;
}

// How many are to be done in all: other nodes may have taken some, or given.
static enum stn_status look_around(struct step *step, const struct step_work *work, int done,
                                   int *total)
{
    const int *after;
    if (!work->trade) {
        return STN_OK;
    }
    enum stn_status status =
        crew_trade_look(work->trade, done, nn_net_abreast(step->model.engine.net), &after);
    if (after) {
        crew_feed_trade(work->feed, after);
        *total = after[step->nodes->rank];
    }
    return status;
}

enum stn_status step_compute(struct step *step, const struct step_work *work,
                             struct kernel_loss_totals *totals)
{
    int total = work->micro_batches, done = 0;
    enum stn_status status = look_around(step, work, done, &total);
    while (done < total && !status) {
        struct group group;
        status = group_take(work, group_size(step, work->last, total - done), &group);
        done += group.count;
        if (!status) {
            status = group_train(step, &group, done < total ? STEP_KEEP : work->last, totals);
        }
        for (int i = 0; i < group.count && work->audit && !status; i++) {
            crew_audit_add(work->audit, work->feed->taken.step.epoch + 1, step->progress->step + 1,
                           group.batches[i]);
        }
        group_release(work, &group);
        if (step->hooks && step->hooks->computed) {
            step->hooks->computed(step->hooks->context);
        }
        if (!status) {
            status = look_around(step, work, done, &total);
        }
    }
    return status;
}
