// SPDX-License-Identifier: Apache-2.0
// Training, evaluation and prediction.
//
// stn_train_run does a whole training: opens the data, builds the network, steps through epochs,
// evaluates after each, saves OUT/last.safetensors and OUT/best.safetensors where the setting `out`
// says OUT. Settings (stannis/settings.h) are read while the call lasts and are not changed. A
// caller who wants to watch passes an observer; it is called on the calling thread between steps.
#ifndef STANNIS_TRAIN_H
#define STANNIS_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stannis/dataset.h"
#include "stannis/model.h"
#include "stannis/plan.h"
#include "stannis/profile.h"
#include "stannis/session.h"
#include "stannis/settings.h"
#include "stannis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// What holds for the whole run; strings are valid while it lasts.
struct stn_train_start {
    const char *net, *backend_version;
    const struct stn_dataset_info *data;
    const struct stn_settings *settings; // complete: with what a checkpoint or a plan said
    int epochs, batch, micro_batch, threads, loader_threads;
    int nodes;
    const struct stn_train_node *node; // [nodes], nothing done yet
    int64_t private_samples;           // of all nodes together
    int cpu_affinity;                  // where `threads` came from
    double cpu_quota;                  // 0: none
    int64_t parameters, steps_total, macs;
    size_t planned_bytes; // activations, parameters, optimizer state, the program itself
    int64_t first_step;   // > 0 when resumed
    uint64_t seed;
};

// One node of the run, from its beginning to now.
struct stn_train_node {
    const char *name;
    int threads;
    int micro_batches; // of a full step, by the split in force
    double cpus;       // what it may use: a quota, else its threads
    int64_t images, private_images, public_images;
    int64_t skipped;                      // bad samples left out
    double compute_seconds, wait_seconds; // waiting for other nodes and the exchange
    double exchange_seconds;              // CPU time of its communication thread
    double exposed_seconds; // of the exchange after the last node had computed, alike on all
    double exposed_median_seconds, exposed_p90_seconds;     // of one of the last 255 steps
    int64_t gradient_bytes, statistic_bytes, control_bytes; // sent; there is no kind for samples
};

// What one node did in a step, as it told node 0.
struct stn_train_node_step {
    int micro_batches;                     // that it computed,
    int planned;                           // and that the split gave it
    double compute_seconds, wait_seconds;  // until it was ready to exchange, and until all were
    double data_seconds;                   // of computing: waited for data
    double queue_seconds;                  // ready to run while another process ran
    double throttled_seconds;              // by its share's quota
    double cpu_seconds, share_cpu_seconds; // of this process; of all in its share (0: not known)
    double slowdown;                       // against its profile, as believed now; 0: not watched
};

struct stn_train_step {
    int64_t step;                          // from 1, over the whole run
    int epoch;                             // from 1
    int64_t epoch_position, epoch_samples; // samples of this epoch done, of how many
    int images;                            // in this step
    double loss, accuracy;                 // of this step's samples, as trained
    double lr;
    double seconds;           // of this step
    double wait_seconds;      // of which waiting for data
    double images_per_second; // of this step
    double elapsed_seconds;   // since the run began
    double eta_seconds;       // to the end of the run
    int nodes;
    const struct stn_train_node_step *node; // [nodes]; NULL with one node
};

// Something happened in the cluster between this step and the next.
struct stn_train_change {
    enum stn_train_change_kind {
        STN_CHANGE_SPLIT,     // work moved: `before` and `after`
        STN_CHANGE_SLOWED,    // a node did
        STN_CHANGE_RECOVERED, // it is as fast as before again
        STN_CHANGE_LASTING,   // the run ends, and it is still slow
    } kind;
    int64_t step;
    int node;                  // which; of a moved split: whose speed had changed, or −1
    const int *before, *after; // [nodes] micro-batches; the same when nothing moved
    double gain;               // of a split: predicted, of the step's time
    const char *cause;         // of a slow node: why, in words
    double slowdown;           // of a slow node, at the worst
    int64_t since_step;        // it was slow from this step on
    double cost_seconds;       // of a node that recovered or not: by which all steps were longer
    // Policy hypertune: a moved split ends the epoch.
    int batch;            // B from now on
    int64_t lost_samples; // of the epoch, that nobody trained
};

struct stn_train_epoch {
    int epoch;
    double train_loss, train_accuracy, val_loss, val_accuracy;
    double seconds; // training only
    double eval_seconds;
    double images_per_second;
    bool best;
};

// While the nodes are being measured.
struct stn_tune_progress {
    double seconds; // since it began
    bool in_turn;   // nodes of one machine, one by one
    int nodes;
    const struct stn_tune_node {
        const char *name;
        int samples;
        bool done, sure;
        bool news;                          // done since the last call
        double fixed_seconds, each_seconds; // so far
    } * node;                               // [nodes]
    int micro_batch;
};

// The energy of an epoch, or of the whole run. What is not known is not a number: NAN.
struct stn_train_node_energy {
    const char *name;
    const char *source; // "measured", "modelled", "unknown", or "within" what another node measures
    const char *scope;  // measured: "cpu", "board" or "wall"; else NULL
    double joules, idle_watts;
    double known_seconds, gap_seconds; // that readings cover, and that they do not
    int64_t samples;
};

