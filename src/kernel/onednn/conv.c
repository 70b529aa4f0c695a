// SPDX-License-Identifier: Apache-2.0
// Convolution by oneDNN. Feature maps keep the layout they come in; weights are packed by prepare
// into what the library likes, once for each direction that wants another packing; the weight
// gradient is summed up packed and goes to the plain one when it is collected. Bias and activation
// ride on the forward pass; backward masks dy and sums the bias gradient in one sweep of its own.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "kernel/onednn/engine.h"

enum direction { FORWARD, DATA, WEIGHTS, DIRECTIONS };

struct conv {
    struct kernel_op op;
    struct onednn_engine *engine;
    struct kernel_conv desc;
    struct onednn_task run[DIRECTIONS]; // DATA is absent when nobody needs dx; WEIGHTS when `image`
    struct onednn_task pack[2]; // plain → FORWARD's and DATA's weights; DATA may share FORWARD's
    struct onednn_task unpack;  // WEIGHTS' gradient → plain, added
    float *packed[2];           // in `pages`
    float *held;                // Σ of WEIGHTS' gradients, in pages of its own, `sums` of them
    bool *holding;              // [sums] … is of this step
    int sums;
    void *pages;
    size_t page_bytes, pack_scratch; // pack_scratch: offset of what the packing itself needs
    size_t gradient_bytes, dx_bytes; // parts of the scratch before the library's own
    bool image;                      // the weight gradient is image.c's
    enum stn_status prepared;        // what went wrong outside of forward and backward
};

// The library's view of a convolution, needed only while it is planned.
struct plan {
    dnnl_memory_desc_t x, y, bias, any_weights, plain_weights;
    dnnl_dims_t strides, dilates, pad_before, pad_after;
    dnnl_primitive_desc_t desc[DIRECTIONS];
    dnnl_primitive_attr_t attr, fused; // `fused` has the activation besides the scratchpad mode
};

static const dnnl_memory_desc_t *packed_desc(const struct plan *plan, enum direction d)
{
    return dnnl_primitive_desc_query_md(
        plan->desc[d], d == WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
}

static enum stn_status plan_tensors(const struct conv *conv, struct plan *plan)
{
    const struct kernel_conv *d = &conv->desc;
    const struct kernel_window *w = &d->window;
    for (int i = 0; i < 2; i++) {
        plan->strides[i] = w->stride[i];
        plan->dilates[i] = 0;
        plan->pad_before[i] = w->pad_before[i];
        plan->pad_after[i] = w->pad_after[i];
    }
    int groups = d->groups, oc = d->out_channels, ic = d->x.shape.c;
    const dnnl_dims_t grouped = {groups, oc / groups, ic / groups, w->size[0], w->size[1]};
    const dnnl_dims_t single = {oc, ic, w->size[0], w->size[1]};
    const dnnl_dims_t bias = {oc};
    int rank = groups > 1 ? 5 : 4;
    const dnnl_dim_t *dims = groups > 1 ? grouped : single;

    dnnl_status_t result =
        dnnl_memory_desc_init_by_tag(&plan->any_weights, rank, dims, dnnl_f32, dnnl_format_tag_any);
    if (result == dnnl_success) {
        result = dnnl_memory_desc_init_by_tag(&plan->plain_weights, rank, dims, dnnl_f32,
                                              groups > 1 ? dnnl_goihw : dnnl_oihw);
    }
    if (result == dnnl_success) {
        result = dnnl_memory_desc_init_by_tag(&plan->bias, 1, bias, dnnl_f32, dnnl_x);
    }
    enum stn_status status = onednn_check(result, "describe the weights of a convolution");
    if (!status) {
        status = onednn_tensor_desc(d->x, &plan->x);
    }
    return status ? status : onednn_tensor_desc(conv->op.traits.y, &plan->y);
}

static enum stn_status plan_attributes(enum kernel_activation activation, struct plan *plan)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t result = dnnl_primitive_attr_create(&plan->attr);
    if (result == dnnl_success) {
        result = dnnl_primitive_attr_set_scratchpad_mode(plan->attr, dnnl_scratchpad_mode_user);
    }
    if (result == dnnl_success) {
        result = dnnl_primitive_attr_clone(&plan->fused, plan->attr);
    }
    if (result == dnnl_success && activation != KERNEL_LINEAR) {
        result = dnnl_post_ops_create(&ops);
        if (result == dnnl_success) {
            bool six = activation == KERNEL_RELU6;
            result = dnnl_post_ops_append_eltwise(
                ops, 1.0f, six ? dnnl_eltwise_clip : dnnl_eltwise_relu, 0.0f, six ? 6.0f : 0.0f);
        }
        if (result == dnnl_success) {
            result = dnnl_primitive_attr_set_post_ops(plan->fused, ops);
        }
    }
    if (ops) {
        dnnl_post_ops_destroy(ops);
    }
    return onednn_check(result, "set the attributes of a convolution");
}

