// SPDX-License-Identifier: Apache-2.0
// Training, evaluation and prediction.
//
// stn_train_run does a whole training: opens the data, builds the network, steps through epochs,
// evaluates after each, saves OUT/last.safetensors and OUT/best.safetensors. Whoever wants to watch
// passes an observer; it is called on the calling thread between steps.
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
#include "stannis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum stn_schedule { STN_SCHEDULE_CONSTANT, STN_SCHEDULE_STEP, STN_SCHEDULE_COSINE };
enum stn_augment { STN_AUGMENT_NONE, STN_AUGMENT_CROP, STN_AUGMENT_FLIP, STN_AUGMENT_FULL };

// Where nodes' private sets differ in size: the smaller ones leave more room for public data, or
// are repeated until all count like the largest.
enum stn_fill { STN_FILL_PUBLIC, STN_FILL_REPEAT };
// Whether nodes are measured before the first step; if not, their speeds are guessed from their
// CPUs.
enum stn_tune { STN_TUNE_NEVER, STN_TUNE_SEVERAL, STN_TUNE_ALWAYS };
// Policy hypertune: how a node's new batch is found; see hypertune/paper.h.
enum stn_rebatch { STN_REBATCH_INTERPOLATE, STN_REBATCH_INVERSE, STN_REBATCH_CPU };
enum stn_lr_scale { STN_LR_SCALE_NONE, STN_LR_SCALE_LINEAR };
// How gradients travel.
enum stn_wire { STN_WIRE_FP32, STN_WIRE_FP16 };

// The fastest of 4, 8, 16 and 32 (with BatchNorm of 16 and 32) that fits, measured before the
// start.
enum { STN_MICRO_BATCH_AUTO = -1, STN_MICRO_BATCH_MOST = 32, STN_MICRO_BATCH_TRIALS = 4 };
// The smallest batch at which the nodes are predicted to be efficient enough. The learning rate
// then is that of STN_BATCH_USUAL samples, and scaled with the batch.
enum { STN_BATCH_AUTO = -1, STN_BATCH_USUAL = 128 };

// When work is moved: hypertune/decide.h and detect.h, and for policy hypertune paper.h, say more.
struct stn_adapt_options {
    // balanced
    double evidence;       // in deviations of a node's noise that adds up to "its speed changed"
    double noise;          // relative: smaller changes of a node's time are never looked at
    double move_cost;      // steps' worth of time that moving work costs
    double move_certainty; // standard errors of its gain that a new split must promise
    double move_gain;      // part of a step that it must promise where nothing has changed lately
    double move_horizon;   // steps that a new split is expected to last at most
    int64_t probe_steps;   // a node without work is asked again after so many
    double probe_budget;   // of the run's time that asking one node may cost
    // hypertune
    enum stn_rebatch rebatch;
    enum stn_lr_scale lr_scale; // whether the learning rate follows the global batch
    double decline_weight;      // of speed in the decline index; the rest is the epoch's progress
    double decline_margin;      // of the index
    int decline_steps;          // in a row
    double batch_range;         // of a node's batch, relative to the first one
};

struct stn_train_config {
    const char *net;
    struct stn_dataset_options data;
    int epochs;          // whole passes; the run ends at whichever of epochs and steps comes first
    int64_t steps;       // 0: no limit
    int batch;           // B, samples a step; or STN_BATCH_AUTO; 0: what split or plan add up to
    int micro_batch;     // g; 0: the model's default (at most B); or STN_MICRO_BATCH_AUTO
    int threads;         // 0: from affinity and cgroup quota
    int loader_threads;  // 0: chosen
    size_t memory;       // bytes a run may take; 0: the cgroup's limit or physical memory
    const char *backend; // NULL: the best built in
    double lr, momentum, weight_decay, warmup_epochs, lr_gamma, lr_step_epochs;
    double label_smoothing;
    bool nesterov;
    bool exact; // sums over micro-batches do not depend on who computed which
    enum stn_schedule schedule;
    enum stn_augment augment;
    uint64_t seed;
    bool skip_bad;
    const char *out_dir;      // NULL: save nothing
    const char *resume;       // a checkpoint to continue, or NULL
    const char *audit_dir;    // each node writes there what samples it trained with; or NULL
    int64_t checkpoint_steps; // save last.safetensors this often too; 0: at epoch ends only
    // ---- several nodes: this program was started once for each, by mpirun, srun or our launcher
    const char *cluster;    // text of a cluster file; NULL: nodes are called after their hosts
    const char *split;      // micro-batches of a step for each node, "12,4,4,4"; several such, with
                            // ';' between, take turns; NULL: as the policy says
    enum stn_policy policy; // balanced and hypertune move work, unless there is a `split`
    const char *plan;       // a plan file, for its speeds and its split; NULL: none
    bool plan_optional;     // if it is not there or does not fit, measure instead
    enum stn_tune tune;     // without a plan or split: measure the nodes first
    double tune_seconds;    // that measuring a node should take, if nothing disturbs it
    double efficiency;      // that STN_BATCH_AUTO aims at
    double adjust, margin;  // C (0: suits any speed) and E of the first paper's Algorithm 1
    struct stn_adapt_options adapt;
    const char *private_dirs; // "NODE=DIR[,NODE=DIR…]": data that only this node may read; or NULL
    enum stn_fill fill;
    const char *class_list; // a file of class names, one a line; NULL: the public data's classes
    enum stn_wire wire;
    bool overlap;   // gradients leave while the last micro-batch is still computed
    bool trade;     // balanced: late nodes give micro-batches to early ones while a step runs
    double timeout; // seconds of silence after which a node counts as lost
    // "NODE@FROM-TO:LOAD[,…]": other programs on nodes while these steps run (emulate/schedule.h);
    // or NULL
    const char *interfere;
    // Polled between steps; true: save and return ERR_INTERRUPTED. NULL: never.
    bool (*stop_requested)(void *context);
    void *stop_context;
};

