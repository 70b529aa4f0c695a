// SPDX-License-Identifier: Apache-2.0
// One training step, as in the picture of docs/architecture.md: this node's micro-batches in, sums
// up, everybody's sums together, weights move once. Allocates nothing.
#include <math.h>

#include "base/clock.h"
#include "train/trainer.h"

static double data_seconds(const struct trainer *t)
{
    return (double)data_loader_stats(t->feed.loader).wait_ns * 1e-9;
}

static enum stn_status accumulate(struct trainer *t, const struct crew_feed_step *step,
                                  struct kernel_loss_totals *totals)
{
    int64_t begin = base_clock_ns();
    if (t->vitals.is_open) {
        crew_vitals_begin(&t->vitals, data_seconds(t));
    }
    exchange_begin(t->exchange);
    if (t->trade) {
        crew_trade_begin(t->trade, t->feed.planned, crew_feed_may_give(&t->feed, t->nodes.rank));
    }
    enum stn_status status = STN_OK;
    if (t->hooks && t->hooks->step) {
        status = t->hooks->step(t->hooks->context, t->nodes.rank, t->meta.progress.step + 1);
    }
    if (!status) {
        const struct trainer_work work = {.feed = &t->feed,
                                          .take = crew_feed_next,
                                          .micro_batches = step->share.micro_batches,
                                          .trade = t->trade,
                                          .last = TRAINER_SEND,
                                          .audited = t->audit != NULL};
        status = trainer_compute(t, &work, totals);
    }
    if (t->audit && !status) {
        status = crew_audit_flush(t->audit);
    }
    double idle_s = 0.0;
    if (t->trade) {
        enum stn_status traded = crew_trade_end(t->trade);
        status = status ? status : traded;
        idle_s = crew_trade_wait_seconds(t->trade);
    }
    if (t->vitals.is_open) {
        crew_vitals_computed(&t->vitals, data_seconds(t), idle_s);
    }
    struct stn_train_node *own = &t->own;
    own->compute_seconds += (double)(base_clock_ns() - begin) * 1e-9 - idle_s;
    own->wait_seconds += idle_s;
    own->public_images += t->feed.taken_counts[DATA_PUBLIC];
    own->private_images += t->feed.taken_counts[DATA_PRIVATE];
    own->images += t->feed.taken_counts[DATA_PUBLIC] + t->feed.taken_counts[DATA_PRIVATE];
    return status;
}

// Speeds are judged by full steps: what a short one has less of is not whole micro-batches.
static struct hypertune_report measure(struct trainer *t, const struct crew_feed_step *step)
{
    struct hypertune_report report = {.step = hypertune_no_step};
    if (t->vitals.is_open) {
        bool full = step->end - step->begin == t->feed.batch;
        report = crew_vitals_exchanged(&t->vitals, t->meta.progress.step + 1,
                                       full ? t->feed.taken.count : 0);
        if (t->hooks && t->hooks->measured) {
            t->hooks->measured(t->hooks->context, t->nodes.rank, &report);
        }
    }
    return report;
}

// On node 0, between everybody's reports and the verdict.
static enum stn_status decide(void *context, const struct crew_node_report reports[],
                              struct crew_verdict *verdict)
{
    struct trainer *t = context;
    const struct crew_feed *feed = &t->feed;
    int64_t end = feed->taken.step.end;
    const struct crew_adapt_moment moment = {
        .step = t->meta.progress.step + 1,
        .done = (end + feed->batch - 1) / feed->batch,
        .steps = (feed->samples + feed->batch - 1) / feed->batch,
        .left = feed->samples - end,
        .split = crew_feed_split_at(feed, t->meta.progress.step),
    };
    return crew_adapt_step(t->adapt, &moment, reports, verdict);
}

// Gradient sums, statistics and totals of all nodes. A node that failed takes part too, so that the
// others learn of it instead of waiting.
static enum stn_status combine(struct trainer *t, const struct crew_feed_step *step,
                               enum stn_status own_status, const struct kernel_loss_totals *totals,
                               const struct crew_verdict **verdict)
{
    int64_t begin = base_clock_ns();
    comm_set_phase(t->nodes.comm, t->meta.progress.step + 1, "exchanging gradients");
    enum stn_status status = exchange_finish(t->exchange);
    if (status) {
        return status;
    }
    const struct crew_node_report own = {.status = own_status,
                                         .stop = trainer_polls_stop(t),
                                         .totals = *totals,
                                         .micro_batches = t->feed.taken.count,
                                         .vitals = measure(t, step)};
    status = crew_sum(&t->nodes, &own, decide, t, verdict);
    t->own.wait_seconds += (double)(base_clock_ns() - begin) * 1e-9;
    return status;
}

static void move_on(struct trainer *t, const struct crew_feed_step *step,
                    const struct crew_verdict *verdict)
{
    struct checkpoint_progress *progress = &t->meta.progress;
    progress->samples_seen += step->end - step->begin;
    progress->position = step->end;
    progress->step++;
    progress->totals.loss_sum += verdict->totals.loss_sum;
    progress->totals.correct += verdict->totals.correct;
    progress->totals.count += verdict->totals.count;
    t->stop = verdict->stop;
    if (verdict->end_epoch) {
        trainer_end_epoch(t, verdict);
    }
}

enum stn_status train_step(struct trainer *t, struct train_step *out)
{
    const struct checkpoint_progress *progress = &t->meta.progress;
    struct nn_net *net = t->engine.net;
    const struct crew_feed_step step = crew_feed_begin_step(&t->feed);
    const struct crew_verdict *verdict;
    struct kernel_loss_totals own = {0};
    comm_set_phase(t->nodes.comm, progress->step + 1, "computing");
    *out =
        (struct train_step){.lr = optim_schedule_at(&t->schedule, (double)progress->samples_seen)};

    nn_net_begin_step(net);
    enum stn_status status = accumulate(t, &step, &own);
    status = combine(t, &step, status, &own, &verdict);
    if (status) {
        return status;
    }
    out->totals = verdict->totals;
    if (verdict->moved && !verdict->end_epoch) {
        crew_feed_set_split(&t->feed, verdict->split); // loaders begin at once
    }
    if (!isfinite(out->totals.loss_sum)) {
        return trainer_diverged(t, "loss", out->totals.loss_sum, progress->step + 1);
    }
    if (out->totals.count > 0) {
        nn_net_merge_statistics(net, (double)out->totals.count, trainer_statistics_momentum);
        engine_descend(&t->engine, t->optim, out->lr, out->totals.count);
        engine_flip(&t->engine, t->optim);
    }
    out->images = (int)out->totals.count;
    move_on(t, &step, verdict);
    return STN_OK;
}
