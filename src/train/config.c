// SPDX-License-Identifier: Apache-2.0
#include "train/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "hypertune/decide.h"
#include "hypertune/paper.h"

static struct stn_adapt_options adapt_defaults(void)
{
    const struct hypertune_decide_options decide = hypertune_decide_defaults();
    const struct hypertune_paper_options paper = hypertune_paper_defaults();
    return (struct stn_adapt_options){
        .evidence = decide.detect.evidence_needed,
        .noise = decide.detect.noise_least,
        .move_cost = decide.cost_steps,
        .move_certainty = decide.gain_errors,
        .move_gain = 0.05, // more than decide.gain_least: trades even out what is less
        .move_horizon = decide.horizon_most,
        .probe_steps = decide.probe.first_steps,
        .probe_budget = decide.probe.budget,
        .rebatch = STN_REBATCH_INTERPOLATE,
        .lr_scale = STN_LR_SCALE_NONE,
        .decline_weight = paper.speed_weight,
        .decline_margin = paper.margin,
        .decline_steps = paper.flags,
        .batch_range = paper.range_high - 1.0,
    };
}

struct stn_train_config stn_train_defaults(void)
{
    return (struct stn_train_config){
        .epochs = 10,
        .batch = STN_BATCH_USUAL,
        .lr = 0.02, // 0.05 kills lenet, which has no batch norm
        .momentum = 0.9,
        .weight_decay = 5e-4,
        .warmup_epochs = 0.5,
        .lr_gamma = 0.1,
        .lr_step_epochs = 3.0,
        .label_smoothing = 0.0,
        .nesterov = false,
        .exact = true,
        .schedule = STN_SCHEDULE_COSINE,
        .augment = STN_AUGMENT_FULL,
        .seed = 1,
        .overlap = true,
        .trade = true,
        .tune = STN_TUNE_SEVERAL,
        .tune_seconds = 3.0,
        .efficiency = 0.95,
        .margin = 5.0,
        .timeout = 30.0,
        .adapt = adapt_defaults(),
    };
}

struct whole_limit {
    const char *flag;
    int64_t value, min, max;
};

struct real_limit {
    const char *flag;
    double value, min, below; // min ≤ value < below
};

static enum stn_status check_whole(const struct whole_limit *limit)
{
    if (limit->value < limit->min) {
        return stn_fail(STN_ERR_INVALID, "%s %" PRId64 ": must be at least %" PRId64, limit->flag,
                        limit->value, limit->min);
    }
    if (limit->value > limit->max) {
        return stn_fail(STN_ERR_INVALID, "%s %" PRId64 ": must be at most %" PRId64, limit->flag,
                        limit->value, limit->max);
    }
    return STN_OK;
}

static enum stn_status check_real(const struct real_limit *limit)
{
    if (!(limit->value >= limit->min) || !isfinite(limit->value)) {
        return stn_fail(STN_ERR_INVALID, "%s %g: must be a number of at least %g", limit->flag,
                        limit->value, limit->min);
    }
    if (!(limit->value < limit->below)) {
        return stn_fail(STN_ERR_INVALID, "%s %g: must be below %g", limit->flag, limit->value,
                        limit->below);
    }
    return STN_OK;
}

