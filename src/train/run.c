// SPDX-License-Identifier: Apache-2.0
// A whole training: steps until the epoch is done, evaluation, checkpoints, the next epoch; and
// telling the observer.
#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/setting_mark.h"
#include "infer/evaluate.h"
#include "stannis/log.h"
#include "train/run.h"
#include "trainer/trainer.h"

// One run of this process.
struct run {
    struct trainer trainer;
    struct stn_settings resolved;       // filled when the trainer opens, then only read
    struct stn_train_observer observer; // without one all calls are NULL
    double begin;                       // seconds
    int64_t steps, images;              // of this process
    double train_seconds, wait_seconds;
    struct {
        int64_t images;
        double seconds;
    } epoch;             // what this process trained of it
    double eval_seconds; // of the last evaluation
};

// Several nodes stop together: after the step in which all learned of it.
static bool stop_requested(const struct run *r)
{
    const struct trainer *t = &r->trainer;
    return t->nodes.size > 1 ? t->step.stop : step_polls_stop(&t->step);
}

// ---- saving ------------------------------------------------------------------------------------

// A net that is not finite must not replace a good checkpoint.
static enum stn_status check_finite(struct trainer *t)
{
    double wrong = step_model_not_finite(&t->step.model);
    return wrong == 0.0 ? STN_OK
                        : step_fail_diverged(&t->step, "a weight", wrong, t->meta.progress.step);
}

// Node 0 saves; the others, which have no path, learn whether that went well.
static enum stn_status save(struct run *r, const char *path)
{
    struct trainer *t = &r->trainer;
    enum stn_status status = path ? check_finite(t) : STN_OK;
    if (!status && path) {
        comm_set_phase(t->nodes.comm, t->meta.progress.step, "saving");
        status = checkpoint_save(path, &t->meta, t->step.model.engine.net, t->step.model.optim);
    }
    status = crew_agree(&t->nodes, status);
    if (!status && path && r->observer.saved) {
        r->observer.saved(r->observer.context, path);
    }
    return status;
}

// ---- a step ------------------------------------------------------------------------------------

// Steps to come at this process's mean speed, and an evaluation for each epoch to come.
static double eta(const struct run *r)
{
    const struct trainer *t = &r->trainer;
    int64_t left = t->step.course.steps_total - t->meta.progress.step;
    int64_t epoch_steps = (t->data.train.samples + t->data.train.batch - 1) / t->data.train.batch;
    double evaluations = ceil((double)left / (double)epoch_steps);
    return (double)left * r->train_seconds / (double)r->steps + evaluations * r->eval_seconds;
}

static void tell_step(const struct run *r, const struct step_outcome *step, double seconds,
                      double wait)
{
    if (!r->observer.step) {
        return;
    }
    const struct checkpoint_progress *progress = &r->trainer.meta.progress;
    double count = step->totals.count > 0 ? (double)step->totals.count : 1.0;
    const struct stn_train_step told = {
        .step = progress->step,
        .epoch = progress->epoch + 1,
        .epoch_position = progress->position,
        .epoch_samples = r->trainer.data.train.samples,
        .images = step->images,
        .loss = step->totals.loss_sum / count,
        .accuracy = (double)step->totals.correct / count,
        .lr = step->lr,
        .seconds = seconds,
        .wait_seconds = wait,
        .images_per_second = step->images / seconds,
        .elapsed_seconds = base_clock_seconds() - r->begin,
        .eta_seconds = eta(r),
        .nodes = r->trainer.nodes.size,
        .node = r->trainer.step.peers.adapt ? crew_adapt_nodes(r->trainer.step.peers.adapt) : NULL,
    };
    r->observer.step(r->observer.context, &told);
}

static enum stn_status run_step(struct run *r)
{
    struct trainer *t = &r->trainer;
    int64_t begin = base_clock_ns();
    int64_t waited = data_loader_stats(t->data.train.loader).wait_ns;
    struct step_outcome step;
    enum stn_status status = step_take(&t->step, &step);
    if (status) {
        return status;
    }
    double wait = (double)(data_loader_stats(t->data.train.loader).wait_ns - waited) * 1e-9;
    double seconds = (double)(base_clock_ns() - begin + 1) * 1e-9;
    r->steps++;
    r->images += step.images;
    r->train_seconds += seconds;
    r->wait_seconds += wait;
    r->epoch.images += step.images;
    r->epoch.seconds += seconds;
    tell_step(r, &step, seconds, wait);
    if (t->step.peers.adapt) {
        crew_adapt_tell(t->step.peers.adapt, &r->observer);
    }

    int64_t every = t->meta.settings->checkpoint_steps;
    bool due = every > 0 && t->meta.progress.step % every == 0 &&
               t->meta.progress.position < t->data.train.samples;
    return due ? save(r, t->output.last) : STN_OK;
}

// ---- an epoch's end ----------------------------------------------------------------------------

static double mean(double sum, int64_t count)
{
    return count > 0 ? sum / (double)count : NAN;
}

