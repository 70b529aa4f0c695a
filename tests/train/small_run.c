// SPDX-License-Identifier: Apache-2.0
#include "small_run.h"

struct settings small_settings(const char *out)
{
    struct settings settings = settings_defaults(STN_VERB_TRAIN);
    settings.net = "lenet";
    settings.data = "synthetic:200";
    settings.classes = 4;
    settings.image_size = 28;
    settings.epochs = 2;
    settings.batch = 32;
    settings.micro_batch = 12; // the last micro-batch of a step is short
    settings.threads = 1;
    settings.seed = 11;
    settings.tune = false; // nothing here may depend on the time of day
    settings.out = out;
    return settings;
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

struct stn_train_observer stop_at_observer(struct stop_at *stop)
{
    return (struct stn_train_observer){
        .context = stop, .step = count_step, .stop_requested = reached, .stop_context = stop};
}
