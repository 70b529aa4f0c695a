// SPDX-License-Identifier: Apache-2.0
// What the ops of this backend share. They are vector kernels of our own (simd/), need no library,
// and compute feature maps whose channels lie in blocks. The engine behind them is the team alone.
#ifndef KERNEL_NATIVE_NATIVE_H
#define KERNEL_NATIVE_NATIVE_H

#include "kernel/backend.h"
#include "kernel/native/simd/simd.h"

static inline size_t native_align(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

// ---- feature maps in pieces --------------------------------------------------------------------

// A tensor seen as n × blocks chunks of [pixels][block] floats.
struct native_chunks {
    int n, channels, blocks, block;
    size_t pixels, floats; // of one chunk
};

struct native_chunks native_chunks_of(struct kernel_tensor t);

static inline size_t native_chunk_at(const struct native_chunks *c, int n, int block)
{
    return ((size_t)n * (size_t)c->blocks + (size_t)block) * c->floats;
}

// A sample's pixels in pieces that stay in the cache while several ops look at them: the unit of
// work where the order of sums must not depend on who does what. Large maps have an even number.
struct native_piece {
    size_t first, count; // pixels
};

int native_pieces(size_t pixels);
struct native_piece native_piece_at(size_t pixels, int piece);

// Threads for a pass over all chunks: small tensors are not worth waking a team.
int native_team(const struct kernel_team *team, const struct native_chunks *c);

// Masks dy in place by y (NULL: not at all) and adds its sum over the pixels to sum [block].
static inline void native_mask_sum(const struct simd_kernels *simd, float *dy, const float *y,
                                   enum kernel_activation activation, size_t pixels, double *sum)
{
    if (y) {
        simd->mask_sum(dy, y, activation, pixels, sum);
    } else {
        simd->sum(dy, pixels, sum);
    }
}

// ---- makers, one file each ---------------------------------------------------------------------

enum stn_status native_conv_create(void *team, const struct kernel_conv *, struct kernel_op **out);
enum stn_status native_batchnorm_create(void *team, const struct kernel_batchnorm *,
                                        struct kernel_op **out);
enum stn_status native_activate_create(void *team, const struct kernel_activate *,
                                       struct kernel_op **out);
enum stn_status native_pool_create(void *team, const struct kernel_pool *, struct kernel_op **out);
enum stn_status native_global_pool_create(void *team, const struct kernel_global_pool *,
                                          struct kernel_op **out);
enum stn_status native_add_create(void *team, const struct kernel_add *, struct kernel_op **out);
enum stn_status native_concat_create(void *team, const struct kernel_concat *,
                                     struct kernel_op **out);
enum stn_status native_shuffle_create(void *team, const struct kernel_shuffle *,
                                      struct kernel_op **out);
enum stn_status native_slice_create(void *team, const struct kernel_slice *,
                                    struct kernel_op **out);
enum stn_status native_dropout_create(void *team, const struct kernel_dropout *,
                                      struct kernel_op **out);
enum stn_status native_reorder_op_create(void *team, const struct kernel_reorder *,
                                         struct kernel_op **out);

// Weight gradient over a plain image.
bool native_image_fits(const struct kernel_conv *d);
size_t native_image_scratch_bytes(const struct kernel_conv *d, struct kernel_tensor y);
void native_image_weights(const struct kernel_team *team, const struct kernel_conv *d,
                          struct kernel_tensor y, const struct kernel_io *io);

// Whether our matrix products are the best there are: a library has better ones for a CPU that
// does not multiply and add in one instruction.
static inline bool native_multiplies(const struct kernel_team *team)
{
    return team->alone || simd_kernels_for(kernel_layout_block(team->blocked))->fused;
}

// Convolutions that we compute ourselves; `traits` are those of any convolution.
bool native_depthwise_fits(const struct kernel_team *team, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status native_depthwise_create(struct kernel_team *team,
                                                       const struct kernel_conv *d,
                                                       struct kernel_op_traits traits,
                                                       struct kernel_op **out);

// The same for 3×3 convolutions of stride 1, where that is faster than oneDNN.
bool native_winograd_fits(const struct kernel_team *team, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status native_winograd_create(struct kernel_team *team,
                                                      const struct kernel_conv *d,
                                                      struct kernel_op_traits traits,
                                                      struct kernel_op **out);

// What backward does first: dy becomes the gradient before the activation; the bias gradient falls
// out on the way, summed in the order of the samples so that it does not depend on the number of
// threads. Uses the scratch.
void native_mask_and_sum_bias(const struct kernel_team *team, const struct kernel_conv *d,
                              struct kernel_tensor y, const struct kernel_io *io);
size_t native_mask_and_sum_bias_bytes(struct kernel_tensor y);

bool native_pointwise_fits(const struct kernel_team *team, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status native_pointwise_create(struct kernel_team *team,
                                                       const struct kernel_conv *d,
                                                       struct kernel_op_traits traits,
                                                       struct kernel_op **out);

bool native_grouped_fits(const struct kernel_team *team, const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status native_grouped_create(struct kernel_team *team,
                                                     const struct kernel_conv *d,
                                                     struct kernel_op_traits traits,
                                                     struct kernel_op **out);

// What any convolution of this team tells of itself.
struct kernel_op_traits native_conv_traits(const struct kernel_team *team,
                                           const struct kernel_conv *d);

// Any convolution, by the reference's loops between two reorders: where neither this backend nor a
// library has a kernel for it.
STN_MUST_CHECK enum stn_status native_plain_conv_create(struct kernel_team *team,
                                                        const struct kernel_conv *d,
                                                        struct kernel_op_traits traits,
                                                        struct kernel_op **out);

#endif
