// SPDX-License-Identifier: Apache-2.0
// 1×1 convolution with our own kernels. Output and input gradient are one product of a feature map
// with packed weights, which differ only in the packing; their pixels are shared out among threads.
// The weight gradient is an outer product over pixels and is added to the plain sums straight from
// registers; its elements are shared out, so it does not depend on the number of threads. A stride is a
// copy of the pixels that count, which the rest sees as a map of its own.
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "base/arena.h"
#include "kernel/onednn/engine.h"

// Found by timing the 1×1 convolutions of MobileNetV2, ResNet-50, SqueezeNet, DenseNet and Inception on
// Zen 3: a group's weights for this many channels (18 KB) stay in the first-level cache, and a
// panel's pixels of them in the second-level one. So do an outer panel's three planes of x in the first.
enum { CHANNELS_AT_ONCE = 192, PANEL_PIXELS = 192, OUTER_PIXELS = 192 };

// One direction: `out` is what is written.
struct side {
    struct onednn_chunks in, out;
    float *weights; // in groups of output blocks, each [in channels][blocks of the group][block]
};

struct pointwise {
    struct kernel_op op;
    struct onednn_engine *engine;
    struct kernel_conv desc;
    const struct simd_kernels *simd;
    struct side forward, data;
    struct onednn_chunks x; // as it comes; forward.in is as seen through the stride
    float *bias;            // padded
    void *pages;            // holds weights and bias
    size_t page_bytes;
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

// Cuts `count` into as few equal parts as there can be of at most `most`, give or take one. Part
// `index` begins at the returned place.
static int part_begin(int count, int most, int index)
{
    int parts = (count + most - 1) / most;
    return count / parts * index + smaller(index, count % parts);
}

static int part_count(int count, int most)
{
    return (count + most - 1) / most;
}

bool onednn_pointwise_fits(const struct onednn_engine *engine, const struct kernel_conv *d)
{
    const struct kernel_window *w = &d->window;
    bool fits = d->groups == 1 && d->x.layout == engine->native &&
                simd_kernels_for(kernel_layout_block(engine->native))->fused;
    for (int axis = 0; axis < 2; axis++) {
        fits = fits && w->size[axis] == 1 && w->pad_before[axis] == 0 && w->pad_after[axis] == 0;
    }
    return fits;
}

// ---- weights ------------------------------------------------------------------------------------

// Packs one group. Weight (out o, in i) is at plain[o·out_stride + i·in_stride].
static void pack_group(const struct side *side, int group, const float *plain, size_t out_stride,
                       size_t in_stride)
{
    const struct onednn_chunks *out = &side->out;
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

static void pointwise_prepare(struct kernel_op *op, const float *const *params)
{
    struct pointwise *pw = (struct pointwise *)op;
    size_t inputs = (size_t)pw->x.channels;
    int forward = part_count(pw->forward.out.blocks, SIMD_PRODUCT_BLOCKS),
        data = pw->desc.dx == KERNEL_DX_NONE ? 0
                                             : part_count(pw->data.out.blocks, SIMD_PRODUCT_BLOCKS);
#pragma omp parallel for schedule(static) num_threads(pw->engine->threads)
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

// One group of output blocks over one part of the channels of a panel, sample by sample.
static void multiply_group(const struct product *p, struct panel panel, int group, int part)
{
    const struct onednn_chunks *in = &p->side->in, *out = &p->side->out;
    int from = part_begin(in->blocks, CHANNELS_AT_ONCE / in->block, part) * in->block,
        to = part_begin(in->blocks, CHANNELS_AT_ONCE / in->block, part + 1) * in->block;
    int block = part_begin(out->blocks, SIMD_PRODUCT_BLOCKS, group),
        blocks = part_begin(out->blocks, SIMD_PRODUCT_BLOCKS, group + 1) - block;
    size_t lane = (size_t)block * (size_t)out->block;
    struct simd_product call = {
        .weights = p->side->weights + lane * (size_t)in->channels +
                   (size_t)from * (size_t)blocks * (size_t)out->block,
        .bias = p->bias && from == 0 ? p->bias + lane : NULL,
        .x_stride = in->floats,
        .y_stride = out->floats,
        .channels = smaller(to, in->channels) - from,
        .blocks = blocks,
        .add = p->add || from > 0,
        .activation = to >= in->channels ? p->activation : KERNEL_LINEAR,
    };
    for (size_t at = panel.first; at < panel.end;) {
        int n = (int)(at / in->pixels);
        size_t pixel = at % in->pixels;
        size_t count = in->pixels - pixel < panel.end - at ? in->pixels - pixel : panel.end - at;
        call.x = p->in + onednn_chunk_at(in, n, from / in->block) + pixel * (size_t)in->block;
        call.y = p->out + onednn_chunk_at(out, n, block) + pixel * (size_t)out->block;
        p->simd->product(&call, count);
        at += count;
    }
}

// This thread's share of a product.
static void multiply(const struct product *p)
{
    const struct onednn_chunks *in = &p->side->in;
    size_t pixels = (size_t)in->n * in->pixels;
    size_t team = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
    size_t first = pixels * me / team, count = pixels * (me + 1) / team - first;
    int parts = part_count(in->blocks, CHANNELS_AT_ONCE / in->block),
        groups = part_count(p->side->out.blocks, SIMD_PRODUCT_BLOCKS);
    size_t panels = (count + PANEL_PIXELS - 1) / PANEL_PIXELS;
    for (size_t i = 0; i < panels; i++) {
        struct panel panel = {first + count * i / panels, first + count * (i + 1) / panels};
        for (int part = 0; part < parts; part++) {
            for (int group = 0; group < groups; group++) {
                multiply_group(p, panel, group, part);
            }
        }
    }
}

// ---- weight gradient ----------------------------------------------------------------------------

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
    const struct onednn_chunks *in = &o->pw->forward.in, *out = &o->pw->forward.out;
    int from = part_begin(in->blocks, SIMD_PRODUCT_BLOCKS, group),
        to = part_begin(in->blocks, SIMD_PRODUCT_BLOCKS, group + 1);
    int row = block * out->block, column = from * in->block,
        rows = smaller(out->block, out->channels - row);
    size_t pixel = o->pixel * (size_t)in->block;
    struct simd_outer call = {
        .x = o->x + onednn_chunk_at(in, o->sample, from) + pixel,
        .x_stride = in->floats,
        .x_sample = (size_t)in->blocks * in->floats,
        .dy_sample = (size_t)out->blocks * out->floats,
        .dw_stride = (size_t)in->channels,
        .pixels = o->pixels,
        .samples = o->samples,
        .columns = smaller(to * in->block, in->channels) - column,
    };
    const float *dy = o->dy + onednn_chunk_at(out, o->sample, block) + pixel;
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

// ---- stride -------------------------------------------------------------------------------------

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

// ---- running ------------------------------------------------------------------------------------

static enum stn_status pointwise_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pointwise *pw = (struct pointwise *)op;
#pragma omp parallel num_threads(onednn_team(pw->engine, &pw->x))
    multiply(&(struct product){.simd = pw->simd,
                               .side = &pw->forward,
                               .in = thin_input(pw, io),
                               .out = io->y,
                               .bias = pw->desc.bias ? pw->bias : NULL,
                               .activation = pw->desc.activation});
    return STN_OK;
}

static void backward_data(const struct pointwise *pw, const struct kernel_io *io)
{
    bool strided = is_strided(pw);
    struct product p = {.simd = pw->simd,
                        .side = &pw->data,
                        .in = io->dy,
                        .out = strided ? io->scratch : io->dx[0],
                        .add = !strided && pw->desc.dx == KERNEL_DX_ADD};
    multiply(&p);
    if (strided) {
#pragma omp barrier
#pragma omp for schedule(static)
        for (int i = 0; i < pw->x.n * pw->x.blocks; i++) {
            widen_chunk(pw, p.out + (size_t)i * pw->data.out.floats,
                        io->dx[0] + (size_t)i * pw->x.floats);
        }
    }
}

static enum stn_status pointwise_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pointwise *pw = (struct pointwise *)op;
    if (pw->desc.bias || pw->desc.activation != KERNEL_LINEAR) {
        onednn_conv_mask(pw->engine, &pw->desc, op->traits.y, io);
    }
#pragma omp parallel num_threads(onednn_team(pw->engine, &pw->x))
    {
        outer(
            (struct outer){
                .pw = pw, .x = thin_input(pw, io), .dy = io->dy, .dw = io->param_grads[0]},
            io->rows);
        if (pw->desc.dx != KERNEL_DX_NONE) {
#pragma omp barrier
            backward_data(pw, io);
        }
    }
    return STN_OK;
}

// ---- life ---------------------------------------------------------------------------------------

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

enum stn_status onednn_pointwise_create(struct onednn_engine *engine, const struct kernel_conv *d,
                                        struct kernel_op_traits traits, struct kernel_op **out)
{
    struct pointwise *pw = calloc(1, sizeof(*pw));
    if (!pw) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    pw->engine = engine;
    pw->desc = *d;
    pw->x = onednn_chunks_of(d->x);
    struct kernel_tensor seen = {traits.y.shape, d->x.layout};
    seen.shape.c = d->x.shape.c;
    pw->forward.in = pw->data.out = onednn_chunks_of(seen);
    pw->forward.out = pw->data.in = onednn_chunks_of(traits.y);
    pw->simd = simd_kernels_for(pw->x.block);
    enum stn_status status = create_pages(pw);
    if (status) {
        free(pw);
        return status;
    }
    size_t thin = kernel_tensor_bytes(seen), mask = onednn_conv_mask_bytes(traits.y);
    traits.packed_bytes = pw->page_bytes;
    traits.scratch_bytes = mask;
    pw->op = (struct kernel_op){.calls = &pointwise_calls, .traits = traits};
    if (is_strided(pw) && thin > mask) {
        pw->op.traits.scratch_bytes = thin;
    }
    *out = &pw->op;
    return STN_OK;
}
