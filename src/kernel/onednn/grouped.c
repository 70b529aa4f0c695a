// SPDX-License-Identifier: Apache-2.0
// 1×1 convolution in groups, with the products of simd/product.c. A group's channels need not begin
// where a block does: a block of outputs that belongs to two groups reads the inputs of both, with
// zeros among its packed weights. Otherwise as pointwise.c: pixels are shared out among threads, and
// for the weight gradient its elements, so that it does not depend on the number of threads.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/onednn/engine.h"
#include "kernel/onednn/parts.h"

// What a product reads again and again stays in the first-level cache, as in pointwise.c; the maps of
// 224² images are cut into whole panels.
enum { CHANNELS_AT_ONCE = 192, PANEL_PIXELS = 196 };

// Neighbouring blocks of outputs that read the same inputs. Its weights are packed in runs of at most
// SIMD_PRODUCT_BLOCKS blocks, each [in_channels][blocks of the run][block].
struct band {
    int out_block, out_blocks;
    int in_block, in_channels; // from the first channel of in_block on
    float *weights;
};

// One direction: `out` is what is written.
struct side {
    struct onednn_chunks in, out;
    int in_group, out_group; // channels of a group
    struct band *bands;
    int band_count;
};

struct grouped {
    struct kernel_op op;
    struct onednn_engine *engine;
    struct kernel_conv desc;
    const struct simd_kernels *simd;
    struct side forward, data;
    float *bias; // padded
    void *pages; // hold weights and bias
    size_t page_bytes;
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

// A block has channels of at most two groups.
bool onednn_grouped_fits(const struct onednn_engine *engine, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    int block = kernel_layout_block(engine->native);
    bool fits = d->groups > 1 && d->x.layout == engine->native && simd_kernels_for(block)->fused &&
                d->x.shape.c / d->groups >= block && d->out_channels / d->groups >= block;
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == 1 && w->stride[axis] == 1 && w->pad_before[axis] == 0 &&
               w->pad_after[axis] == 0;
    }
    return fits;
}

// ---- bands --------------------------------------------------------------------------------------

// Groups that the channels of a block belong to.
static int first_group(const struct onednn_chunks *c, int group, int block)
{
    return block * c->block / group;
}

static int last_group(const struct onednn_chunks *c, int group, int block)
{
    return (smaller((block + 1) * c->block, c->channels) - 1) / group;
}

