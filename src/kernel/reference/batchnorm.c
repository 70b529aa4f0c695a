// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with residual and activation fused. Channels are independent of each other.
#include <math.h>

#include "kernel/reference/reference.h"

struct batchnorm {
    struct kernel_op op;
    struct kernel_batchnorm d;
};

// What forward leaves for backward: [c] of these.
struct moments {
    double mean;
    double inverse; // 1/√(σ² + ε)
};

// ---- forward ------------------------------------------------------------------------------------

// The micro-batch's own statistics of channel c, which also go to the sums of the running ones.
static struct moments measure(const struct batchnorm *b, const struct kernel_io *io, int c)
{
    const struct kernel_shape s = b->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    const double count = (double)io->rows * (double)plane;
    double sum = 0, squares = 0;
    for (int n = 0; n < io->rows; n++) {
        const float *x = io->x[0] + reference_plane(s, n, c); // [h][w]
        for (size_t p = 0; p < plane; p++)
            sum += x[p];
    }
    const double mean = sum / count;
    for (int n = 0; n < io->rows; n++) {
        const float *x = io->x[0] + reference_plane(s, n, c);
        for (size_t p = 0; p < plane; p++)
            squares += (x[p] - mean) * (x[p] - mean);
    }
    const double unbiased = count > 1 ? squares / (count - 1) : 0;
    io->buffer_sums[0][c] += (float)(io->rows * mean);
    io->buffer_sums[1][c] += (float)(io->rows * unbiased);
    return (struct moments){mean, 1 / sqrt(squares / count + (double)b->d.epsilon)};
}

static struct moments recall(const struct batchnorm *b, const struct kernel_io *io, int c)
{
    return (struct moments){io->buffers[0][c],
                            1 / sqrt((double)io->buffers[1][c] + (double)b->d.epsilon)};
}

static void normalise(const struct batchnorm *b, const struct kernel_io *io, int c,
                      struct moments m)
{
    const struct kernel_shape s = b->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    const double scale = io->params[0][c] * m.inverse;
    for (int n = 0; n < s.n; n++) {
        const size_t at = reference_plane(s, n, c);
        for (size_t p = at; p < at + plane; p++) {
            double v = (io->x[0][p] - m.mean) * scale + io->params[1][c];
            if (b->d.residual)
                v += io->x[1][p];
            io->y[p] = reference_activate((float)v, b->d.activation);
        }
    }
}

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *b = (const struct batchnorm *)op;
    struct moments *saved = io->saved; // [c]
#pragma omp parallel for
    for (int c = 0; c < b->d.x.shape.c; c++) {
        struct moments m;
        if (io->phase == KERNEL_TRAIN)
            m = saved[c] = measure(b, io, c);
        else
            m = recall(b, io, c);
        normalise(b, io, c, m);
    }
    return STN_OK;
}

// ---- backward: with x̂ = (x − μ)·inverse and g = dy·act′ over `count` elements,
//      dx = γ·inverse·(g − Σg/count − x̂·Σ(g·x̂)/count) -------------------------------------------

struct channel_sums {
    double g, g_xhat;
};

static struct channel_sums parameters_backward(const struct batchnorm *b,
                                               const struct kernel_io *io, int c, struct moments m)
{
    const struct kernel_shape s = b->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    struct channel_sums sums = {0, 0};
    for (int n = 0; n < io->rows; n++) {
        const size_t at = reference_plane(s, n, c);
        for (size_t p = at; p < at + plane; p++) {
            sums.g += io->dy[p];
            sums.g_xhat += io->dy[p] * (io->x[0][p] - m.mean) * m.inverse;
        }
    }
    io->param_grads[0][c] += (float)sums.g_xhat;
    io->param_grads[1][c] += (float)sums.g;
    return sums;
}

static void channel_backward(const struct batchnorm *b, const struct kernel_io *io, int c,
                             struct moments m, struct channel_sums sums)
{
    const struct kernel_shape s = b->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    const double count = (double)io->rows * (double)plane;
    const double scale = io->params[0][c] * m.inverse;
    for (int n = 0; n < s.n; n++) {
        const bool real = n < io->rows; // the others are no function of anything: zero
        const size_t at = reference_plane(s, n, c);
        for (size_t p = at; p < at + plane; p++) {
            const float g = real ? io->dy[p] : 0; // read before dx, which may be the same buffer
            const double xhat = (io->x[0][p] - m.mean) * m.inverse;
            const double dx = scale * (g - sums.g / count - xhat * sums.g_xhat / count);
            if (b->d.dx[0] != KERNEL_DX_NONE)
                reference_put(io->dx[0] + p, real ? (float)dx : 0, b->d.dx[0]);
            if (b->d.residual && b->d.dx[1] != KERNEL_DX_NONE)
                reference_put(io->dx[1] + p, g, b->d.dx[1]);
        }
    }
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *b = (const struct batchnorm *)op;
    const struct moments *saved = io->saved; // [c]
    reference_activation_backward(io->dy, io->y, kernel_tensor_floats(op->traits.y),
                                  b->d.activation);
#pragma omp parallel for
    for (int c = 0; c < b->d.x.shape.c; c++) {
        const struct channel_sums sums = parameters_backward(b, io, c, saved[c]);
        channel_backward(b, io, c, saved[c], sums);
    }
    return STN_OK;
}

static const struct kernel_op_calls calls = {
    .forward = forward,
    .backward = backward,
    .destroy = reference_op_destroy,
};

enum stn_status reference_batchnorm(void *engine, const struct kernel_batchnorm *d,
                                    struct kernel_op **out)
{
    (void)engine;
    enum stn_status status = reference_check_nchw("batchnorm", d->x);
    if (status)
        return status;
    struct batchnorm *b = reference_op_create(
        sizeof *b, kernel_activation_suffix("batchnorm", d->activation), &calls, d->x);
    if (!b)
        return STN_ERR_NO_MEMORY;
    b->d = *d;
    b->op.traits.saved_bytes = (size_t)d->x.shape.c * sizeof(struct moments);
    b->op.traits.backward_reads = KERNEL_READS_X;
    if (d->activation != KERNEL_LINEAR)
        b->op.traits.backward_reads |= KERNEL_READS_Y;
    b->op.traits.in_place_input =
        reference_in_place(d->dx[0], d->residual ? d->dx[1] : KERNEL_DX_NONE);
    *out = &b->op;
    return STN_OK;
}
