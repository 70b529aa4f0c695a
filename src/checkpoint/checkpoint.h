// SPDX-License-Identifier: Apache-2.0
// A training at rest: a safetensors file that holds
//
//     NAME                        weights and running statistics, under their nn_tensor names
//     optimizer.STATE.NAME        the optimizer's state arrays: with sgd optimizer.momentum.NAME
//     __metadata__                "stannis.…": the format version, what was trained on what, every
//                                 setting that matters for going on, and how far it came;
//                                 numbers as texts, reals as hex floats (exact)
//
// Which settings these are says the table of settings; the rest has a table of its own in
// checkpoint_meta.c.
#ifndef CHECKPOINT_CHECKPOINT_H
#define CHECKPOINT_CHECKPOINT_H

#include <stdint.h>

#include "checkpoint/safetensors.h"
#include "kernel/kernel.h"
#include "nn/net.h"
#include "optim/optimizer.h"
#include "settings/settings.h"

// How far a training came. Always between two steps.
struct checkpoint_progress {
    int epoch;                        // from 0: the one being trained
    int64_t position;                 // samples of it done
    int64_t samples_seen;             // over all epochs: what the schedule goes by
    int64_t step;                     // steps done
    struct kernel_loss_totals totals; // of the epoch so far
    double last_loss,
        last_accuracy;    // training loss and validation accuracy of the last whole epoch
    double best_accuracy; // −1: none yet
    // What the policy may change while the training runs; at its beginning the settings' own.
    int batch;
    double lr;
};

struct checkpoint_meta {
    const struct settings *settings; // as trained: nothing is left to be chosen
    int64_t train_samples;           // in the training split
    int channels, classes;
    const char *class_list; // a JSON array of the names
    float mean[3], std[3];
    struct checkpoint_progress progress;
};

STN_MUST_CHECK enum stn_status checkpoint_save(const char *path, const struct checkpoint_meta *meta,
                                               struct nn_net *net, struct optim *optim);

struct checkpoint;

// Reads and checks all but the tensors' fit to a network. What it hands out is borrowed from it.
STN_MUST_CHECK enum stn_status checkpoint_open(const char *path, struct checkpoint **out);
void checkpoint_close(struct checkpoint *checkpoint);
const struct checkpoint_meta *checkpoint_meta(const struct checkpoint *checkpoint);
const char *const *checkpoint_class_names(const struct checkpoint *checkpoint);
// Into a net of the same model and shape. `optim` may be NULL: not wanted.
STN_MUST_CHECK enum stn_status checkpoint_load(const struct checkpoint *checkpoint,
                                               struct nn_net *net, struct optim *optim);

// Completes a user's settings with the checkpoint's: what still has its default is taken over; what
// defines the training (network, batch, seed, …) must not differ; the rest is the user's to change.
STN_MUST_CHECK enum stn_status checkpoint_merge(const struct checkpoint *checkpoint,
                                                struct settings *settings);

// ---- metadata as texts (checkpoint_meta.c) -----------------------------------------------------

struct base_arena;

// The pairs live in the arena; NULL when memory is out.
struct safetensors_pair *checkpoint_meta_encode(const struct checkpoint_meta *meta,
                                                struct base_arena *arena, int *count);
// Texts are borrowed from `file`. `label` is for messages. out->settings is `settings`.
STN_MUST_CHECK enum stn_status checkpoint_meta_decode(const struct safetensors *file,
                                                      const char *label, struct settings *settings,
                                                      struct checkpoint_meta *out);
STN_MUST_CHECK enum stn_status checkpoint_meta_merge(const struct checkpoint_meta *meta,
                                                     const char *label, struct settings *settings);

// Class names as one JSON text, to be freed; ERR_INVALID when a name is not UTF-8.
STN_MUST_CHECK enum stn_status checkpoint_class_list(const char *const *names, int count,
                                                     char **out);

#endif