// A node that is slow in training is slow in evaluating.
static void follow_split(struct trainer *t)
{
    const int *split = crew_feed_split_at(&t->data.train, t->meta.progress.step);
    if (t->data.validation.batch != t->data.train.batch) {
        crew_feed_rebatch(&t->data.validation, split, t->data.train.batch, 0);
    } else if (t->data.train.split_count == 1) {
        crew_feed_set_split(&t->data.validation, split);
    }
}

static enum stn_status evaluate(struct run *r, struct kernel_loss_totals *totals)
{
    struct trainer *t = &r->trainer;
    *totals = (struct kernel_loss_totals){0};
    r->eval_seconds = 0.0;
    if (!t->data.validation.loader) {
        return STN_OK;
    }
    const struct infer_evaluation e = {
        .net = t->step.model.engine.net,
        .feed = &t->data.validation,
        .observer = &r->observer,
    };
    double begin = base_clock_seconds();
    comm_set_phase(t->nodes.comm, t->meta.progress.step, "evaluating");
    struct crew_node_report own = {0};
    const struct crew_verdict *verdict;
    follow_split(t);
    own.status = infer_evaluate(&e, &own.totals);
    enum stn_status status = crew_sum(&t->nodes, &own, NULL, NULL, &verdict);
    *totals = verdict->totals;
    r->eval_seconds = base_clock_seconds() - begin;
    if (!status && !isfinite(totals->loss_sum)) {
        return step_fail_diverged(&t->step, "validation loss", totals->loss_sum,
                                  t->meta.progress.step);
    }
    return status;
}

static enum stn_status tell_epoch(struct run *r, int epoch,
                                  const struct kernel_loss_totals *trained,
                                  const struct kernel_loss_totals *evaluated, bool best)
{
    if (r->observer.epoch) {
        const struct stn_train_epoch told = {
            .epoch = epoch,
            .train_loss = mean(trained->loss_sum, trained->count),
            .train_accuracy = mean((double)trained->correct, trained->count),
            .val_loss = mean(evaluated->loss_sum, evaluated->count),
            .val_accuracy = mean((double)evaluated->correct, evaluated->count),
            .seconds = r->epoch.seconds,
            .eval_seconds = r->eval_seconds,
            .images_per_second =
                r->epoch.seconds > 0.0 ? (double)r->epoch.images / r->epoch.seconds : 0.0,
            .best = best,
        };
        r->observer.epoch(r->observer.context, &told);
    }
    r->trainer.power.evaluated_s += r->eval_seconds;
    enum stn_status status = trainer_power_tell(
        &r->trainer, &r->observer, epoch, r->epoch.seconds + r->eval_seconds, r->epoch.images);
    r->epoch.images = 0;
    r->epoch.seconds = 0.0;
    return status;
}

// Evaluates and saves, at the end of an epoch or where --steps ended the run inside one. Until the
// evaluation is done the progress stays where it is, so an interruption loses nothing.
static enum stn_status close_epoch(struct run *r)
{
    struct trainer *t = &r->trainer;
    struct checkpoint_progress *progress = &t->meta.progress;
    struct kernel_loss_totals evaluated;
    enum stn_status status = evaluate(r, &evaluated);
    if (status) {
        return status;
    }
    const struct kernel_loss_totals trained = progress->totals;
    int epoch = progress->epoch + 1;
    progress->last_loss = mean(trained.loss_sum, trained.count);
    progress->last_accuracy = mean((double)evaluated.correct, evaluated.count);
    bool best = progress->last_accuracy > progress->best_accuracy;
    if (best) {
        progress->best_accuracy = progress->last_accuracy;
    }
    if (progress->position == t->data.train.samples) {
        progress->epoch++;
        progress->position = 0;
        progress->totals = (struct kernel_loss_totals){0};
    }
    status = tell_epoch(r, epoch, &trained, &evaluated, best);
    // Best first: if we die in between, the old last.safetensors leads here again.
    if (best && !status) {
        status = save(r, t->output.best);
    }
    return status ? status : save(r, t->output.last);
}

// ---- the run -----------------------------------------------------------------------------------

static bool is_over(const struct run *r)
{
    const struct trainer *t = &r->trainer;
    const struct checkpoint_progress *progress = &t->meta.progress;
    bool epoch_pending = progress->position == t->data.train.samples;
    return progress->epoch >= t->meta.settings->epochs ||
           (progress->step >= t->step.course.steps_total && !epoch_pending);
}

static enum stn_status run_loop(struct run *r)
{
    const struct trainer *t = &r->trainer;
    while (!is_over(r)) {
        enum stn_status status =
            t->meta.progress.position < t->data.train.samples ? run_step(r) : close_epoch(r);
        if (!status && !is_over(r) && stop_requested(r)) {
            status = STN_ERR_INTERRUPTED;
        }
        if (status) {
            return status;
        }
    }
    bool inside_epoch = t->meta.progress.position > 0;
    return inside_epoch && r->steps > 0 ? close_epoch(r) : STN_OK;
}

