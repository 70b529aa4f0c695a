// SPDX-License-Identifier: Apache-2.0
// Ops on feature maps, for those who call them (nn/). Implementers read backend.h.
//
// An op is planned once for fixed shapes (kernel_*_create), told its parameters whenever they
// changed (kernel_op_prepare), then run forward and backward on buffers that the caller owns.
// Nothing is allocated after create.
//
//     create → { prepare → { forward → backward }×m → collect }×steps → destroy
//
// A micro-batch goes through an op in strips of consecutive samples, so that what one op writes the
// next one finds in the cache. An op is planned for strips of x.shape.n samples; the pointers of
// one call are those of its strip. Ops that must see all samples before they change any (batch
// norm; traits.gathers) have a gathering call: all strips, which then are of one size, are gathered
// and settled, then all are run.
//
//     forward_gather × strips → forward_settle → forward × strips → …
//     → backward_gather × strips → backward_settle → backward × strips
//
// Conventions, the same for every op and backend:
//   rows        Only the first io->rows samples of a strip are real (the end of an epoch is
//               ragged). Ops that mix samples (batch norm, parameter gradients) count only these;
//               dy and dx of the other rows are zero.
//   dy          belongs to the op during backward, which may overwrite it; in_place_input tells
//               which input's gradient may be given the very buffer of dy.
//   dx          per input: KERNEL_DX_NONE (nobody needs it, the pointer is NULL), KERNEL_DX_WRITE,
//               or KERNEL_DX_ADD (other consumers have already written their part); fixed at
//               create.
//   parameters  are plain fp32 arrays in PyTorch's order (conv: oihw, fc: oi). Their gradients are
//               *added to* io->param_grads: sums over samples, never means. An op may hold back its
//               sums, in a layout of its own, until they are collected.
//   randomness  comes from io->row_keys[n] (one key a sample) and the op's salt, so it does not
//               depend on who computes it.
//
// Threads: a kernel and its ops are used by one thread, which runs them on the kernel's own team of
// `threads` cores, op after op. The ops of its *lanes* (kernel_lanes) are run by all those threads
// at once, each taking strips of its own from op to op: they need not wait for each other after
// every op.
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/tensor.h"
#include "stannis/status.h"

struct kernel;
struct kernel_op;

enum { KERNEL_INPUTS_MAX = 16, KERNEL_PARAMS_MAX = 2, KERNEL_BUFFERS_MAX = 2 };

enum kernel_phase { KERNEL_TRAIN, KERNEL_EVAL };
enum kernel_activation { KERNEL_LINEAR, KERNEL_RELU, KERNEL_RELU6 };
enum kernel_dx { KERNEL_DX_NONE, KERNEL_DX_WRITE, KERNEL_DX_ADD };
enum kernel_pool_kind { KERNEL_POOL_MAX, KERNEL_POOL_AVERAGE, KERNEL_POOL_ADAPTIVE };

// `name`: "onednn", "reference", or NULL for the best one built in. `threads` ≥ 1.
STN_MUST_CHECK enum stn_status kernel_create(const char *name, int threads, struct kernel **out);
void kernel_destroy(struct kernel *kernel);
const char *kernel_name(const struct kernel *kernel);    // "onednn"
const char *kernel_version(const struct kernel *kernel); // "oneDNN 2.6.3 (AVX2)"
int kernel_threads(const struct kernel *kernel);

// The kernel for ops that lanes run: a call runs on its thread alone, and several threads may call
// one op at the same time, told apart by io->lane. NULL: one thread only, or a backend that has
// none. The kernel's own.
struct kernel *kernel_lanes(struct kernel *kernel);
int kernel_lane_count(const struct kernel *lanes); // 1 of a kernel without lanes
// call(context, lane) on all lanes at once, lane 0 being the calling thread; base/lanes.h.
typedef void kernel_lane_call(void *context, int lane);
void kernel_lanes_run(struct kernel *lanes, kernel_lane_call *call, void *context);
void kernel_lanes_meet(struct kernel *lanes, void (*between)(void *context), void *context);

// Names of the backends built in, NULL at the end.
const char *const *kernel_backend_names(void);

// ---- descriptors: one struct an op kind --------------------------------------------------------

// [0] is vertical, [1] horizontal. Pooling may have negative padding before: rows and columns that
// no window sees.
struct kernel_window {
    int size[2], stride[2];
    int pad_before[2], pad_after[2];
};

// y = act(conv(x, w) + b). Parameters: weight [oc][ic/groups][kh][kw], then bias [oc] if any.
struct kernel_conv {
    struct kernel_tensor x;
    int out_channels, groups;
    struct kernel_window window;
    bool bias;
    enum kernel_activation activation;
    enum kernel_dx dx;
    int sums; // gradient sums that calls may hold back side by side; 0: one for each lane
};

