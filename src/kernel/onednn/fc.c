// SPDX-License-Identifier: Apache-2.0
// Fully connected layer: three matrix products on plain arrays. Bias is what y starts from, and the
// weight gradient is accumulated by the product itself, so neither needs a pass of its own.
#include <stdlib.h>
#include <string.h>

#include "kernel/onednn/engine.h"

struct fc {
    struct kernel_op op;
    struct onednn_engine *engine;
    struct kernel_fc desc;
    int in, out; // features
};

static enum stn_status fc_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct fc *fc = (struct fc *)op;
    dnnl_dim_t n = fc->desc.x.shape.n, in = fc->in, out = fc->out;
    for (dnnl_dim_t i = 0; fc->desc.bias && i < n; i++) {
        memcpy(io->y + i * out, io->params[1], (size_t)out * sizeof(float));
    }
    // y [n][out] = x [n][in] · Wᵀ
    enum stn_status status =
        onednn_check(dnnl_sgemm('N', 'T', n, out, in, 1.0f, io->x[0], in, io->params[0], in,
                                fc->desc.bias ? 1.0f : 0.0f, io->y, out),
                     "multiply matrices");
    if (!status && fc->desc.activation != KERNEL_LINEAR) {
        simd_kernels_for(1)->activate(io->y, NULL, fc->desc.activation, (size_t)(n * out), io->y);
    }
    return status;
}

static void sum_bias(const struct fc *fc, const struct kernel_io *io)
{
    float *gradient = io->param_grads[1];
    for (int o = 0; o < fc->out; o++) {
        double sum = 0.0;
        for (int n = 0; n < io->rows; n++) {
            sum += (double)io->dy[n * fc->out + o];
        }
        gradient[o] += (float)sum;
    }
}

static enum stn_status fc_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct fc *fc = (struct fc *)op;
    dnnl_dim_t n = fc->desc.x.shape.n, in = fc->in, out = fc->out;
    if (fc->desc.activation != KERNEL_LINEAR) {
        simd_kernels_for(1)->mask(io->dy, io->y, fc->desc.activation, (size_t)(n * out), false,
                                  io->dy);
    }
    if (fc->desc.bias) {
        sum_bias(fc, io);
    }
    // dW [out][in] += dyᵀ · x
    enum stn_status status = onednn_check(dnnl_sgemm('T', 'N', out, in, io->rows, 1.0f, io->dy, out,
                                                     io->x[0], in, 1.0f, io->param_grads[0], in),
                                          "multiply matrices");
    if (status || fc->desc.dx == KERNEL_DX_NONE) {
        return status;
    }
    // dx [n][in] (+)= dy · W
    return onednn_check(dnnl_sgemm('N', 'N', n, in, out, 1.0f, io->dy, out, io->params[0], in,
                                   fc->desc.dx == KERNEL_DX_ADD ? 1.0f : 0.0f, io->dx[0], in),
                        "multiply matrices");
}

static void fc_destroy(struct kernel_op *op)
{
    free(op);
}

static const struct kernel_op_calls fc_calls = {
    .forward = fc_forward, .backward = fc_backward, .destroy = fc_destroy};

enum stn_status onednn_fc_create(void *engine, const struct kernel_fc *d, struct kernel_op **out)
{
    struct fc *fc = calloc(1, sizeof(*fc));
    if (!fc) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a fully connected layer");
    }
    struct kernel_shape x = d->x.shape;
    fc->engine = engine;
    fc->desc = *d;
    fc->in = x.c * x.h * x.w;
    fc->out = d->out_features;
    fc->op = (struct kernel_op){
        .calls = &fc_calls,
        .traits =
            {
                .name = kernel_activation_suffix("fc", d->activation),
                .y = {{x.n, d->out_features, 1, 1}, KERNEL_NCHW},
                .backward_reads =
                    KERNEL_READS_X | (d->activation == KERNEL_LINEAR ? 0 : KERNEL_READS_Y),
                .in_place_input = -1,
                .macs = (int64_t)x.n * fc->in * fc->out,
            },
    };
    *out = &fc->op;
    return STN_OK;
}
