// SPDX-License-Identifier: Apache-2.0
// 1×1 convolution with our own kernels. Output and input gradient are one product of a feature map
// with packed weights, which differ only in the packing; their pixels are shared out among threads.
// The weight gradient is an outer product over pixels and is added to the plain sums straight from
// registers; its elements are shared out, so it does not depend on the number of threads. A stride
// is a copy of the pixels that count, which the rest sees as a map of its own.
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "base/arena.h"
#include "kernel/native/batchnorm.h"
#include "kernel/native/parts.h"

// Cache arithmetic: a group's weights for this many channels (18 KB) stay in the first-level cache
// while a panel of pixels goes by, and so do an outer panel's three planes of x. Of the last, 192
// was timed too, on MobileNetV2's shapes on Zen 3, and was 3 % slower.
enum { CHANNELS_AT_ONCE = 192, PANEL_PIXELS = 160, OUTER_PIXELS = 224 };

// One direction: `out` is what is written.
struct side {
    struct native_chunks in, out;
    float *weights; // in groups of output blocks, each [in channels][blocks of the group][block]
};

struct pointwise {
    struct kernel_op op;
    struct kernel_team *team;
    struct kernel_conv desc;
    const struct simd_kernels *simd;
    struct side forward, data;
    struct native_chunks x; // as it comes; forward.in is as seen through the stride
    float *bias;            // padded
    void *pages;            // holds weights and bias
    size_t page_bytes;
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

bool native_pointwise_fits(const struct kernel_team *team, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    bool fits = d->groups == 1 && d->x.layout == team->blocked && native_multiplies(team);
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == 1 && w->pad_before[axis] == 0 && w->pad_after[axis] == 0;
    }
    return fits;
}

// ---- weights -----------------------------------------------------------------------------------

// Packs one group. Weight (out o, in i) is at plain[o·out_stride + i·in_stride].
static void pack_group(const struct side *side, int group, const float *plain, size_t out_stride,
                       size_t in_stride)
{
    const struct native_chunks *out = &side->out;
    int first = part_begin(out->blocks, SIMD_PRODUCT_BLOCKS, group) * out->block,
        lanes = part_begin(out->blocks, SIMD_PRODUCT_BLOCKS, group + 1) * out->block - first;
    int real = smaller(lanes, out->channels - first);
    float *to = side->weights + (size_t)first * (size_t)side->in.channels;
    for (int i = 0; i < side->in.channels; i++, to += lanes) {
        const float *from = plain + (size_t)first * out_stride + (size_t)i * in_stride;
        for (int l = 0; l < real; l++) {
            to[l] = from[(size_t)l * out_stride];
        }
    }
}

static void pointwise_prepare(struct kernel_op *op, int lane, const float *const *params)
{
    (void)lane;
    struct pointwise *pw = (struct pointwise *)op;
    size_t inputs = (size_t)pw->x.channels;
    int forward = part_count(pw->forward.out.blocks, SIMD_PRODUCT_BLOCKS),
        data = pw->desc.dx == KERNEL_DX_NONE ? 0
                                             : part_count(pw->data.out.blocks, SIMD_PRODUCT_BLOCKS);
#pragma omp parallel for schedule(static) num_threads(pw->team->threads)
    for (int g = 0; g < forward + data; g++) {
        if (g < forward) {
            pack_group(&pw->forward, g, params[0], inputs, 1);
        } else {
            pack_group(&pw->data, g - forward, params[0], 1, inputs);
        }
    }
    if (pw->desc.bias) {
        memcpy(pw->bias, params[1], (size_t)pw->desc.out_channels * sizeof(float));
    }
}

// ---- product -----------------------------------------------------------------------------------

