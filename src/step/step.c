// SPDX-License-Identifier: Apache-2.0
#include "step/step.h"

#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/setting_mark.h"
#include "comm/comm.h"

// ---- micro-batches -----------------------------------------------------------------------------

static double data_seconds(const struct step *step)
{
    return (double)data_loader_stats(step->feed->loader).wait_ns * 1e-9;
}

// What this node did in the step, on its account.
static void keep_account(struct step *step, double seconds, double idle_s)
{
    struct stn_train_node *own = &step->peers.own;
    const int64_t *taken = step->feed->taken_counts;
    own->compute_seconds += seconds - idle_s;
    own->wait_seconds += idle_s;
    own->public_images += taken[DATA_PUBLIC];
    own->private_images += taken[DATA_PRIVATE];
    own->images += taken[DATA_PUBLIC] + taken[DATA_PRIVATE];
}

static enum stn_status begin(struct step *step)
{
    struct step_peers *peers = &step->peers;
    if (peers->vitals.is_open) {
        crew_vitals_begin(&peers->vitals, data_seconds(step));
    }
    exchange_begin(peers->exchange);
    if (peers->trade) {
        crew_trade_begin(peers->trade, step->feed->planned,
                         crew_feed_may_give(step->feed, step->nodes->rank));
    }
    const struct crew_hooks *hooks = step->hooks;
    return hooks && hooks->step
               ? hooks->step(hooks->context, step->nodes->rank, step->progress->step + 1)
               : STN_OK;
}

static enum stn_status compute(struct step *step, const struct crew_feed_step *share,
                               struct kernel_loss_totals *totals)
{
    struct step_peers *peers = &step->peers;
    const struct step_work work = {.feed = step->feed,
                                   .take = crew_feed_next,
                                   .micro_batches = share->share.micro_batches,
                                   .trade = peers->trade,
                                   .last = STEP_SEND,
                                   .audit = step->audit};
    double idle_s = 0.0;
    comm_set_phase(step->nodes->comm, step->progress->step + 1, "computing");
    nn_net_begin_step(step->model.engine.net);
    int64_t begin_ns = base_clock_ns();
    enum stn_status status = begin(step);
    if (!status) {
        status = step_compute(step, &work, totals);
    }
    if (step->audit && !status) {
        status = crew_audit_flush(step->audit);
    }
    if (peers->trade) {
        enum stn_status traded = crew_trade_end(peers->trade);
        status = status ? status : traded;
        idle_s = crew_trade_wait_seconds(peers->trade);
    }
    if (peers->vitals.is_open) {
        crew_vitals_computed(&peers->vitals, data_seconds(step), idle_s);
    }
    keep_account(step, (double)(base_clock_ns() - begin_ns) * 1e-9, idle_s);
    return status;
}

// ---- sums and verdict --------------------------------------------------------------------------

// Speeds are judged by full steps: what a short one has less of is not whole micro-batches.
static struct hypertune_report measure(struct step *step, const struct crew_feed_step *share)
{
    const struct crew_hooks *hooks = step->hooks;
    struct hypertune_report report = {.step = hypertune_no_step};
    if (step->peers.vitals.is_open) {
        bool full = share->end - share->begin == step->feed->batch;
        report = crew_vitals_exchanged(&step->peers.vitals, step->progress->step + 1,
                                       full ? step->feed->taken.count : 0);
        if (hooks && hooks->measured) {
            hooks->measured(hooks->context, step->nodes->rank, &report);
        }
    }
    return report;
}

// On node 0, between everybody's reports and the verdict.
static enum stn_status decide(void *context, const struct crew_node_report reports[],
                              struct crew_verdict *verdict)
{
    const struct step *step = context;
    const struct crew_feed *feed = step->feed;
    int64_t end = feed->taken.step.end;
    const struct crew_adapt_moment moment = {
        .step = step->progress->step + 1,
        .done = (end + feed->batch - 1) / feed->batch,
        .steps = (feed->samples + feed->batch - 1) / feed->batch,
        .left = feed->samples - end,
        .split = crew_feed_split_at(feed, step->progress->step),
    };
    return crew_adapt_step(step->peers.adapt, &moment, reports, verdict);
}

