// SPDX-License-Identifier: Apache-2.0
// One training step, as in the picture of docs/architecture.md: this node's micro-batches in, sums
// up, everybody's sums together, weights move once. Allocates nothing.
#include <math.h>

#include "base/clock.h"
#include "emulate/emulate.h"
#include "train/trainer.h"

static void gradients_final(void *context, size_t from)
{
    exchange_ready(context, from);
}

enum stn_status trainer_micro_batch(struct trainer *t, struct train_feed *feed,
                                    enum trainer_sums sums, struct kernel_loss_totals *totals)
{
    struct nn_net *net = t->engine.net;
    struct data_batch *batch;
    enum stn_status status = train_feed_next(feed, &batch);
    if (status) {
        return status;
    }
    if (sums == TRAINER_SEND && t->nodes.size > 1 && t->meta.config.overlap) {
        nn_net_watch_gradients(net, gradients_final, t->exchange);
    }
    if (batch->count > 0) { // with --skip-bad all of it may have been left out
        status = nn_net_train(net, batch->images, batch->labels, batch->keys, batch->count, totals);
    }
    nn_net_watch_gradients(net, NULL, NULL);
    if (sums != TRAINER_KEEP || t->meta.config.exact) {
        nn_net_collect_gradients(net); // exact sums take each micro-batch's out of the array
    }
    if (sums == TRAINER_KEEP) {
        exchange_keep(t->exchange);
    }
    train_feed_release(feed, batch);
    emulate_pace();
    return status;
}

static enum stn_status accumulate(struct trainer *t, const struct train_feed_step *step,
                                  struct kernel_loss_totals *totals)
{
    int64_t begin = base_clock_ns();
    int micro_batches = step->share.micro_batches;
    enum stn_status status = STN_OK;
    exchange_begin(t->exchange);
    for (int k = 0; k < micro_batches && !status; k++) {
        status = trainer_micro_batch(
            t, &t->feed, k == micro_batches - 1 ? TRAINER_SEND : TRAINER_KEEP, totals);
    }
    struct stn_train_node *own = &t->own;
    own->compute_seconds += (double)(base_clock_ns() - begin) * 1e-9;
    own->public_images += step->share.public_range.end - step->share.public_range.begin;
    own->private_images += step->share.private_range.end - step->share.private_range.begin;
    own->images += plan_share_samples(&step->share);
    return status;
}

// Gradient sums, statistics and totals of all nodes. A node that failed takes part too, so that the
// others learn of it instead of waiting.
static enum stn_status combine(struct trainer *t, enum stn_status own_status,
                               struct kernel_loss_totals *totals)
{
    int64_t begin = base_clock_ns();
    comm_set_phase(t->nodes.comm, t->meta.progress.step + 1, "exchanging gradients");
    enum stn_status status = exchange_finish(t->exchange);
    if (status) {
        return status;
    }
    const struct train_node_report own = {
        .status = own_status, .stop = trainer_polls_stop(t), .totals = *totals};
    struct train_node_report all;
    status = train_nodes_sum(&t->nodes, &own, &all);
    t->stop = all.stop;
    *totals = all.totals;
    t->own.wait_seconds += (double)(base_clock_ns() - begin) * 1e-9;
    return status;
}

enum stn_status train_step(struct trainer *t, struct train_step *out)
{
    struct train_progress *progress = &t->meta.progress;
    struct nn_net *net = t->engine.net;
    const struct train_feed_step step = train_feed_begin_step(&t->feed);
    comm_set_phase(t->nodes.comm, progress->step + 1, "computing");
    *out =
        (struct train_step){.lr = optim_schedule_at(&t->schedule, (double)progress->samples_seen)};

    nn_net_begin_step(net);
    enum stn_status status = accumulate(t, &step, &out->totals);
    status = combine(t, status, &out->totals);
    if (status) {
        return status;
    }
    if (!isfinite(out->totals.loss_sum)) {
        return trainer_diverged(t, "loss", out->totals.loss_sum, progress->step + 1);
    }
    if (out->totals.count > 0) {
        nn_net_merge_statistics(net, (double)out->totals.count,
                                trainer_statistics_momentum);
        train_engine_descend(&t->engine, &t->sgd, out->lr, out->totals.count, t->momentum);
    }

    out->images = (int)out->totals.count;
    progress->samples_seen += step.end - step.begin;
    progress->position = step.end;
    progress->step++;
    progress->totals.loss_sum += out->totals.loss_sum;
    progress->totals.correct += out->totals.correct;
    progress->totals.count += out->totals.count;
    return STN_OK;
}