struct product {
    const struct simd_kernels *simd;
    const struct side *side;
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

// Output blocks `block` … of one group, from one part of the channels.
static struct simd_product group_call(const struct product *p, int group, int part, int *block)
{
    const struct native_chunks *in = &p->side->in, *out = &p->side->out;
    int from = part_begin(in->blocks, CHANNELS_AT_ONCE / in->block, part) * in->block,
        to = part_begin(in->blocks, CHANNELS_AT_ONCE / in->block, part + 1) * in->block;
    *block = part_begin(out->blocks, SIMD_PRODUCT_BLOCKS, group);
    int blocks = part_begin(out->blocks, SIMD_PRODUCT_BLOCKS, group + 1) - *block;
    size_t lane = (size_t)*block * (size_t)out->block;
    return (struct simd_product){
        .x = p->in + native_chunk_at(in, 0, from / in->block),
        .weights = p->side->weights + lane * (size_t)in->channels +
                   (size_t)from * (size_t)blocks * (size_t)out->block,
        .bias = p->bias && from == 0 ? p->bias + lane : NULL,
        .y = p->out + native_chunk_at(out, 0, *block),
        .x_stride = in->floats,
        .y_stride = out->floats,
        .channels = smaller(to, in->channels) - from,
        .blocks = blocks,
        .add = p->add || from > 0,
        .activation = to >= in->channels ? p->activation : KERNEL_LINEAR,
    };
}

static void multiply_group(const struct product *p, struct panel panel, int group, int part,
                           bool last)
{
    const struct native_chunks *in = &p->side->in, *out = &p->side->out;
    int pieces = native_pieces(in->pixels), block;
    const struct simd_product whole = group_call(p, group, part, &block);
    for (int i = panel.first; i < panel.end; i++) {
        int n = i / pieces, piece = i % pieces;
        struct native_piece at = native_piece_at(in->pixels, piece);
        struct simd_product call = whole;
        call.x += native_chunk_at(in, n, 0) + at.first * (size_t)in->block;
        call.y += native_chunk_at(out, n, 0) + at.first * (size_t)out->block;
        p->simd->product(&call, at.count);
        for (int b = 0; b < (p->gather && last ? whole.blocks : 0); b++) {
            native_gather_measure(p->gather, n, block + b, piece);
        }
    }
}

// This thread's share of a product: of the pieces, in panels of one large or several small ones.
static void multiply(const struct product *p)
{
    const struct native_chunks *in = &p->side->in;
    int parts = part_count(in->blocks, CHANNELS_AT_ONCE / in->block),
        groups = part_count(p->side->out.blocks, SIMD_PRODUCT_BLOCKS);
    int items = in->n * native_pieces(in->pixels), team = omp_get_num_threads(),
        me = omp_get_thread_num();
    int most = in->pixels < PANEL_PIXELS ? PANEL_PIXELS / (int)in->pixels : 1;
    struct panel share = {items * me / team, items * (me + 1) / team};
    for (int first = share.first; first < share.end; first += most) {
        struct panel panel = {first, smaller(first + most, share.end)};
        for (int part = 0; part < parts; part++) {
            for (int group = 0; group < groups; group++) {
                multiply_group(p, panel, group, part, part == parts - 1);
            }
        }
    }
}

// ---- weight gradient ---------------------------------------------------------------------------

struct outer {
    const struct pointwise *pw;
    const float *x, *dy;
    float *dw;
    int sample, samples; // the panel's
    size_t pixel, pixels;
};

// The gradient of one block of output channels and one group of input blocks.
static void outer_item(const struct outer *o, int block, int group)
{
    const struct native_chunks *in = &o->pw->forward.in, *out = &o->pw->forward.out;
    int from = part_begin(in->blocks, SIMD_PRODUCT_BLOCKS, group),
        to = part_begin(in->blocks, SIMD_PRODUCT_BLOCKS, group + 1);
    int row = block * out->block, column = from * in->block,
        rows = smaller(out->block, out->channels - row);
    size_t pixel = o->pixel * (size_t)in->block;
    struct simd_outer call = {
        .x = o->x + native_chunk_at(in, o->sample, from) + pixel,
        .x_stride = in->floats,
        .x_sample = (size_t)in->blocks * in->floats,
        .dy_sample = (size_t)out->blocks * out->floats,
        .dw_stride = (size_t)in->channels,
        .pixels = o->pixels,
        .samples = o->samples,
        .columns = smaller(to * in->block, in->channels) - column,
    };
    const float *dy = o->dy + native_chunk_at(out, o->sample, block) + pixel;
    for (int r = 0; r < rows; r += SIMD_OUTER_ROWS) {
        call.dy = dy + r;
        call.dw = o->dw + (size_t)(row + r) * call.dw_stride + (size_t)column;
        call.rows = smaller(SIMD_OUTER_ROWS, rows - r);
        o->pw->simd->outer(&call);
    }
}

// This thread's share of the elements, over one panel.
static void outer_panel(const struct outer *o)
{
    int blocks = o->pw->forward.out.blocks,
        items = blocks * part_count(o->pw->forward.in.blocks, SIMD_PRODUCT_BLOCKS);
    int team = omp_get_num_threads(), me = omp_get_thread_num();
    for (int i = items * me / team; i < items * (me + 1) / team; i++) {
        outer_item(o, i % blocks, i / blocks);
    }
}

// Panels are whole samples where these are small, else parts of one.
static void outer(struct outer o, int rows)
{
    int pixels = (int)o.pw->forward.in.pixels, parts = part_count(pixels, OUTER_PIXELS);
    int most = pixels < OUTER_PIXELS ? OUTER_PIXELS / pixels : 1;
    for (o.sample = 0; o.sample < rows; o.sample += o.samples) {
        o.samples = smaller(most, rows - o.sample);
        for (int part = 0; part < parts; part++) {
            o.pixel = (size_t)part_begin(pixels, OUTER_PIXELS, part);
            o.pixels = (size_t)part_begin(pixels, OUTER_PIXELS, part + 1) - o.pixel;
            outer_panel(&o);
        }
    }
}

// ---- stride ------------------------------------------------------------------------------------

static bool is_strided(const struct pointwise *pw)
{
    return pw->desc.window.stride[0] > 1 || pw->desc.window.stride[1] > 1;
}

// Copies the pixels of one chunk that count.
static void thin_chunk(const struct pointwise *pw, const float *x, float *thin)
{
    struct kernel_shape y = pw->op.traits.y.shape;
    size_t block = (size_t)pw->x.block, row = (size_t)pw->desc.x.shape.w * block,
           down = (size_t)pw->desc.window.stride[0], right = (size_t)pw->desc.window.stride[1];
    for (size_t oy = 0; oy < (size_t)y.h; oy++) {
        for (size_t ox = 0; ox < (size_t)y.w; ox++, thin += block) {
            memcpy(thin, x + oy * down * row + ox * right * block, block * sizeof(float));
        }
    }
}

// The other way; pixels that do not count get zero, or keep what they have where it is added to.
static void widen_chunk(const struct pointwise *pw, const float *thin, float *dx)
{
    struct kernel_shape y = pw->op.traits.y.shape;
    size_t block = (size_t)pw->x.block, row = (size_t)pw->desc.x.shape.w * block,
           down = (size_t)pw->desc.window.stride[0], right = (size_t)pw->desc.window.stride[1];
    bool add = pw->desc.dx == KERNEL_DX_ADD;
    if (!add) {
        memset(dx, 0, pw->x.floats * sizeof(float));
    }
    for (size_t oy = 0; oy < (size_t)y.h; oy++) {
        for (size_t ox = 0; ox < (size_t)y.w; ox++, thin += block) {
            pw->simd->mask(thin, NULL, KERNEL_LINEAR, 1, add,
                           dx + oy * down * row + ox * right * block);
        }
    }
}

// x as the product sees it. Ends with the team together.
static const float *thin_input(const struct pointwise *pw, const struct kernel_io *io)
{
    if (!is_strided(pw)) {
        return io->x[0];
    }
    float *thin = io->scratch;
#pragma omp for schedule(static)
    for (int i = 0; i < pw->x.n * pw->x.blocks; i++) {
        thin_chunk(pw, io->x[0] + (size_t)i * pw->x.floats,
                   thin + (size_t)i * pw->forward.in.floats);
    }
    return thin;
}

// ---- running -----------------------------------------------------------------------------------

// `gather`: for the batch norm behind, or NULL.
static enum stn_status forward(const struct pointwise *pw, const struct kernel_io *io,
                               const struct native_gather *gather)
{
#pragma omp parallel num_threads(native_team(pw->team, &pw->x))
    {
        multiply(&(struct product){.simd = pw->simd,
                                   .side = &pw->forward,
                                   .in = thin_input(pw, io),
                                   .out = io->y,
                                   .bias = pw->desc.bias ? pw->bias : NULL,
                                   .activation = pw->desc.activation,
                                   .gather = gather});
        if (gather) {
#pragma omp barrier
            native_gather_finish(gather);
        }
    }
    return STN_OK;
}

static enum stn_status pointwise_forward(struct kernel_op *op, const struct kernel_io *io)
{
    return forward((struct pointwise *)op, io, NULL);
}

static enum stn_status pointwise_forward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                                  struct kernel_op *next,
                                                  const struct kernel_io *next_io)
{
    struct native_gather gather = native_gather_forward(next, next_io);
    return forward((struct pointwise *)op, io, &gather);
}

