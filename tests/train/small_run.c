// SPDX-License-Identifier: Apache-2.0
#include "small_run.h"

struct stn_train_config small_config(const char *out_dir)
{
    struct stn_train_config config = stn_train_defaults();
    config.net = "lenet";
    config.data.spec = "synthetic:200";
    config.data.classes = 4;
    config.data.image_size = 28;
    config.epochs = 2;
    config.batch = 32;
    config.micro_batch = 12; // the last micro-batch of a step is short
    config.threads = 1;
    config.seed = 11;
    config.tune = STN_TUNE_NEVER; // nothing here may depend on the time of day
    config.out_dir = out_dir;
    return config;
}

static bool reached(void *context)
{
    const struct stop_at *stop = context;
    return stop->step > 0 && stop->seen >= stop->step;
}

static void count_step(void *context, const struct stn_train_step *step)
{
    struct stop_at *stop = context;
    stop->seen = step->step;
}

struct stn_train_observer stop_at_install(struct stop_at *stop, struct stn_train_config *config)
{
    config->stop_requested = reached;
    config->stop_context = stop;
    return (struct stn_train_observer){.context = stop, .step = count_step};
}
