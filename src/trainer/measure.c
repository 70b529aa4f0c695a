// SPDX-License-Identifier: Apache-2.0
// A trainer measured: tune/tune.h's probe made of the steps that it will do, with its own data,
// kernels, sums and exchange. Weights stay put (a learning rate of 0) but for the optimizer's state
// and running statistics, which are set anew when all is measured.
#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/setting_mark.h"
#include "trainer/trainer.h"
#include "tune/plan.h"
#include "tune/tune.h"

// The step that the exchange is tried with takes at most about so long.
static const double trial_s = 0.75;

struct probe {
    struct trainer *trainer;
    struct crew_feed feed; // of this node alone, a micro-batch a step
};

// ---- steps -------------------------------------------------------------------------------------

// The next whole one: the ragged end of an epoch is no measure of a micro-batch.
static enum stn_status take_whole(struct crew_feed *feed, struct data_batch **out)
{
    struct crew_feed_step step = crew_feed_begin_step(feed);
    while (step.end - step.begin < feed->micro_batch && feed->samples >= feed->micro_batch) {
        enum stn_status status = crew_feed_next(feed, out);
        if (status) {
            return status;
        }
        crew_feed_release(feed, *out);
        step = crew_feed_begin_step(feed);
    }
    return crew_feed_next(feed, out);
}

static enum stn_status compute(struct probe *probe, int micro_batches, enum step_sums last,
                               struct kernel_loss_totals *totals)
{
    const struct step_work work = {
        .feed = &probe->feed, .take = take_whole, .micro_batches = micro_batches, .last = last};
    nn_net_begin_step(probe->trainer->step.model.engine.net);
    return step_compute(&probe->trainer->step, &work, totals);
}

static void update(struct probe *probe, int64_t count)
{
    struct trainer *t = probe->trainer;
    if (count > 0) {
        step_model_update(&t->step.model, 1, 0.0, count);
    }
}

static enum stn_status step_alone(void *context, int micro_batches, struct tune_step *out)
{
    struct probe *probe = context;
    struct kernel_loss_totals totals = {0};
    engine_power_busy_begin(probe->trainer->power.own);
    double begin = base_clock_seconds();
    enum stn_status status = compute(probe, micro_batches, STEP_LEAVE, &totals);
    double computed = base_clock_seconds();
    if (!status) {
        update(probe, totals.count);
    }
    double end = base_clock_seconds();
    engine_power_busy_end(probe->trainer->power.own);
    *out = (struct tune_step){
        .compute_s = end - begin, .update_s = end - computed, .wall_s = end - begin};
    return status;
}

static enum stn_status step_together(void *context, int micro_batches, struct tune_step *out)
{
    struct probe *probe = context;
    struct trainer *t = probe->trainer;
    struct crew_node_report own = {.vitals.step = hypertune_no_step};
    const struct crew_verdict *verdict;
    double begin = base_clock_seconds();
    exchange_begin(t->step.peers.exchange);
    own.status = compute(probe, micro_batches, STEP_SEND, &own.totals);
    double computed = base_clock_seconds();
    enum stn_status status = exchange_finish(t->step.peers.exchange);
    if (!status) {
        status = crew_sum(&t->nodes, &own, NULL, NULL, &verdict);
    }
    if (status) {
        return status;
    }
    double exchanged = base_clock_seconds();
    update(probe, verdict->totals.count);
    double end = base_clock_seconds();
    *out = (struct tune_step){.compute_s = computed - begin + end - exchanged,
                              .update_s = end - exchanged,
                              .wall_s = end - begin};
    return STN_OK;
}

static enum stn_status exchange_alone(void *context, double *seconds)
{
    struct probe *probe = context;
    struct trainer *t = probe->trainer;
    enum stn_status status = crew_agree(&t->nodes, STN_OK); // all begin together
    if (status) {
        return status;
    }
    double begin = base_clock_seconds();
    nn_net_begin_step(t->step.model.engine.net);
    exchange_begin(t->step.peers.exchange);
    status = exchange_finish(t->step.peers.exchange);
    *seconds = base_clock_seconds() - begin;
    return status;
}

static bool stop_wanted(void *context)
{
    return step_polls_stop(&((struct probe *)context)->trainer->step);
}

static enum stn_status probe_open(struct trainer *t, struct probe *out)
{
    const struct trainer_reading reading = trainer_reading(t);
    struct crew_feed_config feed = trainer_data_feed(&t->data, &reading, STN_SUBSET_TRAIN);
    feed.nodes = 0;
    feed.batch = t->meta.settings->micro_batch;
    *out = (struct probe){.trainer = t};
    enum stn_status status = crew_feed_open(&feed, &out->feed);
    if (!status) {
        crew_feed_seek(&out->feed, 0, 0, INT_MAX);
    }
    return status;
}