// y = act(γ·(x − μ)/√(σ² + ε) + β [+ residual]); inputs: x, then the residual if any.
// Parameters: γ [c], β [c]. Buffers: running mean [c], running variance [c]. Training normalises
// with the micro-batch's own statistics (biased variance) and adds rows·mean and rows·variance
// (unbiased, over rows·h·w) to io->buffer_sums. Evaluation uses the running ones. h·w·rows = 1
// gives variance 0, not NaN.
struct kernel_batchnorm {
    struct kernel_tensor x;
    float epsilon;
    bool residual;
    enum kernel_activation activation;
    enum kernel_dx dx[2];
};

struct kernel_activate {
    struct kernel_tensor x;
    enum kernel_activation activation;
    enum kernel_dx dx;
};

// Average counts padding only if `count_padding`, and then a window may lie in it entirely. Max
// ignores it. Adaptive averages over windows that cut the map into out[0]×out[1] as evenly as whole
// pixels allow, as PyTorch's does: window i of m on an extent of h is ⌊i·h/m⌋ … ⌈(i + 1)·h/m⌉ − 1.
struct kernel_pool {
    struct kernel_tensor x;
    enum kernel_pool_kind kind;
    struct kernel_window window; // not of adaptive
    bool count_padding;
    enum kernel_dx dx;
    int out[2]; // adaptive only; may exceed the map's extents
};

// Mean over h·w. The output is [n][c][1][1] in NCHW whatever x is.
struct kernel_global_pool {
    struct kernel_tensor x;
    enum kernel_dx dx;
};

// y = x·Wᵀ + b over c·h·w features in NCHW order; x must be NCHW; y is [n][out][1][1] NCHW.
// Parameters: weight [out][in], bias [out].
struct kernel_fc {
    struct kernel_tensor x;
    int out_features;
    bool bias;
    enum kernel_activation activation;
    enum kernel_dx dx;
};

// y = act(a + b)
struct kernel_add {
    struct kernel_tensor x;
    enum kernel_activation activation;
    enum kernel_dx dx[2];
};

// Channels of all inputs one after the other; all share n, h, w and layout.
struct kernel_concat {
    int inputs;
    struct kernel_tensor x[KERNEL_INPUTS_MAX];
    enum kernel_dx dx[KERNEL_INPUTS_MAX];
};

// Output channel i·groups + g is input channel g·(c/groups) + i.
struct kernel_shuffle {
    struct kernel_tensor x;
    int groups;
    enum kernel_dx dx;
};

// Channels first … first + count − 1. Backward writes zeros to the others, or adds nothing to them.
struct kernel_slice {
    struct kernel_tensor x;
    int first, count;
    enum kernel_dx dx;
};

// Zeroes each element with `rate` and scales the others by 1/(1 − rate); the identity in
// evaluation.
struct kernel_dropout {
    struct kernel_tensor x;
    float rate;
    uint64_t salt; // differs for each dropout of a network
    enum kernel_dx dx;
};

// The same values in another layout.
struct kernel_reorder {
    struct kernel_tensor x;
    enum kernel_layout y_layout;
    enum kernel_dx dx;
};

STN_MUST_CHECK enum stn_status kernel_conv_create(struct kernel *, const struct kernel_conv *,
                                                  struct kernel_op **out);
