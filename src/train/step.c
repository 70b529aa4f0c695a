// SPDX-License-Identifier: Apache-2.0
// One training step, as in the picture of docs/architecture.md: this node's micro-batches in, sums
// up, everybody's sums together, weights move once. Allocates nothing.
#include <math.h>

#include "base/clock.h"
#include "emulate/emulate.h"
#include "train/trainer.h"

static const double statistics_momentum = 0.1; // per step

static void gradients_final(void *context, size_t from)
{
    exchange_ready(context, from);
}

// While the last micro-batch goes backwards, finished gradients leave already.
static enum stn_status train_micro_batch(struct trainer *t, bool last,
                                         struct kernel_loss_totals *totals)
{
    struct nn_net *net = t->engine.net;
    struct data_batch *batch;
    enum stn_status status = train_feed_next(&t->feed, &batch);
    if (status) {
        return status;
    }
    if (last && t->nodes.size > 1 && t->meta.config.overlap) {
        nn_net_watch_gradients(net, gradients_final, t->exchange);
    }
    if (batch->count > 0) { // with --skip-bad all of it may have been left out
        status = nn_net_train(net, batch->images, batch->labels, batch->keys, batch->count, totals);
    }
    nn_net_watch_gradients(net, NULL, NULL);
    if (last || t->meta.config.exact) {
        nn_net_collect_gradients(net); // exact sums take each micro-batch's out of the array
    }
    if (!last) {
        exchange_keep(t->exchange);
    }
    train_feed_release(&t->feed, batch);
    emulate_pace();
    return status;
}

static enum stn_status accumulate(struct trainer *t, const struct train_feed_step *step,
                                  struct kernel_loss_totals *totals)
{
    int64_t begin = base_clock_ns();
    int micro_batches = step->share.micro_batches;
    exchange_begin(t->exchange);
    enum stn_status status = emulate_interfere_step(t->interfere, t->meta.progress.step + 1);
    for (int k = 0; k < micro_batches && !status; k++) {
        status = train_micro_batch(t, k == micro_batches - 1, totals);
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
        nn_net_merge_statistics(net, (double)out->totals.count, statistics_momentum);
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
