// SPDX-License-Identifier: Apache-2.0
// A network ready to run: a planned graph, its parameters, their gradient sums and its activations'
// memory.
//
// One training step, on one node:
//     nn_net_begin_step                      gradient sums and totals to zero
//     nn_net_train × m                       forward, loss, backward of one micro-batch; sums grow
//     (or nn_net_train_abreast               the same of several at once)
//     (other nodes' sums would be added here)
//     nn_net_merge_statistics                running statistics into copy B, by count
//     optimizer on nn_net_tensor()s          weights into copy B
//     nn_net_flip                            copy B becomes what ops read
//
// Parameters and running statistics live in two copies: A, which ops read, and B, which the step
// writes and which counts for nothing before the flip.
// After the first step nothing is allocated. Lifetime: the kernel outlives the net.
// Threads: one thread at a time, the kernel's, which has the kernel's others work with it.
#ifndef NN_NET_H
#define NN_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"
#include "stannis/model.h"
#include "stannis/profile.h"
#include "stannis/status.h"

struct nn_net;

struct nn_net_config {
    const struct stn_model_info *model;
    struct stn_model_shape shape;
    int micro_batch;
    float label_smoothing;
    size_t cache_bytes; // what one strip of samples should fit into; 0: this machine's
    bool inference;     // evaluation only: no gradients, no backward memory
    bool no_dropout;    // train without dropout: what comparisons with other programs need
    bool one_at_a_time; // no micro-batches abreast, though they would be faster: they need memory
    bool plan_only;     // shapes, costs and memory plan; cannot run
};

enum nn_tensor_kind { NN_PARAMETER, NN_BUFFER };

// A parameter or a running statistic, under the name torchvision gives it ("features.0.0.weight").
struct nn_tensor {
    const char *name;
    enum nn_tensor_kind kind;
    int rank;
    int64_t dims[4];
    size_t count;
    size_t offset; // in the flat array of its kind
    bool decay;    // weight decay applies (weights of conv and fc)
};

STN_MUST_CHECK enum stn_status
nn_net_create(struct kernel *kernel, const struct nn_net_config *config, struct nn_net **out);
void nn_net_destroy(struct nn_net *net);

const struct nn_net_config *nn_net_config(const struct nn_net *net);
struct stn_model_cost nn_net_cost(const struct nn_net *net);
// All memory the net holds or, planned only, would hold: activations, parameters, gradients, packed
// weights.
size_t nn_net_bytes(const struct nn_net *net);

// Parameters first, then buffers; each kind in graph order.
int nn_net_tensor_count(const struct nn_net *net);
const struct nn_tensor *nn_net_tensor(const struct nn_net *net, int index);

// The flat arrays that the tensors' offsets point into; 64-byte aligned, writable, owned by the
// net. Parameters and buffers are those of the current copy.
float *nn_net_parameters(struct nn_net *net);
float *nn_net_next_parameters(struct nn_net *net); // of copy B; NULL for inference
float *nn_net_next_buffers(struct nn_net *net);
// Ops hold gradient sums back in layouts of their own: this adds them to the array.
void nn_net_collect_gradients(struct nn_net *net);
// The same for micro-batch i of those that ran abreast, with its statistics; in their order.
void nn_net_collect_abreast(struct nn_net *net, int i);
// NULL for inference. Collects; who keeps the pointer collects before reading again.
float *nn_net_gradient_sums(struct nn_net *net);
float *nn_net_buffers(struct nn_net *net);
float *nn_net_buffer_sums(struct nn_net *net); // NULL for inference
size_t nn_net_parameter_count(const struct nn_net *net);
size_t nn_net_buffer_count(const struct nn_net *net);

// Random weights (He, fan-out) from the seed; BatchNorm at identity, statistics at 0 and 1.
void nn_net_init(struct nn_net *net, uint64_t seed);
// The current copy was written: ops pack it anew.
void nn_net_weights_changed(struct nn_net *net);
// Copy B, which is whole, becomes the current one, and ops pack it.
void nn_net_flip(struct nn_net *net);

void nn_net_begin_step(struct nn_net *net);
// images [micro_batch][channels][size][size]; rows beyond `rows` must be zero. Adds to *totals.
STN_MUST_CHECK enum stn_status nn_net_train(struct nn_net *net, const float *images,
                                            const int32_t *labels, const uint64_t *row_keys,
                                            int rows, struct kernel_loss_totals *totals);
// A micro-batch as nn_net_train takes it.
struct nn_micro_batch {
    const float *images;
    const int32_t *labels;
    const uint64_t *row_keys;
    int rows;
};
// How many micro-batches it is best to train side by side, one in each thread: 1, or as many as
// there are threads. Where threads would meet too often within one, they need not meet at all.
enum { NN_ABREAST_MAX = 4 };
int nn_net_abreast(const struct nn_net *net);
// So many of them at once. The gradients of each are the bits that nn_net_train gives. Nobody
// watches.
STN_MUST_CHECK enum stn_status nn_net_train_abreast(struct nn_net *net,
                                                    const struct nn_micro_batch batches[],
                                                    struct kernel_loss_totals *totals);
// From here on nn_net_train calls `final(context, from)` again and again during the backward pass:
// this micro-batch adds nothing more to gradient sums [from, parameter count). The last call has
// from = 0. NULL: no more calls. What other nodes wait for can leave while we still compute. These
// sums are collected already; `final` calls nothing of the net.
typedef void nn_gradients_final(void *context, size_t from);
void nn_net_watch_gradients(struct nn_net *net, nn_gradients_final *final, void *context);
// Into copy B: running = (1 − momentum)·running + momentum·(sum / count); count: samples in the
// sums.
void nn_net_merge_statistics(struct nn_net *net, double count, double momentum);

// As trained, running statistics, no dropout. Adds to *totals.
STN_MUST_CHECK enum stn_status nn_net_eval(struct nn_net *net, const float *images,
                                           const int32_t *labels, int rows,
                                           struct kernel_loss_totals *totals);
// logits [micro_batch][classes], borrowed until the next run.
STN_MUST_CHECK enum stn_status nn_net_logits(struct nn_net *net, const float *images, int rows,
                                             const float **logits);

// From here on nn_net_train notes where its time goes; take it out any number of times.
STN_MUST_CHECK enum stn_status nn_net_profile_start(struct nn_net *net);
STN_MUST_CHECK enum stn_status nn_net_profile_take(const struct nn_net *net,
                                                   struct stn_profile *out);

#endif
