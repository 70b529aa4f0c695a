// SPDX-License-Identifier: Apache-2.0
#include "train/micro_batch.h"

#include <stdlib.h>

#include "stannis/log.h"
#include "train/bench.h"
#include "train/engine.h"
#include "train/memory.h"
#include "train/nodes.h"

// With BatchNorm smaller ones are faster still, but their statistics are poorer.
enum { SMALLEST = 4, SMALLEST_WITH_BATCHNORM = 16 };

static struct stn_bench_config config_with(const struct stn_bench_config *config, int micro_batch)
{
    struct stn_bench_config c = *config;
    c.micro_batch = c.batch = micro_batch;
    c.profile = NULL;
    return c;
}

// Candidates that fit, by their plans: nothing is allocated yet.
static enum stn_status find_candidates(const struct stn_bench_config *config,
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
        status = train_memory_fits(kernel, &net, TRAIN_EXACT_BYTES + TRAIN_MOMENTUM_BYTES,
                                   config->memory, &fits);
        if (!status && fits) {
            out->at[out->count++].micro_batch = g;
        }
    }
    kernel_destroy(kernel);
    return status;
}

enum stn_status train_micro_batch_choose(const struct stn_bench_config *config, int batch,
                                         struct stn_micro_batch_trials *out)
{
    const struct stn_model_info *model = NULL;
    enum stn_status status = train_find_model(config->net, &model);
    *out = (struct stn_micro_batch_trials){0};
    if (!status) {
        status = find_candidates(config, model, batch, out);
    }
    if (!status && out->count == 0) {
        return stn_fail(STN_ERR_INVALID,
                        "--micro-batch auto: of 4, 8, 16 and 32 (with BatchNorm 16 and 32) none "
                        "fits the memory and divides the batch of %d; give a number",
                        batch);
    }
    for (int i = 0; i < out->count && !status; i++) {
        struct stn_micro_batch_trial *trial = &out->at[i];
        struct stn_bench_config c = config_with(config, trial->micro_batch);
        status = train_bench_micro_batches(&c, &trial->images_per_second);
        if (trial->images_per_second > out->at[out->best].images_per_second) {
            out->best = i;
        }
    }
    return status;
}

// Everybody's trials [nodes] into one: candidates that all have tried, with the sum of speeds.
static struct stn_micro_batch_trials add_up(const struct stn_micro_batch_trials *all, int nodes)
{
    struct stn_micro_batch_trials sum = {0};
    for (int i = 0; i < all[0].count; i++) {
        struct stn_micro_batch_trial one = {.micro_batch = all[0].at[i].micro_batch};
        int tried = 0;
        for (int n = 0; n < nodes; n++) {
            for (int k = 0; k < all[n].count; k++) {
                if (all[n].at[k].micro_batch == one.micro_batch) {
                    one.images_per_second += all[n].at[k].images_per_second;
                    tried++;
                }
            }
        }
        if (tried == nodes) {
            sum.at[sum.count++] = one;
        }
    }
    for (int i = 1; i < sum.count; i++) {
        bool faster = sum.at[i].images_per_second > sum.at[sum.best].images_per_second;
        sum.best = faster ? i : sum.best;
    }
    return sum;
}

// Node 0's choice is everybody's.
static enum stn_status agree_on(struct train_nodes *nodes, struct stn_micro_batch_trials *trials)
{
    if (nodes->size == 1) {
        return STN_OK;
    }
    struct stn_micro_batch_trials *all = calloc((size_t)nodes->size, sizeof(*all));
    enum stn_status status =
        all ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "no memory for %d nodes", nodes->size);
    status = train_nodes_agree(nodes, status);
    if (!status) {
        status = comm_all_gather(nodes->comm, COMM_CONTROL, trials, sizeof(*trials), all);
    }
    if (!status) {
        *trials = add_up(all, nodes->size);
        status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, trials, sizeof(*trials));
    }
    free(all);
    if (!status && trials->count == 0) {
        status =
            stn_fail(STN_ERR_INVALID,
                     "--micro-batch auto: no size fits the memory of all nodes; give a number");
    }
    return status;
}

enum stn_status train_micro_batch_settle(struct stn_train_config *config,
                                         struct stn_model_shape shape, int threads,
                                         struct train_nodes *nodes)
{
    if (config->micro_batch != STN_MICRO_BATCH_AUTO) {
        return STN_OK;
    }
    const struct stn_bench_config bench = {
        .net = config->net,
        .shape = shape,
        .threads = threads,
        .backend = config->backend,
        .memory = config->memory ? config->memory : train_nodes_own(nodes)->memory,
        .steps = 1,
    };
    struct stn_micro_batch_trials trials;
    enum stn_status status = train_micro_batch_choose(&bench, config->batch, &trials);
    status = train_nodes_agree(nodes, status);
    if (!status) {
        status = agree_on(nodes, &trials);
    }
    if (!status) {
        config->micro_batch = trials.at[trials.best].micro_batch;
    }
    if (!status && nodes->rank == 0) {
        stn_log(STN_LOG_INFO, "micro-batches of %d are the fastest here (%.1f img/s)",
                config->micro_batch, trials.at[trials.best].images_per_second);
    }
    return status;
}
