// SPDX-License-Identifier: Apache-2.0
// What the ops of this backend share: oneDNN's engine and stream, the team of threads, and tasks
// (primitives with the memory objects they run on).
#ifndef ONEDNN_ENGINE_H
#define ONEDNN_ENGINE_H

#include <oneapi/dnnl/dnnl.h>

#include "kernel/backend.h"
#include "kernel/onednn/simd/simd.h"

struct onednn_engine {
    dnnl_engine_t dnnl;
    dnnl_stream_t *streams;    // [lanes]
    int threads, lanes;        // backend.h
    enum kernel_layout native; // of feature maps that this backend makes
    char version[48];
};

// Reports a failed call of the library; `what` completes "oneDNN cannot …".
STN_MUST_CHECK enum stn_status onednn_check(dnnl_status_t status, const char *what);

dnnl_format_tag_t onednn_tag(enum kernel_layout layout);
STN_MUST_CHECK enum stn_status onednn_tensor_desc(struct kernel_tensor t, dnnl_memory_desc_t *out);

// A primitive and, for each lane, one memory object for each of its arguments. The objects live as
// long as the task; only the addresses in them change, and only when they differ from the last
// run's: giving oneDNN an address of a padded tensor makes it clear the padding, and with a static
// memory plan that happens once.
enum { ONEDNN_TASK_ARGS_MAX = 6 };

struct onednn_binding {
    dnnl_exec_arg_t args[ONEDNN_TASK_ARGS_MAX];
    void *bound[ONEDNN_TASK_ARGS_MAX];
    int arg_count;
};

struct onednn_task {
    dnnl_primitive_t primitive; // NULL: no such task
    struct onednn_binding *bindings;
    int lanes;
    size_t scratch_bytes; // of the library's own; argument DNNL_ARG_SCRATCHPAD
};

// `args` are DNNL_ARG_…, in the order in which run takes the addresses; the scratchpad is last and
// implied.
STN_MUST_CHECK enum stn_status onednn_task_create(struct onednn_engine *engine,
                                                  const_dnnl_primitive_desc_t desc, const int *args,
                                                  int arg_count, struct onednn_task *out);
void onednn_task_destroy(struct onednn_task *task);
STN_MUST_CHECK enum stn_status onednn_task_run(struct onednn_engine *engine,
                                               struct onednn_task *task, int lane,
                                               void *const *addresses, void *scratchpad);
// A reorder from one description to another, which writes or (`add`) adds.
STN_MUST_CHECK enum stn_status onednn_task_reorder(struct onednn_engine *engine,
                                                   const dnnl_memory_desc_t *from,
                                                   const dnnl_memory_desc_t *to, bool add,
                                                   struct onednn_task *out);

// oneDNN's C functions take addresses without const, also of what they only read.
static inline void *onednn_address(const void *p)
{
    union {
        const void *in;
        void *out;
    } u = {.in = p};
    return u.out;
}