struct stn_train_energy {
    int epoch;        // from 1; 0: the whole run
    const char *text; // all of it in a line
    double joules, above_idle_joules, joules_per_image;
    bool is_least; // there is more of it: not every machine is known in the same way
    double promised_joules_per_image; // by the plan, where one was made for energy
    double flops_per_watt;            // operations of training, a second, for each watt
    double seconds;
    int64_t images;
    int machines, measured, modelled;
    int nodes;
    const struct stn_train_node_energy *node; // [nodes]
};

struct stn_train_observer {
    void *context;
    // Before the start, where nodes are measured: again and again, then once the outcome. Of a plan
    // that was read from a file only the outcome.
    void (*tuning)(void *context, const struct stn_tune_progress *progress);
    void (*tuned)(void *context, const struct stn_plan *plan);
    void (*start)(void *context, const struct stn_train_start *start);
    void (*step)(void *context, const struct stn_train_step *step);
    void (*epoch)(void *context, const struct stn_train_epoch *epoch);
    // While evaluating: samples done, of how many.
    void (*eval)(void *context, int64_t done, int64_t total);
    // last.safetensors (or best) was written.
    void (*saved)(void *context, const char *path);
    // Where there are several nodes: work moved, or a node's speed changed.
    void (*change)(void *context, const struct stn_train_change *change);
    // At the end, where there are several nodes: what each did.
    void (*nodes)(void *context, const struct stn_train_node *nodes, int count);
    // After each epoch and at the end, where something of it is known or was asked for.
    void (*energy)(void *context, const struct stn_train_energy *energy);
    // Polled between steps, on every node; true: all save and return ERR_INTERRUPTED.
    bool (*stop_requested)(void *stop_context);
    void *stop_context;
};

struct stn_train_result {
    int64_t steps, images;    // of this process
    double seconds;           // training and evaluation, set-up apart
    double images_per_second; // training only
    double wait_share;        // of training time spent waiting for data
    double loss, accuracy;    // last training epoch's loss, last validation accuracy
    double best_accuracy;
    int64_t skipped; // bad samples left out
    int64_t lost;    // samples of epochs that policy hypertune ended early
    int threads;
};

// Trains a network. On several nodes every one calls it, with the same settings; node 0 alone saves
// and observes. `observer` may be NULL. On ERR_INTERRUPTED the checkpoint was saved and `out` is
// filled.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_train_run(struct stn_session *session,
                                                        const struct stn_settings *settings,
                                                        const struct stn_train_observer *observer,
                                                        struct stn_train_result *out);

// Measures the nodes as a training with these settings would, and plans; trains nothing, saves
// nothing. Every node calls it; the plan is node 0's, the others get NULL.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_tune_run(struct stn_session *session,
                                                       const struct stn_settings *settings,
                                                       const struct stn_train_observer *observer,
                                                       struct stn_plan **out);

struct stn_eval_result {
    int64_t images, skipped;
    double loss, accuracy, seconds;
};

// Evaluates a trained network. Settings of STN_VERB_EVAL; `checkpoint` says which network.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_eval_run(struct stn_session *session,
                                                       const struct stn_settings *settings,
                                                       const struct stn_train_observer *observer,
                                                       struct stn_eval_result *out);

// A trained network ready to classify image files.
struct stn_predictor;

struct stn_prediction {
    int class_index;
    const char *class_name; // borrowed from the predictor
    double probability;
};

// Opens a trained network for prediction. Settings of STN_VERB_PREDICT; `checkpoint` says which
// network.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_predictor_open(struct stn_session *session,
                                                             const struct stn_settings *settings,
                                                             struct stn_predictor **out);
// Closes a predictor; NULL is fine.
STN_EXPORT void stn_predictor_close(struct stn_predictor *predictor);
// Finds the `top` most likely classes of an image file, best first; `*count` is how many there are
// (at most the number of classes).
STN_EXPORT STN_MUST_CHECK enum stn_status stn_predictor_classify(struct stn_predictor *predictor,
                                                                 const char *image_path, int top,
                                                                 struct stn_prediction *out,
                                                                 int *count);

// What `micro-batch auto` tried: the fastest of 4, 8, 16 and 32 (with BatchNorm of 16 and 32) that
// fits; at[best] was the fastest.
enum { STN_MICRO_BATCH_MOST = 32, STN_MICRO_BATCH_TRIALS = 4 };
struct stn_micro_batch_trials {
    int count, best;
    struct stn_micro_batch_trial {
        int micro_batch;
        double images_per_second; // forward and backward alone
    } at[STN_MICRO_BATCH_TRIALS];
};

struct stn_bench_result {
    const char *backend_version; // static
    int batch, micro_batch, threads, steps;
    double images_per_second; // median step
    double images_per_second_best;
    double gflops;      // achieved in the median step: 2 × 3 × forward MACs
    double peak_gflops; // FMA peak measured in the same process on the same threads
    size_t peak_memory; // high-water mark of resident memory
    int64_t parameters, macs;
    struct stn_micro_batch_trials trials; // count 0: the micro-batch was given
};

// Measures the speed of training on made-up images: no data path, no files. Settings of
// STN_VERB_BENCH. `profile` is filled if it is not NULL, as stn_profile_create made it.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_bench_run(struct stn_session *session,
                                                        const struct stn_settings *settings,
                                                        struct stn_profile *profile,
                                                        struct stn_bench_result *out);

#ifdef __cplusplus
}
#endif

#endif