static void widen_all(const struct pointwise *pw, const struct kernel_io *io,
                      const struct native_gather *gather)
{
    const float *thin = io->scratch;
    int pieces = gather ? native_pieces(pw->x.pixels) : 0;
#pragma omp for schedule(static)
    for (int i = 0; i < pw->x.n * pw->x.blocks; i++) {
        widen_chunk(pw, thin + (size_t)i * pw->data.out.floats,
                    io->dx[0] + (size_t)i * pw->x.floats);
        for (int piece = 0; piece < pieces; piece++) {
            native_gather_measure(gather, i / pw->x.blocks, i % pw->x.blocks, piece);
        }
    }
}

// `gather`: for the batch norm before, or NULL.
static void backward_data(const struct pointwise *pw, const struct kernel_io *io,
                          const struct native_gather *gather)
{
    bool strided = is_strided(pw);
    multiply(&(struct product){.simd = pw->simd,
                               .side = &pw->data,
                               .in = io->dy,
                               .out = strided ? io->scratch : io->dx[0],
                               .add = !strided && pw->desc.dx == KERNEL_DX_ADD,
                               .gather = strided ? NULL : gather});
#pragma omp barrier
    if (strided) {
        widen_all(pw, io, gather);
    }
    if (gather) {
        native_gather_finish(gather);
    }
}