// Cuts the outputs into bands; there are at most as many as blocks.
static void cut_bands(struct side *side)
{
    const struct onednn_chunks *in = &side->in, *out = &side->out;
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
        side->bands[side->band_count++] = (struct band){
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

static struct run run_of(const struct band *band, int index)
{
    int begin = part_begin(band->out_blocks, SIMD_PRODUCT_BLOCKS, index),
        end = part_begin(band->out_blocks, SIMD_PRODUCT_BLOCKS, index + 1);
    return (struct run){band->out_block + begin, end - begin};
}

static float *run_weights(const struct side *side, const struct band *band, struct run run)
{
    return band->weights +
           (size_t)((run.block - band->out_block) * side->out.block) * (size_t)band->in_channels;
}

static size_t band_floats(const struct side *side, const struct band *band)
{
    return (size_t)(band->out_blocks * side->out.block) * (size_t)band->in_channels;
}

static size_t weight_floats(const struct side *side)
{
    size_t sum = 0;
    for (int i = 0; i < side->band_count; i++) {
        sum += band_floats(side, &side->bands[i]);
    }
    return sum;
}

static float *place_weights(struct side *side, float *at)
{
    for (int i = 0; i < side->band_count; i++) {
        side->bands[i].weights = at;
        at += band_floats(side, &side->bands[i]);
    }
    return at;
}

// Part of a run's packed weights [in_channels][lanes]: what one group gives it. Weight (out o, in i)
// of the group is at plain[o·out_stride + i·in_stride].
static void pack_run(const struct side *side, const struct band *band, struct run run, int group,
                     const float *plain, size_t out_stride, size_t in_stride)
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
static void pack_band(const struct side *side, const struct band *band, const float *plain,
                      size_t out_stride, size_t in_stride)
{
    for (int r = 0; r < part_count(band->out_blocks, SIMD_PRODUCT_BLOCKS); r++) {
        struct run run = run_of(band, r);
        int last = last_group(&side->out, side->out_group, run.block);
        for (int g = first_group(&side->out, side->out_group, run.block); g <= last; g++) {
            pack_run(side, band, run, g, plain, out_stride, in_stride);
        }
    }
}

static void grouped_prepare(struct kernel_op *op, const float *const *params)
{
    struct grouped *gr = (struct grouped *)op;
    int forward = gr->forward.band_count,
        data = gr->data.band_count; // none where nobody needs dx
    size_t columns = (size_t)gr->forward.in_group;
#pragma omp parallel for schedule(static) num_threads(gr->engine->threads)
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

// ---- product ------------------------------------------------------------------------------------

struct product {
    const struct simd_kernels *simd;
    const struct side *side;
    const float *in;
    float *out;
    const float *bias;
    enum kernel_activation activation;
    bool add;
};

// Pixels first … end − 1 of all samples, counted through.
struct panel {
    size_t first, end;
};

// A run of output blocks over a part of the band's channels, sample by sample.
static void multiply_run(const struct product *p, const struct band *band, struct panel panel,
                         struct run run, int part)
{
    const struct onednn_chunks *in = &p->side->in, *out = &p->side->out;
    int in_blocks = part_count(band->in_channels, in->block), most = CHANNELS_AT_ONCE / in->block;
    int from = part_begin(in_blocks, most, part) * in->block,
        to = smaller(part_begin(in_blocks, most, part + 1) * in->block, band->in_channels);
    struct simd_product call = {
        .weights =
            run_weights(p->side, band, run) + (size_t)from * (size_t)(run.blocks * out->block),
        .bias = p->bias && from == 0 ? p->bias + run.block * out->block : NULL,
        .x_stride = in->floats,
        .y_stride = out->floats,
        .channels = to - from,
        .blocks = run.blocks,
        .add = p->add || from > 0,
        .activation = to == band->in_channels ? p->activation : KERNEL_LINEAR,
    };
    for (size_t at = panel.first; at < panel.end;) {
        int n = (int)(at / in->pixels), in_block = band->in_block + from / in->block;
        size_t pixel = at % in->pixels, left = in->pixels - pixel;
        size_t count = left < panel.end - at ? left : panel.end - at;
        call.x = p->in + onednn_chunk_at(in, n, in_block) + pixel * (size_t)in->block;
        call.y = p->out + onednn_chunk_at(out, n, run.block) + pixel * (size_t)out->block;
        p->simd->product(&call, count);
        at += count;
    }
}

static void multiply_band(const struct product *p, const struct band *band, struct panel panel)
{
    int block = p->side->in.block, in_blocks = part_count(band->in_channels, block);
    for (int part = 0; part < part_count(in_blocks, CHANNELS_AT_ONCE / block); part++) {
        for (int r = 0; r < part_count(band->out_blocks, SIMD_PRODUCT_BLOCKS); r++) {
            multiply_run(p, band, panel, run_of(band, r), part);
        }
    }
}

// This thread's share of a product.
static void multiply(const struct product *p)
{
    size_t pixels = (size_t)p->side->in.n * p->side->in.pixels;
    size_t team = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
    size_t first = pixels * me / team, count = pixels * (me + 1) / team - first;
    size_t panels = (count + PANEL_PIXELS - 1) / PANEL_PIXELS;
    for (size_t i = 0; i < panels; i++) {
        struct panel panel = {first + count * i / panels, first + count * (i + 1) / panels};
        for (int b = 0; b < p->side->band_count; b++) {
            multiply_band(p, &p->side->bands[b], panel);
        }
    }
}

// ---- weight gradient ----------------------------------------------------------------------------

// Pixels of some samples.
struct outer {
    const struct grouped *gr;
    const float *x, *dy;
    float *dw;
    int sample, samples;
    size_t pixel, pixels;
};

// Where a tile of the gradient stands: channels of one group.
struct tile {
    int row, row_end;       // outputs, in one block
    int column, column_end; // inputs, in at most SIMD_PRODUCT_BLOCKS blocks
};

// Where a tile begins within a block, the lanes before it belong to another group: what they give is
// dropped.
static void outer_beside(const struct simd_kernels *simd, struct simd_outer call, int skipped)
{
    enum { WIDTH = SIMD_PRODUCT_BLOCKS * SIMD_BLOCK_MAX };
    float beside[SIMD_OUTER_ROWS * WIDTH] = {0}, *dw = call.dw;
    size_t stride = call.dw_stride;
    call.dw = beside;
    call.dw_stride = WIDTH;
    call.columns += skipped;
    simd->outer(&call);
    for (int r = 0; r < call.rows; r++, dw += stride) {
        for (int c = skipped; c < call.columns; c++) {
            dw[c - skipped] += beside[r * WIDTH + c];
        }
    }
}

static void outer_rows(const struct outer *o, const struct tile *tile, int row, int rows)
{
    const struct onednn_chunks *in = &o->gr->forward.in, *out = &o->gr->forward.out;
    int width = o->gr->forward.in_group, skipped = tile->column % in->block;
    size_t pixel = o->pixel * (size_t)in->block;
    struct simd_outer call = {
        .x = o->x + onednn_chunk_at(in, o->sample, tile->column / in->block) + pixel,
        .dy = o->dy + onednn_chunk_at(out, o->sample, row / out->block) + pixel + row % out->block,
        .dw = o->dw + (size_t)row * (size_t)width + tile->column % width,
        .x_stride = in->floats,
        .x_sample = (size_t)in->blocks * in->floats,
        .dy_sample = (size_t)out->blocks * out->floats,
        .dw_stride = (size_t)width,
        .pixels = o->pixels,
        .samples = o->samples,
        .rows = rows,
        .columns = tile->column_end - tile->column,
    };
    if (skipped) {
        outer_beside(o->gr->simd, call, skipped);
    } else {
        o->gr->simd->outer(&call);
    }
}

static void outer_tile(const struct outer *o, const struct tile *tile)
{
    for (int row = tile->row; row < tile->row_end; row += SIMD_OUTER_ROWS) {
        outer_rows(o, tile, row, smaller(SIMD_OUTER_ROWS, tile->row_end - row));
    }
}

// The blocks that a group's channels lie in.
struct blocks {
    int first, count;
};

static struct blocks blocks_of(int group, int channels, int block)
{
    int first = group * channels / block, last = ((group + 1) * channels - 1) / block;
    return (struct blocks){first, last - first + 1};
}

// One group's gradient over one panel: this thread's share of the tiles, blocks of outputs first.
static void outer_group(const struct outer *o, int group)
{
    const struct side *side = &o->gr->forward;
    int block = side->in.block, in_first = group * side->in_group,
        out_first = group * side->out_group;
    struct blocks rows = blocks_of(group, side->out_group, block),
                  columns = blocks_of(group, side->in_group, block);
    int items = rows.count * part_count(columns.count, SIMD_PRODUCT_BLOCKS);
    int team = omp_get_num_threads(), me = omp_get_thread_num();
    for (int i = items * me / team; i < items * (me + 1) / team; i++) {
        int row = rows.first + i % rows.count, part = i / rows.count;
        int from = columns.first + part_begin(columns.count, SIMD_PRODUCT_BLOCKS, part),
            to = columns.first + part_begin(columns.count, SIMD_PRODUCT_BLOCKS, part + 1);
        outer_tile(o, &(struct tile){
                          .row = larger(row * block, out_first),
                          .row_end = smaller((row + 1) * block, out_first + side->out_group),
                          .column = larger(from * block, in_first),
                          .column_end = smaller(to * block, in_first + side->in_group),
                      });
    }
}

// Panels are whole samples where these are small, else parts of one.
static void outer(struct outer o, int rows)
{
    size_t pixels = o.gr->forward.in.pixels, parts = (pixels + PANEL_PIXELS - 1) / PANEL_PIXELS;
    int most = pixels < PANEL_PIXELS ? (int)(PANEL_PIXELS / pixels) : 1;
    for (o.sample = 0; o.sample < rows; o.sample += o.samples) {
        o.samples = smaller(most, rows - o.sample);
        for (size_t part = 0; part < parts; part++) {
            o.pixel = pixels * part / parts;
            o.pixels = pixels * (part + 1) / parts - o.pixel;
            for (int group = 0; group < o.gr->desc.groups; group++) {
                outer_group(&o, group);
            }
        }
    }
}

// ---- running ------------------------------------------------------------------------------------

static enum stn_status grouped_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct grouped *gr = (struct grouped *)op;
    struct product p = {.simd = gr->simd,
                        .side = &gr->forward,
                        .in = io->x[0],
                        .out = io->y,
                        .bias = gr->desc.bias ? gr->bias : NULL,
                        .activation = gr->desc.activation};
#pragma omp parallel num_threads(onednn_team(gr->engine, &gr->forward.in))
    multiply(&p);
    return STN_OK;
}

static enum stn_status grouped_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct grouped *gr = (struct grouped *)op;
    bool wanted = gr->desc.dx != KERNEL_DX_NONE;
    struct outer o = {.gr = gr, .x = io->x[0], .dy = io->dy, .dw = io->param_grads[0]};
    struct product p = {.simd = gr->simd,
                        .side = &gr->data,
                        .in = io->dy,
                        .out = io->dx[0],
                        .add = gr->desc.dx == KERNEL_DX_ADD};
    if (gr->desc.bias || gr->desc.activation != KERNEL_LINEAR) {
        onednn_mask_and_sum_bias(gr->engine, &gr->desc, op->traits.y, io);
    }
#pragma omp parallel num_threads(onednn_team(gr->engine, &gr->forward.in))
    {
        outer(o, io->rows);
        if (wanted) {
            multiply(&p);
        }
    }
    return STN_OK;
}

// ---- life ---------------------------------------------------------------------------------------

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
    .destroy = grouped_destroy,
};

static enum stn_status create_side(struct side *side)
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
    size_t padded = (size_t)(gr->forward.out.blocks * gr->forward.out.block);
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

enum stn_status onednn_grouped_create(struct onednn_engine *engine, const struct kernel_conv *d,
                                      struct kernel_op_traits traits, struct kernel_op **out)
{
    struct grouped *gr = calloc(1, sizeof(*gr));
    if (!gr) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    gr->engine = engine;
    gr->desc = *d;
    gr->forward.in = gr->data.out = onednn_chunks_of(d->x);
    gr->forward.out = gr->data.in = onednn_chunks_of(traits.y);
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
    traits.scratch_bytes = onednn_mask_and_sum_bias_bytes(traits.y);
    gr->op = (struct kernel_op){.calls = &grouped_calls, .traits = traits};
    *out = &gr->op;
    return STN_OK;
}