// Sane values for everything but net and data.
STN_EXPORT struct stn_train_config stn_train_defaults(void);

// What holds for the whole run; strings are valid while it lasts.
struct stn_train_start {
    const char *net, *backend_version;
    const struct stn_dataset_info *data;
    const struct stn_train_config *config; // with what a resumed checkpoint says
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

// On several nodes every one calls it, with the same settings; node 0 alone saves and observes.
// `observer` may be NULL. On ERR_INTERRUPTED the checkpoint was saved and `out` is filled.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_train_run(struct stn_session *session,
                                                        const struct stn_train_config *config,
                                                        const struct stn_train_observer *observer,
                                                        struct stn_train_result *out);

// Measures the nodes as a training with these settings would, and plans; trains nothing, saves
// nothing. Every node calls it; the plan is node 0's, the others get NULL.
STN_EXPORT STN_MUST_CHECK enum stn_status stn_tune_run(struct stn_session *session,
                                                       const struct stn_train_config *config,
                                                       const struct stn_train_observer *observer,
                                                       struct stn_plan **out);

struct stn_eval_config {
    const char *checkpoint;
    const char *data; // spec; NULL: the one it was trained with
    enum stn_subset subset;
    int micro_batch, threads, loader_threads;
    const char *backend;
    bool skip_bad;
};

struct stn_eval_result {
    int64_t images, skipped;
    double loss, accuracy, seconds;
};

STN_EXPORT STN_MUST_CHECK enum stn_status stn_eval_run(struct stn_session *session,
                                                       const struct stn_eval_config *config,
                                                       const struct stn_train_observer *observer,
                                                       struct stn_eval_result *out);

// A trained network ready to classify image files.
struct stn_predictor;

struct stn_prediction {
    int class_index;
    const char *class_name; // borrowed from the predictor
    double probability;
};

STN_EXPORT STN_MUST_CHECK enum stn_status stn_predictor_open(struct stn_session *session,
                                                             const char *checkpoint,
                                                             const char *backend, int threads,
                                                             struct stn_predictor **out);
STN_EXPORT void stn_predictor_close(struct stn_predictor *predictor);
// The `top` most likely classes, best first; `*count` is how many there are (at most the number of
// classes).
STN_EXPORT STN_MUST_CHECK enum stn_status stn_predictor_classify(struct stn_predictor *predictor,
                                                                 const char *image_path, int top,
                                                                 struct stn_prediction *out,
                                                                 int *count);

// Training speed on made-up images: no data path, no files.
struct stn_bench_config {
    const char *net;
    struct stn_model_shape shape;
    int batch, micro_batch; // 0: the model's default; micro_batch: or STN_MICRO_BATCH_AUTO
    int threads;
    int steps, warmup_steps; // timed, and before
    const char *backend;
    size_t memory;               // as of stn_train_config
    struct stn_profile *profile; // filled if not NULL, for stn_profile_fini
};

// What STN_MICRO_BATCH_AUTO tried; at[best] was the fastest.
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

STN_EXPORT STN_MUST_CHECK enum stn_status stn_bench_run(struct stn_session *session,
                                                        const struct stn_bench_config *config,
                                                        struct stn_bench_result *out);

#ifdef __cplusplus
}
#endif

#endif
