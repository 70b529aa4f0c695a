// SPDX-License-Identifier: Apache-2.0
#include "sim/paper_trial.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "sim/rack.h"

// A load comes after ten steps; within twenty more every policy has done what it does.
enum { LOADED_FROM = 11, SETTLED_FROM = 41, STEPS = 60 };

// The backward pass takes about two thirds of a micro-batch; gradients leave while it runs.
static const double backward_part = 2.0 / 3.0;

// ---- a run -------------------------------------------------------------------------------------

static int micro_batch_of(const struct sim_trial *t)
{
    return t->micro_batch > 0 ? t->micro_batch : 1;
}

static struct sim_rack_config rack_of(const struct sim_trial *t)
{
    return (struct sim_rack_config){
        .host = {.count = t->hosts,
                 .line = {.each_s = 1.0 / t->host_speed},
                 .cap = t->batch_host,
                 .link = t->link,
                 .power = {.base_w = t->server_w}},
        .csd = {.count = t->csds,
                .line = {.each_s = t->csds > 0 ? 1.0 / t->csd_speed : 1.0},
                .cap = t->batch_csd,
                .private_samples = t->private_each,
                .link = t->link,
                .power = {.busy_w = t->csd_w}},
        .micro_batch = micro_batch_of(t),
        .slowdown = t->slowdown > 0.0 ? t->slowdown : 1.0,
        .slowdown_from = LOADED_FROM,
    };
}

// The paper's batches are bounds whose sum is asked for, so every policy begins with them.
static struct sim_config config_of(const struct sim_trial *t)
{
    static const int64_t settled = SETTLED_FROM;
    struct sim_config config = sim_defaults();
    config.policy = hypertune_policy_find(t->policy);
    config.plan = plan_policy_defaults;
    // The paper's third way: by CPU usage, "almost the same result" as the second, whose table of
    // speeds it does not print.
    config.paper.rebatch = HYPERTUNE_CPU;
    config.micro_batch = micro_batch_of(t);
    int batch = t->batch > 0 ? t->batch : t->hosts * t->batch_host + t->csds * t->batch_csd;
    config.micro_batches = batch / config.micro_batch;
    config.public_samples = t->public_images;
    config.epochs = STEPS; // steps come first
    config.steps = STEPS;
    config.gradient_bytes = t->gradient_bytes;
    config.overlap = t->ours ? backward_part : 0.0;
    config.phase_begins = &settled;
    config.phase_count = 1;
    return config;
}

static void observe(void *context, const struct sim_step *step)
{
    struct sim_trial_result *result = context;
    if (step->then == HYPERTUNE_REPLAN && step->step >= LOADED_FROM &&
        result->reaction_steps == 0) {
        result->reaction_steps = step->step - LOADED_FROM + 1;
    }
}

enum stn_status sim_trial_run(const struct sim_trial *trial, struct sim_trial_result *out)
{
    struct sim_rack_config rack_config = rack_of(trial);
    struct sim_config config = config_of(trial);
    struct sim_observer observer = {.context = out, .step = observe};
    struct sim_rack rack;
    struct sim_result result;
    *out = (struct sim_trial_result){0};
    assert(config.policy);
    enum stn_status status = sim_rack_init(&rack, &rack_config);
    if (status != STN_OK) {
        return status;
    }
    status = sim_run(&rack.cluster, &config, &observer, &result);
    if (status == STN_OK) {
        out->images_per_s = result.phases[result.phase_count - 1].images_per_s;
        out->energy = sim_energy_of(&result, rack.powers,
                                    trial->ours ? SIM_WAITING_SLEEPS : SIM_WAITING_SPINS);
        out->batch = result.micro_batches * config.micro_batch;
        out->batch_host_last = result.nodes[0].split_last * config.micro_batch;
        out->unreached = result.unreached;
        sim_result_fini(&result);
    }
    sim_rack_fini(&rack);
    return status;
}

// ---- the report --------------------------------------------------------------------------------

double sim_paper_error(const struct sim_paper_row *row)
{
    return row->simulated / row->paper - 1.0;
}

struct sim_paper_row *sim_paper_add(struct sim_paper_report *report, enum sim_paper_row_kind kind,
                                    const char *where, const char *unit, double paper,
                                    double simulated, const char *what, ...)
{
    assert(report->row_count < SIM_PAPER_ROWS_MAX);
    struct sim_paper_row *row = &report->rows[report->row_count++];
    *row = (struct sim_paper_row){
        .kind = kind, .where = where, .unit = unit, .paper = paper, .simulated = simulated};
    va_list args;
    va_start(args, what);
    vsnprintf(row->what, sizeof(row->what), what, args);
    va_end(args);
    return row;
}

struct sim_paper_curve *sim_paper_add_curve(struct sim_paper_report *report, const char *label)
{
    assert(report->curve_count < SIM_PAPER_CURVES_MAX);
    struct sim_paper_curve *curve = &report->curves[report->curve_count++];
    *curve = (struct sim_paper_curve){.label = label};
    return curve;
}

void sim_paper_curve_add(struct sim_paper_curve *curve, double x, double y)
{
    assert(curve->count < SIM_PAPER_POINTS_MAX);
    curve->x[curve->count] = x;
    curve->y[curve->count] = y;
    curve->count++;
}