// Gradient sums, statistics and totals of all nodes, and what all make of them. A node that failed
// takes part too, so that the others learn of it instead of waiting.
static enum stn_status combine(struct step *step, const struct crew_feed_step *share,
                               enum stn_status own_status, const struct kernel_loss_totals *totals,
                               const struct crew_verdict **verdict)
{
    int64_t begin_ns = base_clock_ns();
    comm_set_phase(step->nodes->comm, step->progress->step + 1, "exchanging gradients");
    enum stn_status status = exchange_finish(step->peers.exchange);
    if (status) {
        return status;
    }
    const struct crew_node_report own = {.status = own_status,
                                         .stop = step_polls_stop(step),
                                         .totals = *totals,
                                         .micro_batches = step->feed->taken.count,
                                         .vitals = measure(step, share)};
    status = crew_sum(step->nodes, &own, decide, step, verdict);
    step->peers.own.wait_seconds += (double)(base_clock_ns() - begin_ns) * 1e-9;
    return status;
}

// ---- what all do with them ---------------------------------------------------------------------

// Loaders begin with the next step at once, while weights move.
static enum stn_status obey(struct step *step, const struct crew_verdict *verdict)
{
    double loss = verdict->totals.loss_sum;
    if (verdict->moved && !verdict->end_epoch) {
        crew_feed_set_split(step->feed, verdict->split);
    }
    return isfinite(loss) ? STN_OK
                          : step_fail_diverged(step, "loss", loss, step->progress->step + 1);
}

static void move_on(struct step *step, const struct crew_feed_step *share,
                    const struct crew_verdict *verdict)
{
    struct checkpoint_progress *progress = step->progress;
    progress->samples_seen += share->end - share->begin;
    progress->position = share->end;
    progress->step++;
    progress->totals.loss_sum += verdict->totals.loss_sum;
    progress->totals.correct += verdict->totals.correct;
    progress->totals.count += verdict->totals.count;
    step->stop = verdict->stop;
    if (verdict->end_epoch) {
        step_course_end_epoch(&step->course, verdict);
        crew_feed_rebatch(step->feed, verdict->split, verdict->batch, progress->epoch + 1);
    }
}

enum stn_status step_take(struct step *step, struct step_outcome *out)
{
    const struct crew_feed_step share = crew_feed_begin_step(step->feed);
    const struct crew_verdict *verdict;
    struct kernel_loss_totals own = {0};
    double lr = step_course_rate(&step->course);

    enum stn_status status = compute(step, &share, &own);
    status = combine(step, &share, status, &own, &verdict);
    if (!status) {
        status = obey(step, verdict);
    }
    if (status) {
        return status;
    }
    if (verdict->totals.count > 0) {
        step_model_update(&step->model, step->course.progress->step + 1, lr, verdict->totals.count);
    }
    move_on(step, &share, verdict);
    *out = (struct step_outcome){
        .totals = verdict->totals, .images = (int)verdict->totals.count, .lr = lr};
    return STN_OK;
}

// ---- its end -----------------------------------------------------------------------------------

bool step_polls_stop(const struct step *step)
{
    const struct stn_train_observer *observer = step->observer;
    return observer && observer->stop_requested && observer->stop_requested(observer->stop_context);
}

enum stn_status step_fail_diverged(const struct step *step, const char *what, double value,
                                   int64_t number)
{
    if (step->nodes->rank > 0) {
        return STN_ERR_DIVERGED; // all nodes see it at once, and one says it
    }
    return stn_fail(STN_ERR_DIVERGED,
                    "%s became %s at step %" PRId64 " (epoch %d); try a lower " BASE_SETTING "lr%s",
                    what, isnan(value) ? "nan" : "infinite", number, step->progress->epoch + 1,
                    step->settings->out ? "; the last checkpoint is intact" : "");
}
