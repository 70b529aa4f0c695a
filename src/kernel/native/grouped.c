// SPDX-License-Identifier: Apache-2.0
// 1×1 convolution in groups, with the products of simd/product.c. A group's channels need not begin
// where a block does: a block of outputs that belongs to two groups reads the inputs of both, with
// zeros among its packed weights. Otherwise as pointwise.c: pixels are shared out among threads,
// and for the weight gradient its elements, so that it does not depend on the number of threads.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/native/batchnorm.h"
#include "kernel/native/grouped.h"
#include "kernel/native/parts.h"

// The weights of a run for this many channels stay in the first-level cache while a panel goes by,
// as in pointwise.c. All runs read the panel: it takes 160 KB of the second-level cache, and the
// fewer channels a group has, the longer it may be and the fewer times weights are read.
enum { CHANNELS_AT_ONCE = 192, PANEL_FLOATS = 40960 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

// A block has channels of at most two groups.
bool native_grouped_fits(const struct kernel_team *team, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    int block = kernel_layout_block(team->blocked);
    bool fits = d->groups > 1 && d->x.layout == team->blocked && native_multiplies(team) &&
                d->x.shape.c / d->groups >= block && d->out_channels / d->groups >= block;
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == 1 && w->stride[axis] == 1 && w->pad_before[axis] == 0 &&
               w->pad_after[axis] == 0;
    }
    return fits;
}

// ---- bands -------------------------------------------------------------------------------------

// Groups that the channels of a block belong to.
static int first_group(const struct native_chunks *c, int group, int block)
{
    return block * c->block / group;
}

static int last_group(const struct native_chunks *c, int group, int block)
{
    return (smaller((block + 1) * c->block, c->channels) - 1) / group;
}

// Cuts the outputs into bands; there are at most as many as blocks.
static void cut_bands(struct grouped_side *side)
{
    const struct native_chunks *in = &side->in, *out = &side->out;
    int open = -1; // group of the last band, −1 where that is shared by two
    for (int b = 0; b < out->blocks; b++) {
        int first = first_group(out, side->out_group, b),
            last = last_group(out, side->out_group, b);
        if (first == last && first == open) {
            side->bands[side->band_count - 1].out_blocks++;
            continue;
        }
        open = first == last ? first : -1;
        int in_block = first * side->in_group / in->block;
        side->bands[side->band_count++] = (struct grouped_band){
            .out_block = b,
            .out_blocks = 1,
            .in_block = in_block,
            .in_channels = (last + 1) * side->in_group - in_block * in->block,
        };
    }
}

// Blocks of a band that one call makes.
struct run {
    int block, blocks;
};

static struct run run_of(const struct grouped_band *band, int index)
{
    int begin = part_begin(band->out_blocks, SIMD_PRODUCT_BLOCKS, index),
        end = part_begin(band->out_blocks, SIMD_PRODUCT_BLOCKS, index + 1);
    return (struct run){band->out_block + begin, end - begin};
}

static float *run_weights(const struct grouped_side *side, const struct grouped_band *band,
                          struct run run)
{
    return band->weights +
           (size_t)((run.block - band->out_block) * side->out.block) * (size_t)band->in_channels;
}

static size_t band_floats(const struct grouped_side *side, const struct grouped_band *band)
{
    return (size_t)(band->out_blocks * side->out.block) * (size_t)band->in_channels;
}

static size_t weight_floats(const struct grouped_side *side)
{
    size_t sum = 0;
    for (int i = 0; i < side->band_count; i++) {
        sum += band_floats(side, &side->bands[i]);
    }
    return sum;
}

static float *place_weights(struct grouped_side *side, float *at)
{
    for (int i = 0; i < side->band_count; i++) {
        side->bands[i].weights = at;
        at += band_floats(side, &side->bands[i]);
    }
    return at;
}

// Part of a run's packed weights [in_channels][lanes]: what one group gives it. Weight (out o, in
// i) of the group is at plain[o·out_stride + i·in_stride].
static void pack_run(const struct grouped_side *side, const struct grouped_band *band,
                     struct run run, int group, const float *plain, size_t out_stride,
                     size_t in_stride)
{
    int out_first = group * side->out_group, in_first = group * side->in_group;
    int first = run.block * side->out.block, lanes = run.blocks * side->out.block;
    int from = larger(first, out_first), to = smaller(first + lanes, out_first + side->out_group);
    int i = in_first - band->in_block * side->in.block;
    float *row = run_weights(side, band, run) + (size_t)i * (size_t)lanes - first;
    plain += (size_t)group * (size_t)side->in_group * (size_t)side->out_group;
    for (i = 0; i < side->in_group; i++, row += lanes) {
        for (int o = from; o < to; o++) {
            row[o] = plain[(size_t)(o - out_first) * out_stride + (size_t)i * in_stride];
        }
    }
}

// What belongs to no group stays zero.
static void pack_band(const struct grouped_side *side, const struct grouped_band *band,
                      const float *plain, size_t out_stride, size_t in_stride)
{
    for (int r = 0; r < part_count(band->out_blocks, SIMD_PRODUCT_BLOCKS); r++) {
        struct run run = run_of(band, r);
        int last = last_group(&side->out, side->out_group, run.block);
        for (int g = first_group(&side->out, side->out_group, run.block); g <= last; g++) {
            pack_run(side, band, run, g, plain, out_stride, in_stride);
        }
    }
}

