// SPDX-License-Identifier: Apache-2.0
// Ops that only move channels: concat, shuffle, slice and change of layout. Each is a map
// "destination channel → tensor and channel of the source", and backward is the inverse map; one
// routine walks either. Destination blocks that are a whole block of the source are copied, all
// others are gathered lane by lane.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/native/native.h"

struct place {
    int tensor, channel; // channel −1: nowhere, its values are zero
};

enum { NOWHERE = -1 };

struct channels {
    struct kernel_op op;
    struct kernel_team *team;
    int inputs;
    struct kernel_tensor x[KERNEL_INPUTS_MAX];
    enum kernel_dx dx[KERNEL_INPUTS_MAX];
    struct place *to_input;  // [channels of y]: where each comes from
    struct place *to_output; // [channels of all inputs, one after the other]: where each went
};

// What a move reads.
struct source {
    const struct kernel_tensor *tensors; // all of one layout
    const float *const *data;
    const struct place *map; // [destination channels]
};

static const float *lane_at(const struct source *from, struct place place, int n)
{
    struct native_chunks c = native_chunks_of(from->tensors[place.tensor]);
    size_t chunk = native_chunk_at(&c, n, place.channel / c.block);
    return from->data[place.tensor] + chunk + place.channel % c.block;
}

// Channels in the block of `c` that starts at this channel; 0 where none starts.
static int block_channels(const struct native_chunks *c, int channel)
{
    int left = c->channels - channel;
    return channel % c->block ? 0 : left < c->block ? left : c->block;
}

// Is destination block `b` the copy of a source block, padding included?
static bool is_whole_block(const struct source *from, const struct native_chunks *to, int b)
{
    const struct place *map = from->map + b * to->block;
    struct native_chunks c = native_chunks_of(from->tensors[map->tensor]);
    if (map->channel == NOWHERE) {
        return false;
    }
    int real = block_channels(to, b * to->block);
    if (c.block != to->block || block_channels(&c, map->channel) != real) {
        return false;
    }
    for (int l = 1; l < real; l++) {
        if (map[l].tensor != map->tensor || map[l].channel != map->channel + l) {
            return false;
        }
    }
    return true;
}

static void move_block(const struct source *from, const struct native_chunks *to, int n, int b,
                       bool add, float *dst)
{
    const struct simd_kernels *simd = simd_kernels_for(to->block);
    const struct place *map = from->map + b * to->block;
    if (!is_whole_block(from, to, b)) {
        const float *lanes[SIMD_BLOCK_MAX] = {0};
        for (int l = 0; l < block_channels(to, b * to->block); l++) {
            lanes[l] = map[l].channel == NOWHERE ? NULL : lane_at(from, map[l], n);
        }
        size_t stride = (size_t)kernel_layout_block(from->tensors[0].layout);
        simd->gather(lanes, stride, to->pixels, add, dst);
    } else if (add) {
        simd->mask(lane_at(from, *map, n), NULL, KERNEL_LINEAR, to->pixels, true, dst);
    } else if (lane_at(from, *map, n) != dst) { // it may be there already
        memcpy(dst, lane_at(from, *map, n), to->floats * sizeof(float));
    }
}

static void move(const struct kernel_team *team, const struct source *from, struct kernel_tensor to,
                 bool add, float *dst)
{
    struct native_chunks c = native_chunks_of(to);
#pragma omp parallel for schedule(static) num_threads(native_team(team, &c))
    for (int i = 0; i < c.n * c.blocks; i++) {
        move_block(from, &c, i / c.blocks, i % c.blocks, add, dst + (size_t)i * c.floats);
    }
}

static enum stn_status channels_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct channels *ch = (struct channels *)op;
    struct source from = {.tensors = ch->x, .data = io->x, .map = ch->to_input};
    move(ch->team, &from, op->traits.y, false, io->y);
    return STN_OK;
}

static enum stn_status channels_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct channels *ch = (struct channels *)op;
    const float *dy = io->dy;
    struct source from = {.tensors = &op->traits.y, .data = &dy, .map = ch->to_output};
    for (int i = 0; i < ch->inputs; i++) {
        if (ch->dx[i] != KERNEL_DX_NONE) {
            move(ch->team, &from, ch->x[i], ch->dx[i] == KERNEL_DX_ADD, io->dx[i]);
        }
        from.map += ch->x[i].shape.c;
    }
    return STN_OK;
}