static void tell_start(const struct run *r)
{
    if (!r->observer.start) {
        return;
    }
    const struct trainer *t = &r->trainer;
    const struct settings *settings = t->meta.settings;
    struct stn_model_cost cost = nn_net_cost(t->step.model.engine.net);
    const struct stn_train_start told = {
        .net = settings->net,
        .backend_version = kernel_version(t->step.model.engine.kernel),
        .data = stn_dataset_info(t->data.sets.public_set),
        .settings = &r->resolved,
        .epochs = settings->epochs,
        .batch = settings->batch,
        .micro_batch = settings->micro_batch,
        .threads = t->step.model.engine.threads,
        .loader_threads = t->data.loader_threads,
        .nodes = t->nodes.size,
        .node = t->step.peers.all,
        .private_samples = t->data.sets.private_samples,
        .cpu_affinity = t->step.model.engine.cpu.affinity,
        .cpu_quota = t->step.model.engine.cpu.quota,
        .parameters = cost.parameters,
        .steps_total = t->step.course.steps_total,
        .macs = cost.macs,
        .planned_bytes = step_model_memory(&t->step.model),
        .first_step = t->meta.progress.step,
        .seed = settings->seed,
    };
    r->observer.start(r->observer.context, &told);
}

// What the nodes did, for node 0's observer and the result.
static enum stn_status tell_nodes(struct run *r, struct stn_train_result *out)
{
    struct trainer *t = &r->trainer;
    enum stn_status status = trainer_gather_nodes(t);
    if (status || t->nodes.rank > 0) {
        return status;
    }
    for (int i = 0; i < t->nodes.size; i++) {
        out->skipped += t->step.peers.all[i].skipped;
    }
    if (t->step.peers.adapt) {
        crew_adapt_tell_end(t->step.peers.adapt, &r->observer);
    }
    if (t->nodes.size > 1 && r->observer.nodes) {
        r->observer.nodes(r->observer.context, t->step.peers.all, t->nodes.size);
    }
    return STN_OK;
}

static void fill_result(const struct run *r, struct stn_train_result *out)
{
    const struct trainer *t = &r->trainer;
    const struct checkpoint_progress *progress = &t->meta.progress;
    *out = (struct stn_train_result){
        .steps = r->steps,
        .images = r->images,
        .seconds = base_clock_seconds() - r->begin,
        .images_per_second = r->train_seconds > 0.0 ? (double)r->images / r->train_seconds : 0.0,
        .wait_share = r->train_seconds > 0.0 ? r->wait_seconds / r->train_seconds : 0.0,
        .loss = progress->last_loss,
        .accuracy = progress->last_accuracy,
        .best_accuracy = progress->best_accuracy,
        .lost = t->step.course.lost,
        .threads = t->step.model.engine.threads,
    };
}

static enum stn_status run_all(struct run *r, struct stn_train_result *out)
{
    struct trainer *t = &r->trainer;
    r->begin = base_clock_seconds();
    engine_power_begin(t->power.own);
    tell_start(r);
    if (is_over(r)) {
        stn_log(STN_LOG_INFO,
                "nothing left to train after step %" PRId64 ": raise " BASE_SETTING
                "epochs or " BASE_SETTING "steps",
                t->meta.progress.step);
    } else {
        crew_feed_seek(&t->data.train, t->meta.progress.epoch, t->meta.progress.position,
                       t->meta.settings->epochs);
    }
    enum stn_status status = run_loop(r);
    if (status == STN_ERR_INTERRUPTED) {
        enum stn_status saved = save(r, t->output.last);
        status = saved ? saved : status;
    }
    if (status == STN_OK || status == STN_ERR_INTERRUPTED) {
        fill_result(r, out);
        enum stn_status told = tell_nodes(r, out);
        if (!told) {
            told = trainer_power_tell(t, &r->observer, 0, out->seconds, out->images);
        }
        status = told ? told : status;
    }
    return status;
}

struct stn_train_observer train_observer_of(const struct comm *comm,
                                            const struct stn_train_observer *observer)
{
    if (!observer || comm_rank(comm) == 0) {
        return observer ? *observer : (struct stn_train_observer){0};
    }
    return (struct stn_train_observer){.stop_requested = observer->stop_requested,
                                       .stop_context = observer->stop_context};
}

enum stn_status train_run_on(struct comm *comm, const struct settings *settings,
                             const struct stn_train_observer *observer,
                             const struct crew_hooks *hooks, struct stn_train_result *out)
{
    struct run r = {.observer = train_observer_of(comm, observer), .resolved.verb = STN_VERB_TRAIN};
    enum stn_status status =
        trainer_open(comm, settings, &r.observer, hooks, &r.resolved.values, &r.trainer);
    if (!status) {
        status = run_all(&r, out);
    }
    trainer_close(&r.trainer);
    return status;
}