static void grouped_prepare(struct kernel_op *op, int lane, const float *const *params)
{
    (void)lane;
    struct grouped *gr = (struct grouped *)op;
    int forward = gr->forward.band_count,
        data = gr->data.band_count; // none where nobody needs dx
    size_t columns = (size_t)gr->forward.in_group;
#pragma omp parallel for schedule(static) num_threads(gr->team->threads)
    for (int i = 0; i < forward + data; i++) {
        if (i < forward) {
            pack_band(&gr->forward, &gr->forward.bands[i], params[0], columns, 1);
        } else {
            pack_band(&gr->data, &gr->data.bands[i - forward], params[0], 1, columns);
        }
    }
    if (gr->desc.bias) {
        memcpy(gr->bias, params[1], (size_t)gr->desc.out_channels * sizeof(float));
    }
}

// ---- product -----------------------------------------------------------------------------------

struct product {
    const struct simd_kernels *simd;
    const struct grouped_side *side;
    const float *in;
    float *out;
    const float *bias;
    enum kernel_activation activation;
    bool add;
    const struct native_gather *gather; // of what is written; or NULL
};

// Pieces first … end − 1 of all samples, counted through.
struct panel {
    int first, end;
};

// A run of output blocks over one part of the band's channels.
static struct simd_product run_call(const struct product *p, const struct grouped_band *band,
                                    struct run run, int part)
{
    const struct native_chunks *in = &p->side->in, *out = &p->side->out;
    int in_blocks = part_count(band->in_channels, in->block), most = CHANNELS_AT_ONCE / in->block;
    int from = part_begin(in_blocks, most, part) * in->block,
        to = smaller(part_begin(in_blocks, most, part + 1) * in->block, band->in_channels);
    return (struct simd_product){
        .x = p->in + native_chunk_at(in, 0, band->in_block + from / in->block),
        .weights =
            run_weights(p->side, band, run) + (size_t)from * (size_t)(run.blocks * out->block),
        .bias = p->bias && from == 0 ? p->bias + run.block * out->block : NULL,
        .y = p->out + native_chunk_at(out, 0, run.block),
        .x_stride = in->floats,
        .y_stride = out->floats,
        .channels = to - from,
        .blocks = run.blocks,
        .add = p->add || from > 0,
        .activation = to == band->in_channels ? p->activation : KERNEL_LINEAR,
    };
}

static void multiply_run(const struct product *p, struct panel panel, struct run run,
                         struct simd_product whole, bool last)
{
    const struct native_chunks *in = &p->side->in, *out = &p->side->out;
    int pieces = native_pieces(in->pixels);
    for (int i = panel.first; i < panel.end; i++) {
        int n = i / pieces, piece = i % pieces;
        struct native_piece at = native_piece_at(in->pixels, piece);
        struct simd_product call = whole;
        call.x += native_chunk_at(in, n, 0) + at.first * (size_t)in->block;
        call.y += native_chunk_at(out, n, 0) + at.first * (size_t)out->block;
        p->simd->product(&call, at.count);
        for (int b = 0; b < (p->gather && last ? run.blocks : 0); b++) {
            native_gather_measure(p->gather, n, run.block + b, piece);
        }
    }
}

static void multiply_band(const struct product *p, const struct grouped_band *band,
                          struct panel panel)
{
    int block = p->side->in.block,
        parts = part_count(part_count(band->in_channels, block), CHANNELS_AT_ONCE / block);
    for (int part = 0; part < parts; part++) {
        for (int r = 0; r < part_count(band->out_blocks, SIMD_PRODUCT_BLOCKS); r++) {
            struct run run = run_of(band, r);
            multiply_run(p, panel, run, run_call(p, band, run, part), part == parts - 1);
        }
    }
}

// Pieces that a panel of the side's inputs has room for.
static int panel_pieces(const struct grouped_side *side)
{
    int channels = smaller(side->in_group, CHANNELS_AT_ONCE);
    size_t floats = native_piece_at(side->in.pixels, 0).count * (size_t)channels;
    return larger(1, (int)(PANEL_FLOATS / floats));
}

// This thread's share of a product.
static void multiply(const struct product *p)
{
    const struct native_chunks *in = &p->side->in;
    int items = in->n * native_pieces(in->pixels), most = panel_pieces(p->side);
    int team = omp_get_num_threads(), me = omp_get_thread_num();
    struct panel share = {items * me / team, items * (me + 1) / team};
    for (int first = share.first; first < share.end; first += most) {
        struct panel panel = {first, smaller(first + most, share.end)};
        for (int b = 0; b < p->side->band_count; b++) {
            multiply_band(p, &p->side->bands[b], panel);
        }
    }
}

// ---- running -----------------------------------------------------------------------------------

