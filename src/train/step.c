// SPDX-License-Identifier: Apache-2.0
// One training step, as in the picture of docs/architecture.md: micro-batches in, sums up, weights
// move once. Allocates nothing.
#include <math.h>

#include "train/trainer.h"

static const double statistics_momentum = 0.1; // per step

static enum stn_status accumulate(struct trainer *t, int micro_batches,
                                  struct kernel_loss_totals *totals)
{
    for (int k = 0; k < micro_batches; k++) {
        struct data_batch *batch;
        enum stn_status status = train_feed_next(&t->feed, &batch);
        if (status) {
            return status;
        }
        if (batch->count > 0) { // with --skip-bad all of it may have been left out
            status = nn_net_train(t->engine.net, batch->images, batch->labels, batch->keys,
                                  batch->count, totals);
        }
        train_feed_release(&t->feed, batch);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

enum stn_status train_step(struct trainer *t, struct train_step *out)
{
    struct train_progress *progress = &t->meta.progress;
    struct nn_net *net = t->engine.net;
    struct train_feed_step step = train_feed_begin_step(&t->feed);
    *out =
        (struct train_step){.lr = optim_schedule_at(&t->schedule, (double)progress->samples_seen)};

    nn_net_begin_step(net);
    enum stn_status status = accumulate(t, step.share.micro_batches, &out->totals);
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
