// SPDX-License-Identifier: Apache-2.0
#include "tune/tune.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const struct tune_config tune_defaults = {
    .fit = {.top = 8,
            .precision = 0.02,
            .tolerable = 0.04,
            .noise = 0.10,
            .outliers = 0.25,
            .samples_least = 3,
            .samples_most = 24},
    .sample_s = 0.4, // ten periods of an emulated share at least: the last one is all or nothing
    .budget_s = 3.0,
    .retries = 1,
};

// A round takes at least this part of the budget, and at most so long.
static const double round_share = 1.0 / 6.0, round_most_s = 10.0;
// A node that has waited may have a full CPU quota, and then computes without a pause until that is
// used up. Quotas have periods of 100 ms by default (containers); emulated ones are shorter.
static const double settling_s = 0.1;
// Measuring that is disturbed may take so many times its budget; then it begins again, once.
static const double patience = 3.0;

void tune_set_budget(struct tune_config *config, double seconds)
{
    double longest = tune_defaults.sample_s / tune_defaults.budget_s * seconds;
    config->budget_s = seconds;
    config->sample_s = fmin(tune_defaults.sample_s, longest);
}

// The weight update is most of a step's fixed part. How exactly it is known: to this part of
// itself, and to this part of a micro-batch.
static const double fixed_error_share = 0.5, each_error_share = 0.02;

// ---- one node ----------------------------------------------------------------------------------

struct tuner {
    const struct tune_config *config;
    struct plan_fit_options options; // as suits this node's speed
    struct plan_sample samples[PLAN_FIT_SAMPLES_MAX];
    int count, taken; // samples since measuring began anew, and in all
    double spent_s;   // since measuring began anew
    struct plan_fit fit, best;
    int retries;
    double shortest_s, longest_s; // of a step of one micro-batch; of a sample
    bool ready, done;             // options are chosen; the line is as good as it gets
};

// Does steps until they fill a sample: *seconds is their mean, *spent their sum. It also notes the
// weight update, which every step has: fitting a line would have to extrapolate it.
static enum stn_status sample_take(struct tuner *tuner, int micro_batches, double *seconds,
                                   double *spent)
{
    const struct tune_probe *probe = tuner->config->probe;
    double sum = 0.0, updates = 0.0;
    int steps = 0;
    do {
        struct tune_step step = {0};
        enum stn_status status = probe->alone(probe->context, micro_batches, &step);
        if (status) {
            return status;
        }
        sum += step.wall_s;
        updates += step.update_s;
        steps++;
    } while (sum < tuner->config->sample_s);
    tuner->options.fixed_s = updates / steps;
    tuner->options.fixed_error_s = fixed_error_share * tuner->options.fixed_s +
                                   each_error_share * (sum / steps / micro_batches);
    *seconds = sum / steps;
    *spent += sum;
    return STN_OK;
}

static int clamp(double value, int least, int most)
{
    return value < least ? least : value > most ? most : (int)value;
}

// The first samples are of cold caches. They only say how large and how many steps the budget
// allows.
static enum stn_status get_ready(struct tuner *tuner)
{
    const struct tune_config *config = tuner->config;
    double each_s = 0.0, spent = 0.0;
    enum stn_status status = sample_take(tuner, 1, &each_s, &spent);
    if (!status) {
        status = sample_take(tuner, 1, &each_s, &spent);
    }
    if (status) {
        return status;
    }
    struct plan_fit_options *options = &tuner->options;
    // samples_least each of 1, top / 2 and top; of a very slow node's time hardly any is fixed
    int top_least = each_s * options->samples_least > config->budget_s ? 1 : 2;
    options->top =
        clamp(config->budget_s / (1.5 * options->samples_least * each_s), top_least, options->top);
    double mean_s = fmax(config->sample_s, each_s * (1 + options->top) / 2.0);
    options->samples_most =
        clamp(4.0 * config->budget_s / mean_s, 4 * options->samples_least, options->samples_most);
    tuner->shortest_s = each_s;
    tuner->longest_s = fmax(config->sample_s, each_s * options->top);
    tuner->ready = true;
    plan_fit_samples(NULL, 0, options, &tuner->fit);
    return STN_OK;
}