// ---- tuning ------------------------------------------------------------------------------------

static struct crew_node_profile *own_profile(struct trainer *t)
{
    return &t->assignment.profile.about[t->nodes.rank];
}

static enum stn_status gather_profiles(struct trainer *t)
{
    const struct crew_node_profile own = *own_profile(t);
    enum stn_status status = crew_profile_gather(&t->nodes, &own, &t->assignment.profile);
    if (!status) {
        crew_profile_use_measured(&t->assignment.profile);
    }
    return status;
}

// What was planned and what was really taken, whichever is more.
static enum stn_status check_memory(struct trainer *t)
{
    struct crew_node_profile *own = own_profile(t);
    uint64_t peak = base_memory_peak();
    own->memory_needed = peak > own->memory_needed ? peak : own->memory_needed;
    if (own->memory_limit == 0 || own->memory_needed <= own->memory_limit) {
        return STN_OK;
    }
    return stn_fail(STN_ERR_NO_MEMORY,
                    "node %s: steps with micro-batches of %d took %llu MiB, and it has %llu; use a "
                    "smaller " BASE_SETTING "micro-batch, or give it more memory",
                    crew_own(&t->nodes)->name, t->meta.settings->micro_batch,
                    (unsigned long long)(own->memory_needed >> 20),
                    (unsigned long long)(own->memory_limit >> 20));
}

// Lines, then what the exchange costs at about the split that they lead to.
static enum stn_status measure(struct trainer *t, const struct tune_config *config)
{
    struct crew_profile *profile = &t->assignment.profile;
    struct crew_node_profile *own = own_profile(t);
    const struct tune_subject subject = trainer_subject(t);
    int nodes = t->nodes.size, batch;
    struct crew_splits splits = {0};
    enum stn_status status = tune_lines(config, own);
    if (status) {
        return status;
    }
    double crowding = tune_crowding(profile->about, nodes, t->nodes.rank);
    own->line.fixed_s *= crowding;
    own->line.each_s *= crowding;
    status = crew_agree(&t->nodes, check_memory(t));
    if (!status) {
        status = gather_profiles(t);
    }
    if (!status) {
        status = tune_plan_split(&subject, profile, &batch, &splits);
        status = crew_agree(&t->nodes, status);
    }
    struct wire_trial_step step = {0};
    if (!status) {
        step.seconds = tune_plan_trial(profile, splits.values, trial_s, splits.values);
        // how many steps follow from it: to the bit the same for all
        status = comm_broadcast_message(t->nodes.comm, 0, WIRE_TRIAL_STEP, &step);
    }
    if (!status) {
        status =
            tune_reduction(config, splits.values, step.seconds, own, &profile->cluster.reduction);
    }
    crew_splits_fini(&splits);
    return status ? status : gather_profiles(t);
}

// What no speeds could make feasible is refused before anything is measured.
static enum stn_status check_feasible(struct trainer *t)
{
    const struct tune_subject subject = trainer_subject(t);
    struct crew_splits splits = {0};
    int batch;
    crew_profile_guess(&t->assignment.profile);
    enum stn_status status = tune_plan_split(&subject, &t->assignment.profile, &batch, &splits);
    crew_splits_fini(&splits);
    return status;
}

enum stn_status trainer_measure(struct trainer *t)
{
    struct probe probe = {0};
    double begin = base_clock_seconds();
    comm_set_phase(t->nodes.comm, t->meta.progress.step, "being measured");
    enum stn_status status = check_feasible(t);
    if (!status) {
        status = probe_open(t, &probe);
    }
    status = crew_agree(&t->nodes, status);
    if (!status) {
        const struct tune_probe steps = {.context = &probe,
                                         .alone = step_alone,
                                         .together = step_together,
                                         .exchange = exchange_alone,
                                         .stop = stop_wanted};
        struct tune_config config = tune_defaults;
        config.nodes = &t->nodes;
        config.probe = &steps;
        config.observer = t->observer;
        config.micro_batch = t->meta.settings->micro_batch;
        tune_set_budget(&config, t->meta.settings->tune_seconds);
        tune_take_turns(t->assignment.profile.about, t->nodes.size, t->nodes.rank, &config.slot,
                        &config.slots);
        for (int i = 0; i < t->nodes.size; i++) {
            t->assignment.profile.in_turn |=
                tune_crowding(t->assignment.profile.about, t->nodes.size, i) > 1.0;
        }
        status = measure(t, &config);
    }
    crew_feed_close(&probe.feed);
    exchange_forget_stats(t->step.peers.exchange);
    t->assignment.profile.seconds = base_clock_seconds() - begin;
    return status;
}
