// SPDX-License-Identifier: Apache-2.0
// A made-up training that tells an observer what a real one would: two epochs of ten steps, a tenth
// of a second each.
#ifndef TESTS_REPORT_RUN_H
#define TESTS_REPORT_RUN_H

#include "settings/settings.h"
#include "stannis/train.h"

enum { RUN_EPOCHS = 2, RUN_STEPS = 10, RUN_BATCH = 10 };

static inline void run_start(const struct stn_train_observer *o)
{
    static const struct stn_dataset_info data = {
        .kind = "synthetic", .channels = 1, .image_size = 28, .classes = 10, .count = {100, 50}};
    static const struct stn_settings settings = {.verb = STN_VERB_TRAIN,
                                                 .values = {.net = "lenet",
                                                            .data = "synthetic:100",
                                                            .epochs = RUN_EPOCHS,
                                                            .batch = RUN_BATCH,
                                                            .lr = 0.1,
                                                            .seed = UINT64_MAX,
                                                            .schedule = SETTINGS_COSINE,
                                                            .out = "run"}};
    const struct stn_train_start start = {.net = "lenet",
                                          .backend_version = "reference",
                                          .data = &data,
                                          .settings = &settings,
                                          .epochs = RUN_EPOCHS,
                                          .batch = RUN_BATCH,
                                          .micro_batch = 5,
                                          .threads = 2,
                                          .loader_threads = 1,
                                          .cpu_affinity = 4,
                                          .cpu_quota = 1.5,
                                          .parameters = 61706,
                                          .steps_total = RUN_EPOCHS * RUN_STEPS,
                                          .macs = 416520,
                                          .planned_bytes = 1 << 20,
                                          .seed = UINT64_MAX};
    if (o->start) {
        o->start(o->context, &start);
    }
}

static inline void run_epoch(const struct stn_train_observer *o, int epoch, double step_seconds,
                             double loss)
{
    for (int i = 1; i <= RUN_STEPS; i++) {
        int64_t number = (epoch - 1) * RUN_STEPS + i;
        const struct stn_train_step step = {
            .step = number,
            .epoch = epoch,
            .epoch_position = i * RUN_BATCH,
            .epoch_samples = RUN_STEPS * RUN_BATCH,
            .images = RUN_BATCH,
            .loss = loss,
            .accuracy = 0.5,
            .lr = 0.1,
            .seconds = step_seconds,
            .wait_seconds = 0.001,
            .images_per_second = RUN_BATCH / step_seconds,
            .elapsed_seconds = (double)number * step_seconds,
            .eta_seconds = (double)(RUN_EPOCHS * RUN_STEPS - number) * step_seconds};
        if (o->step) {
            o->step(o->context, &step);
        }
    }
    for (int64_t done = 0; o->eval && done <= 50; done++) {
        o->eval(o->context, done, 50);
    }
    const struct stn_train_epoch row = {.epoch = epoch,
                                        .train_loss = loss,
                                        .train_accuracy = 0.5,
                                        .val_loss = 0.25,
                                        .val_accuracy = 0.875,
                                        .seconds = RUN_STEPS * step_seconds,
                                        .eval_seconds = 0.5,
                                        .images_per_second = RUN_BATCH / step_seconds,
                                        .best = epoch == 1};
    if (o->epoch) {
        o->epoch(o->context, &row);
    }
    if (o->saved) {
        o->saved(o->context, "run/last.safetensors");
    }
}

static inline void run_all(const struct stn_train_observer *o, double step_seconds)
{
    run_start(o);
    for (int epoch = 1; epoch <= RUN_EPOCHS; epoch++) {
        run_epoch(o, epoch, step_seconds, 0.5);
    }
}

#endif
