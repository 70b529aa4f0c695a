// SPDX-License-Identifier: Apache-2.0
// The backend's table, and how its ops cut feature maps.
#include <stdlib.h>

#include "kernel/native/native.h"

// Below this many floats a pass is over before a second thread is awake.
enum { TEAM_FLOATS_MIN = 4096 };

// 160 pixels of 192 channels are 120 KB: a quarter of a second-level cache.
enum { PIECE_PIXELS_MAX = 160, WHOLE_PIXELS_MAX = 64 };

struct native_chunks native_chunks_of(struct kernel_tensor t)
{
    int block = kernel_layout_block(t.layout);
    size_t pixels = (size_t)t.shape.h * (size_t)t.shape.w;
    return (struct native_chunks){
        .n = t.shape.n,
        .channels = t.shape.c,
        .blocks = (t.shape.c + block - 1) / block,
        .block = block,
        .pixels = pixels,
        .floats = pixels * (size_t)block,
    };
}

// A map has fewer than 2³² pixels, and short divisions are the quick ones.
int native_pieces(size_t pixels)
{
    uint32_t pair = 2 * PIECE_PIXELS_MAX;
    return pixels <= WHOLE_PIXELS_MAX ? 1 : (int)(((uint32_t)pixels + pair - 1) / pair * 2);
}

struct native_piece native_piece_at(size_t pixels, int piece)
{
    uint32_t pieces = (uint32_t)native_pieces(pixels), at = (uint32_t)piece;
    uint32_t each = (uint32_t)pixels / pieces, longer = (uint32_t)pixels % pieces;
    return (struct native_piece){at * each + (at < longer ? at : longer), each + (at < longer)};
}

int native_team(const struct kernel_team *team, const struct native_chunks *c)
{
    return (size_t)c->n * (size_t)c->blocks * c->floats < TEAM_FLOATS_MIN ? 1 : team->threads;
}

static enum kernel_layout blocked_layout(void)
{
    return simd_has_blocks_of_16() ? KERNEL_NCHW16C : KERNEL_NCHW8C;
}

static enum stn_status team_open(const struct kernel_team *team, void **out)
{
    struct kernel_team *own = malloc(sizeof(*own));
    if (!own) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the native backend");
    }
    *own = *team;
    *out = own;
    return STN_OK;
}

static const char *version(const void *opened)
{
    const struct kernel_team *team = opened;
    if (team->blocked == KERNEL_NCHW16C) {
        return "native (AVX-512)";
    }
    return simd_kernels_for(kernel_layout_block(team->blocked))->fused ? "native (AVX2)"
                                                                       : "native (portable)";
}

const struct kernel_backend kernel_backend_native = {
    .name = "native",
    .has_lanes = true,
    .blocked = blocked_layout,
    .open = team_open,
    .close = free,
    .version = version,
    .conv = native_conv_create,
    .batchnorm = native_batchnorm_create,
    .activate = native_activate_create,
    .pool = native_pool_create,
    .global_pool = native_global_pool_create,
    .add = native_add_create,
    .concat = native_concat_create,
    .shuffle = native_shuffle_create,
    .slice = native_slice_create,
    .dropout = native_dropout_create,
    .reorder = native_reorder_op_create,
};
