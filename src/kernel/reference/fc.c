// SPDX-License-Identifier: Apache-2.0
// Fully connected: y = act(x·Wᵀ + b).
#include <omp.h>
#include <string.h>

#include "kernel/reference/reference.h"

struct fc {
    struct kernel_op op;
    struct kernel_fc d;
    int n;
    size_t in, out;
    int threads;
};

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct fc *f = (const struct fc *)op;
#pragma omp parallel for collapse(2)
    for (int n = 0; n < f->n; n++) {
        for (size_t o = 0; o < f->out; o++) {
            const float *x = io->x[0] + (size_t)n * f->in; // [in]
            const float *w = io->params[0] + o * f->in;    // [in]
            double sum = f->d.bias ? io->params[1][o] : 0;
            for (size_t i = 0; i < f->in; i++)
                sum += (double)x[i] * w[i];
            io->y[(size_t)n * f->out + o] = reference_activate((float)sum, f->d.activation);
        }
    }
    return STN_OK;
}

static void backward_parameters(const struct fc *f, const struct kernel_io *io)
{
#pragma omp parallel for num_threads(f->threads)
    for (size_t o = 0; o < f->out; o++) {
        double *dw = (double *)io->scratch + (size_t)omp_get_thread_num() * f->in; // [in]
        double db = 0;
        memset(dw, 0, f->in * sizeof *dw);
        for (int n = 0; n < io->rows; n++) {
            const float *x = io->x[0] + (size_t)n * f->in; // [in]
            const double g = io->dy[(size_t)n * f->out + o];
            db += g;
            for (size_t i = 0; i < f->in; i++)
                dw[i] += g * x[i];
        }
        for (size_t i = 0; i < f->in; i++)
            io->param_grads[0][o * f->in + i] += (float)dw[i];
        if (f->d.bias)
            io->param_grads[1][o] += (float)db;
    }
}

static void backward_data(const struct fc *f, const struct kernel_io *io)
{
#pragma omp parallel for num_threads(f->threads)
    for (int n = 0; n < f->n; n++) {
        double *sum = (double *)io->scratch + (size_t)omp_get_thread_num() * f->in; // [in]
        memset(sum, 0, f->in * sizeof *sum);
        for (size_t o = 0; o < f->out; o++) {
            const float *w = io->params[0] + o * f->in; // [in]
            const double g = io->dy[(size_t)n * f->out + o];
            for (size_t i = 0; i < f->in; i++)
                sum[i] += g * w[i];
        }
        float *dx = io->dx[0] + (size_t)n * f->in; // [in]
        for (size_t i = 0; i < f->in; i++)
            reference_put(dx + i, (float)sum[i], f->d.dx);
    }
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct fc *f = (const struct fc *)op;
    reference_activation_backward(io->dy, io->y, (size_t)f->n * f->out, f->d.activation);
    backward_parameters(f, io);
    if (f->d.dx != KERNEL_DX_NONE)
        backward_data(f, io);
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct fc, forward, backward);

enum stn_status reference_fc(void *engine, const struct kernel_fc *d, struct kernel_op **out)
{
    const struct kernel_tensor y = {{d->x.shape.n, d->out_features, 1, 1}, KERNEL_NCHW};
    enum stn_status status =
        reference_op_create(&kind, kernel_activation_suffix("fc", d->activation), d, NULL, y, out);
    if (status)
        return status;
    struct fc *f = (struct fc *)*out;
    f->n = d->x.shape.n;
    f->in = kernel_tensor_row_floats(d->x);
    f->out = (size_t)d->out_features;
    f->threads = ((const struct reference_engine *)engine)->threads;
    f->op.traits.scratch_bytes = (size_t)f->threads * f->in * sizeof(double);
    f->op.traits.backward_reads = KERNEL_READS_X;
    if (d->activation != KERNEL_LINEAR)
        f->op.traits.backward_reads |= KERNEL_READS_Y;
    f->op.traits.macs = (int64_t)f->n * (int64_t)f->in * (int64_t)f->out;
    return STN_OK;
}
