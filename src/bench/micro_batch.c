// SPDX-License-Identifier: Apache-2.0
#include "bench/micro_batch.h"

#include "base/setting_mark.h"
#include "bench/bench.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "optim/optimizer.h"

// With BatchNorm smaller ones are faster still, but their statistics are poorer.
enum { SMALLEST = 4, SMALLEST_WITH_BATCHNORM = 16 };

static struct bench_config config_with(const struct bench_config *config, int micro_batch)
{
    struct bench_config c = *config;
    c.micro_batch = c.batch = micro_batch;
    c.profile = NULL;
    return c;
}

// Candidates that fit, by their plans: nothing is allocated yet.
static enum stn_status find_candidates(const struct bench_config *config,
                                       const struct stn_model_info *model, int batch,
                                       struct stn_micro_batch_trials *out)
{
    struct kernel *kernel;
    enum stn_status status =
        kernel_create(config->backend, config->threads > 0 ? config->threads : 1, &kernel);
    if (status) {
        return status;
    }
    struct nn_net_config net = {.model = model, .shape = config->shape};
    int smallest = model->has_batchnorm ? SMALLEST_WITH_BATCHNORM : SMALLEST;
    for (int g = smallest; g <= STN_MICRO_BATCH_MOST && !status; g *= 2) {
        bool fits = false;
        net.micro_batch = g;
        if (batch > 0 && batch % g != 0) {
            continue;
        }
        status = engine_memory_fits(
            kernel, &net, ENGINE_EXACT_BYTES + optim_rule_bytes(&optim_rules[config->optimizer]),
            config->memory, &fits);
        if (!status && fits) {
            out->at[out->count++].micro_batch = g;
        }
    }
    kernel_destroy(kernel);
    return status;
}

enum stn_status bench_micro_batch_choose(const struct bench_config *config, int batch,
                                         struct stn_micro_batch_trials *out)
{
    const struct stn_model_info *model = NULL;
    enum stn_status status = engine_find_model(config->net, &model);
    *out = (struct stn_micro_batch_trials){0};
    if (!status) {
        status = find_candidates(config, model, batch, out);
    }
    if (!status && out->count == 0) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING
                        "micro-batch auto: of 4, 8, 16 and 32 (with BatchNorm 16 and 32) none "
                        "fits the memory and divides the batch of %d; give a number",
                        batch);
    }
    for (int i = 0; i < out->count && !status; i++) {
        struct stn_micro_batch_trial *trial = &out->at[i];
        struct bench_config c = config_with(config, trial->micro_batch);
        status = bench_micro_batches(&c, &trial->images_per_second);
        if (trial->images_per_second > out->at[out->best].images_per_second) {
            out->best = i;
        }
    }
    return status;
}