static void channels_destroy(struct kernel_op *op)
{
    struct channels *ch = (struct channels *)op;
    free(ch->to_input);
    free(ch->to_output);
    free(ch);
}

static const struct kernel_op_calls channels_calls = {
    .forward = channels_forward, .backward = channels_backward, .destroy = channels_destroy};

// An op whose maps are still to be filled; `y` gives shape and layout of the output, `inputs` the
// channels of all inputs.
static enum stn_status channels_create(const char *name, void *team, struct kernel_tensor y,
                                       int inputs, struct channels **out)
{
    assert(y.shape.c > 0 && inputs > 0);
    struct channels *ch = calloc(1, sizeof(*ch));
    struct place *to_input = calloc((size_t)y.shape.c, sizeof(*to_input)),
                 *to_output = calloc((size_t)inputs, sizeof(*to_output));
    if (!ch || !to_input || !to_output) {
        free(ch);
        free(to_input);
        free(to_output);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for an op (%s)", name);
    }
    *ch = (struct channels){
        .op = {.calls = &channels_calls, .traits = {.name = name, .y = y, .in_place_input = -1}},
        .team = team,
        .to_input = to_input,
        .to_output = to_output,
    };
    *out = ch;
    return STN_OK;
}

static void add_input(struct channels *ch, struct kernel_tensor x, enum kernel_dx dx)
{
    ch->x[ch->inputs] = x;
    ch->dx[ch->inputs] = dx;
    ch->inputs++;
}

enum stn_status native_concat_create(void *team, const struct kernel_concat *d,
                                     struct kernel_op **out)
{
    struct kernel_tensor y = d->x[0];
    y.shape.c = 0;
    for (int i = 0; i < d->inputs; i++) {
        y.shape.c += d->x[i].shape.c;
    }
    struct channels *ch;
    enum stn_status status = channels_create("concat", team, y, y.shape.c, &ch);
    if (status) {
        return status;
    }
    ch->op.traits.inputs_in_place = true;
    for (int i = 0, channel = 0; i < d->inputs; i++) {
        add_input(ch, d->x[i], d->dx[i]);
        for (int c = 0; c < d->x[i].shape.c; c++, channel++) {
            ch->to_input[channel] = (struct place){i, c};
            ch->to_output[channel] = (struct place){0, channel};
        }
    }
    *out = &ch->op;
    return STN_OK;
}

enum stn_status native_shuffle_create(void *team, const struct kernel_shuffle *d,
                                      struct kernel_op **out)
{
    struct channels *ch;
    enum stn_status status = channels_create("shuffle", team, d->x, d->x.shape.c, &ch);
    if (status) {
        return status;
    }
    add_input(ch, d->x, d->dx);
    int group_size = d->x.shape.c / d->groups;
    for (int g = 0; g < d->groups; g++) {
        for (int i = 0; i < group_size; i++) {
            int in = g * group_size + i, shuffled = i * d->groups + g;
            ch->to_input[shuffled] = (struct place){0, in};
            ch->to_output[in] = (struct place){0, shuffled};
        }
    }
    *out = &ch->op;
    return STN_OK;
}

enum stn_status native_slice_create(void *team, const struct kernel_slice *d,
                                    struct kernel_op **out)
{
    struct channels *ch;
    struct kernel_tensor y = d->x;
    y.shape.c = d->count;
    enum stn_status status = channels_create("slice", team, y, d->x.shape.c, &ch);
    if (status) {
        return status;
    }
    add_input(ch, d->x, d->dx);
    for (int c = 0; c < d->x.shape.c; c++) {
        ch->to_output[c] = (struct place){0, NOWHERE};
    }
    for (int c = 0; c < d->count; c++) {
        ch->to_input[c] = (struct place){0, d->first + c};
        ch->to_output[d->first + c] = (struct place){0, c};
    }
    *out = &ch->op;
    return STN_OK;
}

enum stn_status native_reorder_op_create(void *team, const struct kernel_reorder *d,
                                         struct kernel_op **out)
{
    struct channels *ch;
    struct kernel_tensor y = {d->x.shape, d->y_layout};
    enum stn_status status = channels_create("reorder", team, y, y.shape.c, &ch);
    if (status) {
        return status;
    }
    add_input(ch, d->x, d->dx);
    for (int c = 0; c < y.shape.c; c++) {
        ch->to_input[c] = ch->to_output[c] = (struct place){0, c};
    }
    *out = &ch->op;
    return STN_OK;
}