// Fits the line. Once the budget is spent, a line that could be better is taken as it is.
static void fit_samples(struct tuner *tuner)
{
    double budget_s = tuner->config->budget_s;
    plan_fit_samples(tuner->samples, tuner->count, &tuner->options, &tuner->fit);
    if (tuner->fit.verdict == PLAN_FIT_MORE && tuner->spent_s > budget_s) {
        struct plan_fit_options last = tuner->options;
        struct plan_fit fit;
        last.samples_most = tuner->count;
        plan_fit_samples(tuner->samples, tuner->count, &last, &fit);
        if (fit.verdict == PLAN_FIT_GOOD || tuner->spent_s > patience * budget_s) {
            tuner->fit = fit;
        }
    }
}

// Notes a sample. A disturbed measurement is thrown away and done again; if that is disturbed, too,
// the line with less noise stays.
static void sample_note(struct tuner *tuner, struct plan_sample sample, double spent_s)
{
    tuner->samples[tuner->count++] = sample;
    tuner->taken++;
    tuner->spent_s += spent_s;
    fit_samples(tuner);
    if (tuner->fit.verdict == PLAN_FIT_MORE) {
        return;
    }
    bool sure = tuner->fit.verdict == PLAN_FIT_GOOD;
    if (sure || tuner->best.samples == 0 || tuner->fit.noise < tuner->best.noise) {
        tuner->best = tuner->fit;
    }
    tuner->done = sure || tuner->retries == 0;
    if (!tuner->done) {
        tuner->retries--;
        tuner->count = 0;
        tuner->spent_s = 0.0;
        plan_fit_samples(NULL, 0, &tuner->options, &tuner->fit);
    }
}

// Does steps that are not measured, until the quota is as used up as it will be in a training;
// none, if a single step is so long that a quota hardly shows in it.
static enum stn_status settle(const struct tuner *tuner)
{
    const struct tune_probe *probe = tuner->config->probe;
    enum stn_status status = STN_OK;
    double sum = 0.0;
    while (!status && tuner->shortest_s < settling_s && sum < settling_s) {
        struct tune_step step = {0};
        status = probe->alone(probe->context, 1, &step);
        sum += step.wall_s;
    }
    return status;
}

// This node's part of a round. A node whose line is done goes on computing, so that the others
// measure a machine as busy as it will be in the training.
static enum stn_status take_part(struct tuner *tuner, double round_s)
{
    if (!tuner->ready) {
        return get_ready(tuner);
    }
    enum stn_status status = settle(tuner);
    double spent = 0.0, last = 0.0;
    while (!status && (spent == 0.0 || spent + 0.5 * last < round_s)) {
        double seconds = 0.0, before = spent;
        int micro_batches = tuner->done ? tuner->options.top : tuner->fit.next;
        status = sample_take(tuner, micro_batches, &seconds, &spent);
        last = spent - before;
        if (!status && !tuner->done) {
            sample_note(tuner, (struct plan_sample){micro_batches, seconds}, last);
        }
    }
    return status;
}

// ---- all nodes ---------------------------------------------------------------------------------

static struct wire_round report_of(const struct tuner *tuner, enum stn_status status)
{
    const struct tune_probe *probe = tuner->config->probe;
    const struct plan_fit *fit = tuner->done ? &tuner->best : &tuner->fit;
    return (struct wire_round){.failed = status != STN_OK,
                               .done = tuner->done,
                               .sure = tuner->best.verdict == PLAN_FIT_GOOD,
                               .stop = probe->stop && probe->stop(probe->context),
                               .samples = tuner->taken,
                               .fixed_s = fit->line.fixed_s,
                               .each_s = fit->line.each_s,
                               .longest_s = tuner->longest_s};
}

struct tune_state {
    bool failed, stop, done;
    double round_s;
};

static struct tune_state state_of(const struct tune_config *config,
                                  const struct wire_round *reports, int count)
{
    struct tune_state state = {.done = true, .round_s = round_share * config->budget_s};
    for (int i = 0; i < count; i++) {
        state.failed |= reports[i].failed;
        state.stop |= reports[i].stop;
        state.done &= reports[i].done;
        state.round_s = fmax(state.round_s, fmin(reports[i].longest_s, round_most_s));
    }
    return state;
}