static inline size_t onednn_align(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

// ---- feature maps in pieces --------------------------------------------------------------------

// A tensor seen as n × blocks chunks of [pixels][block] floats.
struct onednn_chunks {
    int n, channels, blocks, block;
    size_t pixels, floats; // of one chunk
};

struct onednn_chunks onednn_chunks_of(struct kernel_tensor t);

static inline size_t onednn_chunk_at(const struct onednn_chunks *c, int n, int block)
{
    return ((size_t)n * (size_t)c->blocks + (size_t)block) * c->floats;
}

// A sample's pixels in pieces that stay in the cache while several ops look at them: the unit of
// work where the order of sums must not depend on who does what. Large maps have an even number.
struct onednn_piece {
    size_t first, count; // pixels
};

int onednn_pieces(size_t pixels);
struct onednn_piece onednn_piece_at(size_t pixels, int piece);

// Threads for a pass over all chunks: small tensors are not worth waking a team.
int onednn_team(const struct onednn_engine *engine, const struct onednn_chunks *c);

// Masks dy in place by y (NULL: not at all) and adds its sum over the pixels to sum [block].
static inline void onednn_mask_sum(const struct simd_kernels *simd, float *dy, const float *y,
                                   enum kernel_activation activation, size_t pixels, double *sum)
{
    if (y) {
        simd->mask_sum(dy, y, activation, pixels, sum);
    } else {
        simd->sum(dy, pixels, sum);
    }
}

// ---- makers, one file each ---------------------------------------------------------------------

enum stn_status onednn_conv_create(void *engine, const struct kernel_conv *,
                                   struct kernel_op **out);
enum stn_status onednn_batchnorm_create(void *engine, const struct kernel_batchnorm *,
                                        struct kernel_op **out);
enum stn_status onednn_activate_create(void *engine, const struct kernel_activate *,
                                       struct kernel_op **out);
enum stn_status onednn_pool_create(void *engine, const struct kernel_pool *,
                                   struct kernel_op **out);
enum stn_status onednn_global_pool_create(void *engine, const struct kernel_global_pool *,
                                          struct kernel_op **out);
enum stn_status onednn_fc_create(void *engine, const struct kernel_fc *, struct kernel_op **out);
enum stn_status onednn_add_create(void *engine, const struct kernel_add *, struct kernel_op **out);
enum stn_status onednn_concat_create(void *engine, const struct kernel_concat *,
                                     struct kernel_op **out);
enum stn_status onednn_shuffle_create(void *engine, const struct kernel_shuffle *,
                                      struct kernel_op **out);
enum stn_status onednn_slice_create(void *engine, const struct kernel_slice *,
                                    struct kernel_op **out);
enum stn_status onednn_dropout_create(void *engine, const struct kernel_dropout *,
                                      struct kernel_op **out);
enum stn_status onednn_reorder_op_create(void *engine, const struct kernel_reorder *,
                                         struct kernel_op **out);

// Weight gradient over a plain image, for conv.c.
bool onednn_image_fits(const struct kernel_conv *d);
size_t onednn_image_scratch_bytes(const struct kernel_conv *d, struct kernel_tensor y);
void onednn_image_weights(const struct onednn_engine *engine, const struct kernel_conv *d,
                          struct kernel_tensor y, const struct kernel_io *io);

// Convolutions that we compute ourselves; `traits` are those of any convolution.
bool onednn_depthwise_fits(const struct onednn_engine *engine, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status onednn_depthwise_create(struct onednn_engine *engine,
                                                       const struct kernel_conv *d,
                                                       struct kernel_op_traits traits,
                                                       struct kernel_op **out);

// The same for 3×3 convolutions of stride 1, where that is faster than oneDNN.
bool onednn_winograd_fits(const struct onednn_engine *engine, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status onednn_winograd_create(struct onednn_engine *engine,
                                                      const struct kernel_conv *d,
                                                      struct kernel_op_traits traits,
                                                      struct kernel_op **out);

// What backward does first: dy becomes the gradient before the activation; the bias gradient falls
// out on the way, summed in the order of the samples so that it does not depend on the number of
// threads. Uses the scratch.
void onednn_mask_and_sum_bias(const struct onednn_engine *engine, const struct kernel_conv *d,
                              struct kernel_tensor y, const struct kernel_io *io);
size_t onednn_mask_and_sum_bias_bytes(struct kernel_tensor y);

bool onednn_pointwise_fits(const struct onednn_engine *engine, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status onednn_pointwise_create(struct onednn_engine *engine,
                                                       const struct kernel_conv *d,
                                                       struct kernel_op_traits traits,
                                                       struct kernel_op **out);

bool onednn_grouped_fits(const struct onednn_engine *engine, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status onednn_grouped_create(struct onednn_engine *engine,
                                                     const struct kernel_conv *d,
                                                     struct kernel_op_traits traits,
                                                     struct kernel_op **out);

#endif