STN_MUST_CHECK enum stn_status
kernel_batchnorm_create(struct kernel *, const struct kernel_batchnorm *, struct kernel_op **out);
STN_MUST_CHECK enum stn_status
kernel_activate_create(struct kernel *, const struct kernel_activate *, struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_pool_create(struct kernel *, const struct kernel_pool *,
                                                  struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_global_pool_create(struct kernel *,
                                                         const struct kernel_global_pool *,
                                                         struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_fc_create(struct kernel *, const struct kernel_fc *,
                                                struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_add_create(struct kernel *, const struct kernel_add *,
                                                 struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_concat_create(struct kernel *, const struct kernel_concat *,
                                                    struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_shuffle_create(struct kernel *, const struct kernel_shuffle *,
                                                     struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_slice_create(struct kernel *, const struct kernel_slice *,
                                                   struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_dropout_create(struct kernel *, const struct kernel_dropout *,
                                                     struct kernel_op **out);
STN_MUST_CHECK enum stn_status kernel_reorder_create(struct kernel *, const struct kernel_reorder *,
                                                     struct kernel_op **out);
void kernel_op_destroy(struct kernel_op *op);

// ---- what a planned op tells -------------------------------------------------------------------

enum { KERNEL_READS_X = 1, KERNEL_READS_Y = 2 };

struct kernel_op_traits {
    const char *name;        // "conv", "batchnorm+relu6": for profiles
    struct kernel_tensor y;  // the output; its layout is the backend's choice
    bool gathers;            // has gathering calls; its strips may be of any size up to n
    size_t saved_bytes;      // what forward leaves for backward, a strip (gathers: in all)
    size_t scratch_bytes;    // what one call needs while it runs
    size_t packed_bytes;     // of parameters packed by prepare, owned by the op
    size_t held_bytes;       // of gradient sums held back by backward, owned by the op
    unsigned backward_reads; // KERNEL_READS_… : what backward still needs besides dy
    int in_place_input;      // whose gradient may be written over dy; −1: none
    bool
        inputs_in_place; // n = 1: inputs may lie where they go in y, their gradients in dy (concat)
    bool forward_in_place; // y may be the buffer of x[0] (when nobody else needs x[0] afterwards)
    int64_t macs; // multiply-accumulates of one forward pass of the whole micro-batch (conv, fc)
};

const struct kernel_op_traits *kernel_op_traits(const struct kernel_op *op);

// ---- running -----------------------------------------------------------------------------------

struct kernel_io {
    enum kernel_phase phase;
    int samples;              // in this strip, padding included; n unless the op gathers
    int rows;                 // of which real, 0 … samples
    int strip;                // which one
    int lane;                 // whose; 0 where there are none
    int sums;                 // which of the gradient sums held back this call adds to
    const uint64_t *row_keys; // [n]; only dropout reads it
    const float *const *x;    // [inputs]
    float *y;
    float *dy;
    float *const *dx;            // [inputs], NULL where KERNEL_DX_NONE
    const float *const *params;  // [params]
    float *const *param_grads;   // [params], added to
    const float *const *buffers; // [buffers] running statistics
    float *const *buffer_sums;   // [buffers], added to
    void *saved;                 // saved_bytes, 64-byte aligned
    void *scratch;               // scratch_bytes, 64-byte aligned
};

// Call after the parameters changed, before the next forward: packs them the way the backend likes.
// `lane`: which thread calls, as in io.
void kernel_op_prepare(struct kernel_op *op, int lane, const float *const *params);
// Which of the gradient sums held back: first … first + count − 1.
struct kernel_sums {
    int first, count;
};
// Adds those that backward held back since the last call to param_grads, in their order, or forgets
// them (NULL). Call before the sums are used and before they start anew.
void kernel_op_collect(struct kernel_op *op, int lane, struct kernel_sums sums,
                       float *const *param_grads);
// Nothing to do for an op that does not gather. In KERNEL_EVAL nothing is gathered.
void kernel_op_forward_gather(struct kernel_op *op, const struct kernel_io *io);
void kernel_op_backward_gather(struct kernel_op *op, const struct kernel_io *io);
// Once all strips are gathered, by one thread; forward in KERNEL_EVAL too. `io` is of the whole
// micro-batch; x, y and their gradients are not read.
void kernel_op_forward_settle(struct kernel_op *op, const struct kernel_io *io);
void kernel_op_backward_settle(struct kernel_op *op, const struct kernel_io *io);
STN_MUST_CHECK enum stn_status kernel_op_forward(struct kernel_op *op, const struct kernel_io *io);
STN_MUST_CHECK enum stn_status kernel_op_backward(struct kernel_op *op, const struct kernel_io *io);
// Both at once, where the output of `op` is the input of `next`, or the gradient of the input of
// `op` is final and `before` made that input: the same as one call after the other, but what is
// gathered may still be in the cache. The two ops share no scratch.
STN_MUST_CHECK enum stn_status kernel_op_forward_gathered(struct kernel_op *op,
                                                          const struct kernel_io *io,
                                                          struct kernel_op *next,
                                                          const struct kernel_io *next_io);
STN_MUST_CHECK enum stn_status kernel_op_backward_gathered(struct kernel_op *op,
                                                           const struct kernel_io *io,
                                                           struct kernel_op *before,
                                                           const struct kernel_io *before_io);

// ---- loss --------------------------------------------------------------------------------------

struct kernel_loss_totals {
    double loss_sum; // over rows
    int64_t correct; // argmax equals the label (the first of equals wins)
    int64_t count;   // rows
};

// Softmax cross-entropy with label smoothing s: target = (1 − s)·onehot + s/classes. Adds to
// `totals`. Writes the gradient of the *sum* of losses to dlogits [n][classes] unless NULL; rows
// beyond `rows` get zero. `n` ≥ rows.
void kernel_loss_softmax(const float *logits, const int32_t *labels, int n, int rows, int classes,
                         float smoothing, float *dlogits, struct kernel_loss_totals *totals);

#endif