static void tell(const struct tune_config *config, const struct wire_round *reports,
                 struct stn_tune_node *told, double begin_s)
{
    int count = config->nodes->size;
    if (!config->observer || !config->observer->tuning) {
        return;
    }
    for (int i = 0; i < count; i++) {
        bool news = reports[i].done && !told[i].done;
        told[i] = (struct stn_tune_node){.name = comm_name(config->nodes->comm, i),
                                         .samples = reports[i].samples,
                                         .done = reports[i].done,
                                         .sure = reports[i].sure,
                                         .news = news,
                                         .fixed_seconds = reports[i].fixed_s,
                                         .each_seconds = reports[i].each_s};
    }
    const struct stn_tune_progress progress = {.seconds = base_clock_seconds() - begin_s,
                                               .in_turn = config->slots > 1,
                                               .nodes = count,
                                               .node = told,
                                               .micro_batch = config->micro_batch};
    config->observer->tuning(config->observer->context, &progress);
}

static enum stn_status rounds(struct tuner *tuner, struct wire_round *reports,
                              struct stn_tune_node *told)
{
    const struct tune_config *config = tuner->config;
    struct crew *nodes = config->nodes;
    struct tune_state state = {.round_s = round_share * config->budget_s};
    double begin_s = base_clock_seconds();
    for (int64_t round = 0; !state.done; round++) {
        bool turn = round % config->slots == config->slot;
        enum stn_status status = turn ? take_part(tuner, state.round_s) : STN_OK;
        const struct wire_round own = report_of(tuner, status);
        enum stn_status told_all = comm_all_gather_message(nodes->comm, WIRE_ROUND, &own, reports);
        if (told_all) {
            return told_all;
        }
        state = state_of(config, reports, nodes->size);
        if (state.failed) {
            return crew_agree(nodes, status);
        }
        if (state.stop) {
            return STN_ERR_INTERRUPTED;
        }
        tell(config, reports, told, begin_s);
    }
    return STN_OK;
}

enum stn_status tune_lines(const struct tune_config *config, struct crew_node_profile *own)
{
    size_t size = (size_t)config->nodes->size;
    struct tuner *tuner = calloc(1, sizeof(*tuner));
    struct wire_round *reports = calloc(size, sizeof(*reports));
    struct stn_tune_node *told = calloc(size, sizeof(*told));
    enum stn_status status =
        tuner && reports && told
            ? STN_OK
            : stn_fail(STN_ERR_NO_MEMORY, "no memory to measure %zu nodes", size);
    status = crew_agree(config->nodes, status);
    if (!status) {
        assert(tuner && reports && told); // all nodes have agreed that they have theirs
        tuner->config = config;
        tuner->options = config->fit;
        tuner->retries = config->retries;
        status = rounds(tuner, reports, told);
    }
    if (!status) {
        const struct plan_fit *fit = &tuner->best;
        own->line = fit->line;
        own->fixed_error_s = fit->fixed_error_s;
        own->each_error_s = fit->each_error_s;
        own->noise = fit->noise;
        own->samples = tuner->taken;
        own->outliers = fit->outliers;
        snprintf(own->doubt, sizeof(own->doubt), "%s", fit->why ? fit->why : "");
    }
    free(told);
    free(reports);
    free(tuner);
    return status;
}

// ---- turns -------------------------------------------------------------------------------------

double tune_crowding(const struct crew_node_profile about[], int count, int rank)
{
    double cpus = 0.0;
    for (int i = 0; i < count; i++) {
        cpus += about[i].machine == about[rank].machine ? about[i].cpus : 0.0;
    }
    double crowding = cpus / about[rank].machine_cpus;
    return crowding > 1.001 ? crowding : 1.0; // shares are sums of decimals
}

void tune_take_turns(const struct crew_node_profile about[], int count, int rank, int *slot,
                     int *slots)
{
    *slot = 0;
    *slots = 1;
    if (tune_crowding(about, count, rank) == 1.0) {
        return;
    }
    *slots = 0;
    for (int i = 0; i < count; i++) {
        bool same = about[i].machine == about[rank].machine;
        *slot += same && i < rank;
        *slots += same;
    }
}