// `gather`: for the batch norm behind, or NULL.
static enum stn_status forward(const struct grouped *gr, const struct kernel_io *io,
                               const struct native_gather *gather)
{
    struct product p = {.simd = gr->simd,
                        .side = &gr->forward,
                        .in = io->x[0],
                        .out = io->y,
                        .bias = gr->desc.bias ? gr->bias : NULL,
                        .activation = gr->desc.activation,
                        .gather = gather};
#pragma omp parallel num_threads(native_team(gr->team, &gr->forward.in))
    {
        multiply(&p);
        if (gather) {
#pragma omp barrier
            native_gather_finish(gather);
        }
    }
    return STN_OK;
}

static enum stn_status grouped_forward(struct kernel_op *op, const struct kernel_io *io)
{
    return forward((struct grouped *)op, io, NULL);
}

static enum stn_status grouped_forward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                                struct kernel_op *next,
                                                const struct kernel_io *next_io)
{
    struct native_gather gather = native_gather_forward(next, next_io);
    return forward((struct grouped *)op, io, &gather);
}

// `gather`: for the batch norm before, or NULL.
static enum stn_status backward(const struct grouped *gr, const struct kernel_io *io,
                                const struct native_gather *gather)
{
    struct product p = {.simd = gr->simd,
                        .side = &gr->data,
                        .in = io->dy,
                        .out = io->dx[0],
                        .add = gr->desc.dx == KERNEL_DX_ADD,
                        .gather = gather};
    if (gr->desc.bias || gr->desc.activation != KERNEL_LINEAR) {
        native_mask_and_sum_bias(gr->team, &gr->desc, gr->op.traits.y, io);
    }
#pragma omp parallel num_threads(native_team(gr->team, &gr->forward.in))
    {
        native_grouped_outer(gr, io->x[0], io->dy, io->rows, io->param_grads[0]);
        if (gr->desc.dx != KERNEL_DX_NONE) {
            multiply(&p);
        }
        if (gather) {
#pragma omp barrier
            native_gather_finish(gather);
        }
    }
    return STN_OK;
}

static enum stn_status grouped_backward(struct kernel_op *op, const struct kernel_io *io)
{
    return backward((struct grouped *)op, io, NULL);
}

static enum stn_status grouped_backward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                                 struct kernel_op *before,
                                                 const struct kernel_io *before_io)
{
    struct native_gather gather = native_gather_backward(before, before_io);
    return backward((struct grouped *)op, io, &gather);
}

// ---- life --------------------------------------------------------------------------------------

static void grouped_destroy(struct kernel_op *op)
{
    struct grouped *gr = (struct grouped *)op;
    base_pages_free(gr->pages, gr->page_bytes);
    free(gr->forward.bands);
    free(gr->data.bands);
    free(gr);
}

static const struct kernel_op_calls grouped_calls = {
    .prepare = grouped_prepare,
    .forward = grouped_forward,
    .backward = grouped_backward,
    .forward_gathered = grouped_forward_gathered,
    .backward_gathered = grouped_backward_gathered,
    .destroy = grouped_destroy,
};

static enum stn_status create_side(struct grouped_side *side)
{
    side->bands = calloc((size_t)side->out.blocks, sizeof(*side->bands));
    if (!side->bands) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    cut_bands(side);
    return STN_OK;
}

static enum stn_status create_pages(struct grouped *gr)
{
    size_t padded = (size_t)gr->forward.out.blocks * (size_t)gr->forward.out.block;
    gr->page_bytes =
        (weight_floats(&gr->forward) + weight_floats(&gr->data) + padded) * sizeof(float);
    gr->pages = base_pages_alloc(gr->page_bytes);
    if (!gr->pages) {
        return stn_fail(STN_ERR_NO_MEMORY,
                        "no memory for the packed weights of a convolution (%zu bytes)",
                        gr->page_bytes);
    }
    gr->bias = place_weights(&gr->data, place_weights(&gr->forward, gr->pages));
    return STN_OK;
}

enum stn_status native_grouped_create(struct kernel_team *team, const struct kernel_conv *d,
                                      struct kernel_op_traits traits, struct kernel_op **out)
{
    struct grouped *gr = calloc(1, sizeof(*gr));
    if (!gr) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    gr->team = team;
    gr->desc = *d;
    gr->forward.in = gr->data.out = native_chunks_of(d->x);
    gr->forward.out = gr->data.in = native_chunks_of(traits.y);
    gr->forward.in_group = gr->data.out_group = d->x.shape.c / d->groups;
    gr->forward.out_group = gr->data.in_group = d->out_channels / d->groups;
    gr->simd = simd_kernels_for(gr->forward.in.block);
    enum stn_status status = create_side(&gr->forward);
    if (!status && d->dx != KERNEL_DX_NONE) {
        status = create_side(&gr->data);
    }
    if (!status) {
        status = create_pages(gr);
    }
    if (status) {
        grouped_destroy(&gr->op);
        return status;
    }
    traits.packed_bytes = gr->page_bytes;
    traits.scratch_bytes = native_mask_and_sum_bias_bytes(traits.y);
    gr->op = (struct kernel_op){.calls = &grouped_calls, .traits = traits};
    *out = &gr->op;
    return STN_OK;
}
