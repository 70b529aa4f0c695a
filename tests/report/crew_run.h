// SPDX-License-Identifier: Apache-2.0
// A made-up cluster that tells an observer what a real one would: four nodes, of which one slows
// down and recovers.
#ifndef TESTS_REPORT_CREW_RUN_H
#define TESTS_REPORT_CREW_RUN_H

#include "settings/settings.h"
#include "stannis/train.h"

enum { CREW_NODES = 4, CREW_MICRO_BATCH = 16, CREW_BATCH = 24 * CREW_MICRO_BATCH };

static const int crew_first[CREW_NODES] = {12, 4, 4, 4};
static const int crew_moved[CREW_NODES] = {13, 5, 2, 4};

static inline struct stn_train_start crew_start(void)
{
    static const struct stn_train_node nodes[CREW_NODES] = {{.name = "host", .micro_batches = 12},
                                                            {.name = "csd.0", .micro_batches = 4},
                                                            {.name = "csd.1", .micro_batches = 4},
                                                            {.name = "csd.2", .micro_batches = 4}};
    static const struct stn_dataset_info data = {
        .kind = "synthetic", .channels = 1, .image_size = 28, .classes = 10, .count = {38400, 50}};
    static const struct stn_settings settings = {
        .verb = STN_VERB_TRAIN,
        .values = {.net = "lenet", .data = "synthetic:38400", .epochs = 1, .batch = CREW_BATCH}};
    return (struct stn_train_start){.net = "lenet",
                                    .backend_version = "reference",
                                    .data = &data,
                                    .settings = &settings,
                                    .epochs = 1,
                                    .batch = CREW_BATCH,
                                    .micro_batch = CREW_MICRO_BATCH,
                                    .nodes = CREW_NODES,
                                    .node = nodes,
                                    .steps_total = 100};
}

// Every node computes for `seconds`, times its share of what it should have, times its slowness.
static inline void crew_step(const struct stn_train_observer *o, int64_t number, const int *split,
                             double slowdown)
{
    struct stn_train_node_step nodes[CREW_NODES];
    double longest = 0;
    for (int i = 0; i < CREW_NODES; i++) {
        double slow = i == 2 ? slowdown : 1;
        double compute = slow * split[i] / crew_first[i];
        nodes[i] = (struct stn_train_node_step){
            .micro_batches = split[i], .compute_seconds = compute, .slowdown = slow};
        longest = compute > longest ? compute : longest;
    }
    for (int i = 0; i < CREW_NODES; i++) {
        nodes[i].wait_seconds = longest - nodes[i].compute_seconds;
    }
    const struct stn_train_step step = {.step = number,
                                        .epoch = 1,
                                        .epoch_position = number * CREW_BATCH,
                                        .epoch_samples = 100 * CREW_BATCH,
                                        .images = CREW_BATCH,
                                        .loss = 0.5,
                                        .accuracy = 0.5,
                                        .lr = 0.1,
                                        .seconds = longest,
                                        .images_per_second = CREW_BATCH / longest,
                                        .elapsed_seconds = (double)number,
                                        .eta_seconds = (double)(100 - number),
                                        .nodes = CREW_NODES,
                                        .node = nodes};
    if (o->step) {
        o->step(o->context, &step);
    }
}

static inline void crew_change(const struct stn_train_observer *o, struct stn_train_change change)
{
    if (o->change) {
        o->change(o->context, &change);
    }
}

static inline void crew_slows(const struct stn_train_observer *o)
{
    crew_change(o, (struct stn_train_change){.kind = STN_CHANGE_SPLIT,
                                             .step = 41,
                                             .node = 2,
                                             .before = crew_first,
                                             .after = crew_moved,
                                             .gain = 0.45});
    crew_change(o, (struct stn_train_change){.kind = STN_CHANGE_SLOWED,
                                             .step = 41,
                                             .node = 2,
                                             .before = crew_moved,
                                             .after = crew_moved,
                                             .cause = "another process in its share",
                                             .slowdown = 2.0,
                                             .since_step = 40});
}

static inline void crew_recovers(const struct stn_train_observer *o)
{
    crew_change(o, (struct stn_train_change){.kind = STN_CHANGE_SPLIT,
                                             .step = 63,
                                             .node = 2,
                                             .before = crew_moved,
                                             .after = crew_first,
                                             .gain = 0.08});
    crew_change(o, (struct stn_train_change){.kind = STN_CHANGE_RECOVERED,
                                             .step = 63,
                                             .node = 2,
                                             .before = crew_first,
                                             .after = crew_first,
                                             .cause = "another process in its share",
                                             .slowdown = 2.1,
                                             .since_step = 40,
                                             .cost_seconds = 3.4});
}

static inline void crew_run(const struct stn_train_observer *o)
{
    const struct stn_train_start start = crew_start();
    if (o->start) {
        o->start(o->context, &start);
    }
    for (int64_t step = 1; step <= 100; step++) {
        bool slow = step >= 40 && step<62, moved = step> 41 && step <= 63;
        crew_step(o, step, moved ? crew_moved : crew_first, slow ? 2 : 1);
        if (step == 41) {
            crew_slows(o);
        }
        if (step == 63) {
            crew_recovers(o);
        }
    }
    if (o->nodes) {
        o->nodes(o->context, start.node, CREW_NODES);
    }
}

#endif