static enum stn_status check_wholes(const struct stn_train_config *c)
{
    const int64_t many = INT64_C(1) << 53;
    bool auto_size = c->micro_batch == STN_MICRO_BATCH_AUTO;
    bool auto_batch = c->batch == STN_BATCH_AUTO;
    const struct whole_limit limits[] = {
        {"--epochs", c->epochs, 1, 1000000},
        {"--steps", c->steps, 0, many},
        {"--batch", auto_batch ? 1 : c->batch, c->split || c->plan ? 0 : 1, 1 << 24},
        {"--micro-batch", auto_size ? 0 : c->micro_batch, 0, c->batch > 0 ? c->batch : 4096},
        {"--threads", c->threads, 0, 1024},
        {"--loader-threads", c->loader_threads, 0, 1024},
        {"--checkpoint-steps", c->checkpoint_steps, 0, many},
        {"--probe-steps", c->adapt.probe_steps, 1, many},
        {"--decline-steps", c->adapt.decline_steps, 1, 1000},
        {"--schedule", (int64_t)c->schedule, STN_SCHEDULE_CONSTANT, STN_SCHEDULE_COSINE},
        {"--augment", (int64_t)c->augment, STN_AUGMENT_NONE, STN_AUGMENT_FULL},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        enum stn_status status = check_whole(&limits[i]);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

static enum stn_status check_reals(const struct stn_train_config *c)
{
    const struct real_limit limits[] = {
        {"--lr", c->lr, 0.0, INFINITY},
        {"--momentum", c->momentum, 0.0, 1.0},
        {"--weight-decay", c->weight_decay, 0.0, INFINITY},
        {"--warmup-epochs", c->warmup_epochs, 0.0, INFINITY},
        {"--lr-gamma", c->lr_gamma, 0.0, INFINITY},
        {"--lr-step-epochs", c->lr_step_epochs, 0.0, INFINITY},
        {"--label-smoothing", c->label_smoothing, 0.0, 1.0},
        {"--adjust", c->adjust, 0.0, INFINITY},
        {"--margin", c->margin, 0.1, INFINITY},
        {"--tune-seconds", c->tune_seconds, 0.01, INFINITY},
        {"--efficiency", c->efficiency, 0.01, 1.0},
        {"--evidence", c->adapt.evidence, 1.0, INFINITY},
        {"--noise", c->adapt.noise, 1e-6, 1.0},
        {"--move-cost", c->adapt.move_cost, 0.0, INFINITY},
        {"--move-certainty", c->adapt.move_certainty, 0.0, INFINITY},
        {"--move-gain", c->adapt.move_gain, 0.0, 1.0},
        {"--move-horizon", c->adapt.move_horizon, 1.0, INFINITY},
        {"--probe-budget", c->adapt.probe_budget, 1e-6, INFINITY},
        {"--decline-weight", c->adapt.decline_weight, 0.0, 1.0 + 1e-9},
        {"--decline-margin", c->adapt.decline_margin, 0.0, INFINITY},
        {"--batch-range", c->adapt.batch_range, 0.0, 1.0},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        enum stn_status status = check_real(&limits[i]);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

static enum stn_status check_planning(const struct stn_train_config *c)
{
    if (c->plan && c->split) {
        return stn_fail(STN_ERR_INVALID, "--plan and --split: give one of them");
    }
    if (c->batch == STN_BATCH_AUTO && c->split) {
        return stn_fail(STN_ERR_INVALID, "--batch auto: --split says the batch; leave one out");
    }
    if (c->batch == STN_BATCH_AUTO && c->tune == STN_TUNE_NEVER && !c->plan) {
        return stn_fail(STN_ERR_INVALID,
                        "--batch auto: needs the speeds that --no-tune leaves out; "
                        "give a number, or a --plan");
    }
    return STN_OK;
}

enum stn_status train_config_check(const struct stn_train_config *config)
{
    enum stn_status status = check_wholes(config);
    if (!status) {
        status = check_reals(config);
    }
    if (!status) {
        status = check_planning(config);
    }
    if (status) {
        return status;
    }
    if (!config->data.spec) {
        return stn_fail(STN_ERR_INVALID, "--data: which data? For a trial: --data synthetic");
    }
    if (config->schedule == STN_SCHEDULE_STEP && config->lr_step_epochs <= 0.0) {
        return stn_fail(STN_ERR_INVALID, "--lr-step-epochs 0: --schedule step needs more than 0");
    }
    if (config->nesterov && config->momentum <= 0.0) {
        return stn_fail(STN_ERR_INVALID, "--nesterov: needs a --momentum above 0");
    }
    return STN_OK;
}