static enum stn_status plan_forward(const struct conv *conv, struct plan *p)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t result = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_training, dnnl_convolution_direct, &p->x, &p->any_weights,
        conv->desc.bias ? &p->bias : NULL, &p->y, p->strides, p->dilates, p->pad_before,
        p->pad_after);
    if (result == dnnl_success) {
        result =
            dnnl_primitive_desc_create(&p->desc[FORWARD], &d, p->fused, conv->engine->dnnl, NULL);
    }
    return onednn_check(result, "plan a convolution");
}

static enum stn_status plan_data(const struct conv *conv, struct plan *p)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t result = dnnl_dilated_convolution_backward_data_desc_init(
        &d, dnnl_convolution_direct, &p->x, &p->any_weights, &p->y, p->strides, p->dilates,
        p->pad_before, p->pad_after);
    if (result == dnnl_success) {
        result = dnnl_primitive_desc_create(&p->desc[DATA], &d, p->attr, conv->engine->dnnl,
                                            p->desc[FORWARD]);
    }
    return onednn_check(result, "plan the input gradient of a convolution");
}

static enum stn_status plan_weights(const struct conv *conv, struct plan *p)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t result = dnnl_dilated_convolution_backward_weights_desc_init(
        &d, dnnl_convolution_direct, &p->x, &p->any_weights, NULL, &p->y, p->strides, p->dilates,
        p->pad_before, p->pad_after);
    if (result == dnnl_success) {
        result = dnnl_primitive_desc_create(&p->desc[WEIGHTS], &d, p->attr, conv->engine->dnnl,
                                            p->desc[FORWARD]);
    }
    return onednn_check(result, "plan the weight gradient of a convolution");
}

// For some shapes the library has nothing but plain loops, a hundred times slower.
static bool is_reference(const_dnnl_primitive_desc_t desc)
{
    const char *name = "";
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name) ==
               dnnl_success &&
           strncmp(name, "ref", 3) == 0;
}

static enum stn_status plan_all(struct conv *conv, struct plan *plan)
{
    enum stn_status status = plan_tensors(conv, plan);
    if (!status) {
        status = plan_attributes(conv->desc.activation, plan);
    }
    if (!status) {
        status = plan_forward(conv, plan);
    }
    if (!status && conv->desc.dx != KERNEL_DX_NONE) {
        status = plan_data(conv, plan);
    }
    if (!status) {
        status = plan_weights(conv, plan);
    }
    if (!status && is_reference(plan->desc[WEIGHTS]) && native_image_fits(&conv->desc)) {
        conv->image = true;
        dnnl_primitive_desc_destroy(plan->desc[WEIGHTS]);
        plan->desc[WEIGHTS] = NULL;
    }
    return status;
}

static void plan_fini(struct plan *plan)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        if (plan->desc[d]) {
            dnnl_primitive_desc_destroy(plan->desc[d]);
        }
    }
    if (plan->fused) {
        dnnl_primitive_attr_destroy(plan->fused);
    }
    if (plan->attr) {
        dnnl_primitive_attr_destroy(plan->attr);
    }
}