static enum stn_status backward(const struct pointwise *pw, const struct kernel_io *io,
                                const struct native_gather *gather)
{
    if (pw->desc.bias || pw->desc.activation != KERNEL_LINEAR) {
        native_mask_and_sum_bias(pw->team, &pw->desc, pw->op.traits.y, io);
    }
#pragma omp parallel num_threads(native_team(pw->team, &pw->x))
    {
        outer(
            (struct outer){
                .pw = pw, .x = thin_input(pw, io), .dy = io->dy, .dw = io->param_grads[0]},
            io->rows);
        if (is_strided(pw)) {
#pragma omp barrier // the scratch changes hands
        }
        if (pw->desc.dx != KERNEL_DX_NONE) {
            backward_data(pw, io, gather);
        }
    }
    return STN_OK;
}

static enum stn_status pointwise_backward(struct kernel_op *op, const struct kernel_io *io)
{
    return backward((struct pointwise *)op, io, NULL);
}

static enum stn_status pointwise_backward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                                   struct kernel_op *before,
                                                   const struct kernel_io *before_io)
{
    struct native_gather gather = native_gather_backward(before, before_io);
    return backward((struct pointwise *)op, io, &gather);
}

// ---- life --------------------------------------------------------------------------------------

static void pointwise_destroy(struct kernel_op *op)
{
    struct pointwise *pw = (struct pointwise *)op;
    base_pages_free(pw->pages, pw->page_bytes);
    free(pw);
}

static const struct kernel_op_calls pointwise_calls = {
    .prepare = pointwise_prepare,
    .forward = pointwise_forward,
    .backward = pointwise_backward,
    .forward_gathered = pointwise_forward_gathered,
    .backward_gathered = pointwise_backward_gathered,
    .destroy = pointwise_destroy,
};

static size_t weight_floats(const struct side *side)
{
    return (size_t)side->out.blocks * (size_t)side->out.block * (size_t)side->in.channels;
}

static enum stn_status create_pages(struct pointwise *pw)
{
    size_t forward = weight_floats(&pw->forward),
           data = pw->desc.dx == KERNEL_DX_NONE ? 0 : weight_floats(&pw->data),
           bias = (size_t)pw->forward.out.blocks * (size_t)pw->forward.out.block;
    pw->page_bytes = (forward + data + bias) * sizeof(float);
    pw->pages = base_pages_alloc(pw->page_bytes);
    if (!pw->pages) {
        return stn_fail(STN_ERR_NO_MEMORY,
                        "no memory for the packed weights of a convolution (%zu bytes)",
                        pw->page_bytes);
    }
    pw->forward.weights = pw->pages;
    pw->data.weights = pw->forward.weights + forward;
    pw->bias = pw->data.weights + data;
    return STN_OK;
}

enum stn_status native_pointwise_create(struct kernel_team *team, const struct kernel_conv *d,
                                        struct kernel_op_traits traits, struct kernel_op **out)
{
    struct pointwise *pw = calloc(1, sizeof(*pw));
    if (!pw) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    pw->team = team;
    pw->desc = *d;
    pw->x = native_chunks_of(d->x);
    struct kernel_tensor seen = {traits.y.shape, d->x.layout};
    seen.shape.c = d->x.shape.c;
    pw->forward.in = pw->data.out = native_chunks_of(seen);
    pw->forward.out = pw->data.in = native_chunks_of(traits.y);
    pw->simd = simd_kernels_for(pw->x.block);
    enum stn_status status = create_pages(pw);
    if (status) {
        free(pw);
        return status;
    }
    size_t thin = kernel_tensor_bytes(seen), mask = native_mask_and_sum_bias_bytes(traits.y);
    traits.packed_bytes = pw->page_bytes;
    traits.scratch_bytes = mask;
    pw->op = (struct kernel_op){.calls = &pointwise_calls, .traits = traits};
    if (is_strided(pw) && thin > mask) {
        pw->op.traits.scratch_bytes = thin;
    }
    *out = &pw->op;
    return STN_OK;
}