static enum stn_status create_runs(struct conv *conv, const struct plan *plan)
{
    static const int args[DIRECTIONS][4] = {
        [FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
        [DATA] = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        [WEIGHTS] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
    };
    for (int d = 0; d < DIRECTIONS; d++) {
        if (!plan->desc[d]) {
            continue;
        }
        int count = d == FORWARD && conv->desc.bias ? 4 : 3;
        enum stn_status status =
            onednn_task_create(conv->engine, plan->desc[d], args[d], count, &conv->run[d]);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

// Reorders between plain weights and the packed ones, and the memory of the latter.
static enum stn_status create_packing(struct conv *conv, const struct plan *plan)
{
    const dnnl_memory_desc_t *plain = &plan->plain_weights;
    size_t offset[2] = {0};
    for (enum direction d = FORWARD; d <= DATA; d++) {
        if (!plan->desc[d] || (d == DATA && dnnl_memory_desc_equal(packed_desc(plan, FORWARD),
                                                                   packed_desc(plan, d)))) {
            continue;
        }
        enum stn_status status =
            onednn_task_reorder(conv->engine, plain, packed_desc(plan, d), false, &conv->pack[d]);
        if (status) {
            return status;
        }
        offset[d] = conv->page_bytes;
        conv->page_bytes += native_align(dnnl_memory_desc_get_size(packed_desc(plan, d)));
    }
    conv->pack_scratch = conv->page_bytes;
    conv->page_bytes +=
        native_align(larger(conv->unpack.scratch_bytes,
                            conv->pack[FORWARD].scratch_bytes + conv->pack[DATA].scratch_bytes));
    conv->pages = base_pages_alloc(conv->page_bytes);
    if (!conv->pages) {
        return stn_fail(STN_ERR_NO_MEMORY,
                        "no memory for the packed weights of a convolution (%zu bytes)",
                        conv->page_bytes);
    }
    for (int d = FORWARD; d <= DATA; d++) {
        conv->packed[d] = (float *)conv->pages + offset[d] / sizeof(float);
    }
    return STN_OK;
}

// Where the weight gradient is summed up.
static enum stn_status create_sums(struct conv *conv, const struct plan *plan)
{
    if (conv->image) {
        conv->gradient_bytes = native_image_scratch_bytes(&conv->desc, conv->op.traits.y);
        return STN_OK;
    }
    conv->gradient_bytes = native_align(dnnl_memory_desc_get_size(packed_desc(plan, WEIGHTS)));
    conv->sums = conv->desc.sums > 0 ? conv->desc.sums : conv->engine->team.lanes;
    size_t held_bytes = (size_t)conv->sums * conv->gradient_bytes;
    conv->held = base_pages_alloc(held_bytes);
    conv->holding = calloc((size_t)conv->sums, sizeof(*conv->holding));
    if (!conv->held || !conv->holding) {
        return stn_fail(STN_ERR_NO_MEMORY,
                        "no memory for the weight gradient of a convolution (%zu bytes)",
                        held_bytes);
    }
    conv->op.traits.held_bytes = held_bytes;
    return onednn_task_reorder(conv->engine, packed_desc(plan, WEIGHTS), &plan->plain_weights, true,
                               &conv->unpack);
}

static size_t scratch_bytes(const struct conv *conv)
{
    size_t forward = conv->run[FORWARD].scratch_bytes;
    size_t data = conv->dx_bytes + conv->run[DATA].scratch_bytes;
    size_t weights = conv->gradient_bytes + conv->run[WEIGHTS].scratch_bytes;
    size_t bias = native_mask_and_sum_bias_bytes(conv->op.traits.y);
    return larger(larger(forward, bias), larger(data, weights));
}

static void conv_prepare(struct kernel_op *op, int lane, const float *const *params)
{
    struct conv *conv = (struct conv *)op;
    conv->prepared = STN_OK;
    for (int d = FORWARD; d <= DATA; d++) {
        if (conv->pack[d].primitive && !conv->prepared) {
            void *addresses[] = {onednn_address(params[0]), conv->packed[d]};
            conv->prepared = onednn_task_run(conv->engine, &conv->pack[d], lane, addresses,
                                             (char *)conv->pages + conv->pack_scratch);
        }
    }
}

static enum stn_status conv_forward(struct kernel_op *op, const struct kernel_io *io)
{
    struct conv *conv = (struct conv *)op;
    if (conv->prepared) {
        return conv->prepared;
    }
    void *addresses[] = {onednn_address(io->x[0]), conv->packed[FORWARD], io->y,
                         conv->desc.bias ? onednn_address(io->params[1]) : NULL};
    return onednn_task_run(conv->engine, &conv->run[FORWARD], io->lane, addresses, io->scratch);
}

static float *held_in(const struct conv *conv, int sums)
{
    return conv->held + (size_t)sums * conv->gradient_bytes / sizeof(float);
}

static void add_to_held(const struct conv *conv, int sums, const float *gradient)
{
    enum { PIECE = 4096 }; // floats
    const struct simd_kernels *simd =
        simd_kernels_for(kernel_layout_block(conv->engine->team.blocked));
    size_t floats = conv->gradient_bytes / sizeof(float), block = (size_t)simd->block;
    float *held = held_in(conv, sums);
#pragma omp parallel for schedule(static)                                                          \
    num_threads(floats < 2 * PIECE ? 1 : conv->engine->team.threads)
    for (size_t at = 0; at < floats; at += PIECE) {
        size_t piece = floats - at < PIECE ? floats - at : PIECE;
        simd->mask(gradient + at, NULL, KERNEL_LINEAR, piece / block, true, held + at);
    }
}

// The first gradient of a step is written where the sums are; those after it are added.
static enum stn_status backward_weights(struct conv *conv, const struct kernel_io *io)
{
    if (conv->image) {
        native_image_weights(&conv->engine->team, &conv->desc, conv->op.traits.y, io);
        return STN_OK;
    }
    bool *holding = &conv->holding[io->sums];
    void *gradient = *holding ? io->scratch : held_in(conv, io->sums);
    void *addresses[] = {onednn_address(io->x[0]), io->dy, gradient};
    enum stn_status status = onednn_task_run(conv->engine, &conv->run[WEIGHTS], io->lane, addresses,
                                             (char *)io->scratch + conv->gradient_bytes);
    if (!status && *holding) {
        add_to_held(conv, io->sums, io->scratch);
    }
    *holding = true;
    return status;
}

static void conv_collect(struct kernel_op *op, int lane, struct kernel_sums sums,
                         float *const *param_grads)
{
    struct conv *conv = (struct conv *)op;
    for (int i = sums.first; conv->holding && i < sums.first + sums.count; i++) {
        if (conv->holding[i] && param_grads && !conv->prepared) {
            void *addresses[] = {held_in(conv, i), param_grads[0]};
            conv->prepared = onednn_task_run(conv->engine, &conv->unpack, lane, addresses,
                                             (char *)conv->pages + conv->pack_scratch);
        }
        conv->holding[i] = false;
    }
}

static void add_to_dx(const struct conv *conv, const struct kernel_io *io)
{
    struct native_chunks c = native_chunks_of(conv->desc.x);
    const struct simd_kernels *simd = simd_kernels_for(c.block);
    const float *part = io->scratch;
#pragma omp parallel for schedule(static) num_threads(native_team(&conv->engine->team, &c))
    for (int i = 0; i < c.n * c.blocks; i++) {
        size_t at = (size_t)i * c.floats;
        simd->mask(part + at, NULL, KERNEL_LINEAR, c.pixels, true, io->dx[0] + at);
    }
}

static enum stn_status backward_data(struct conv *conv, const struct kernel_io *io)
{
    bool add = conv->desc.dx == KERNEL_DX_ADD;
    void *addresses[] = {io->dy, conv->packed[DATA], add ? io->scratch : io->dx[0]};
    enum stn_status status = onednn_task_run(conv->engine, &conv->run[DATA], io->lane, addresses,
                                             (char *)io->scratch + conv->dx_bytes);
    if (!status && add) {
        add_to_dx(conv, io);
    }
    return status;
}

static enum stn_status conv_backward(struct kernel_op *op, const struct kernel_io *io)
{
    struct conv *conv = (struct conv *)op;
    if (conv->desc.bias || conv->desc.activation != KERNEL_LINEAR) {
        native_mask_and_sum_bias(&conv->engine->team, &conv->desc, op->traits.y, io);
    }
    enum stn_status status = backward_weights(conv, io);
    if (!status && conv->desc.dx != KERNEL_DX_NONE) {
        status = backward_data(conv, io);
    }
    return status;
}

static void conv_destroy(struct kernel_op *op)
{
    struct conv *conv = (struct conv *)op;
    for (int d = 0; d < DIRECTIONS; d++) {
        onednn_task_destroy(&conv->run[d]);
    }
    onednn_task_destroy(&conv->pack[FORWARD]);
    onednn_task_destroy(&conv->pack[DATA]);
    onednn_task_destroy(&conv->unpack);
    base_pages_free(conv->pages, conv->page_bytes);
    base_pages_free(conv->held, (size_t)conv->sums * conv->gradient_bytes);
    free(conv->holding);
    free(conv);
}

static const struct kernel_op_calls conv_calls = {
    .prepare = conv_prepare,
    .collect = conv_collect,
    .forward = conv_forward,
    .backward = conv_backward,
    .destroy = conv_destroy,
};

enum stn_status onednn_conv_create(void *engine, const struct kernel_conv *d,
                                   struct kernel_op **out)
{
    struct conv *conv = calloc(1, sizeof(*conv));
    if (!conv) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    conv->engine = engine;
    conv->desc = *d;
    conv->op = (struct kernel_op){.calls = &conv_calls,
                                  .traits = native_conv_traits(&conv->engine->team, d)};

    struct plan plan = {0};
    enum stn_status status = plan_all(conv, &plan);
    if (!status) {
        status = create_runs(conv, &plan);
    }
    if (!status) {
        status = create_sums(conv, &plan);
    }
    if (!status) {
        status = create_packing(conv, &plan);
    }
    plan_fini(&plan);
    if (status) {
        conv_destroy(&conv->op);
        return status;
    }
    conv->dx_bytes = d->dx == KERNEL_DX_ADD ? native_align(kernel_tensor_bytes(d->x)) : 0;
    conv->op.traits.scratch_bytes = scratch_bytes(conv);
    conv->op.traits.packed_bytes = conv->page_bytes;
    *out = &conv->op;
    return STN_OK;
}
