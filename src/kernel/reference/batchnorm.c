// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with residual and activation fused. Channels are independent of each other.
#include <math.h>

#include "kernel/reference/reference.h"

struct batchnorm {
    struct kernel_op op;
    struct kernel_batchnorm d;
};

// What forward leaves for backward: [c] of these.
struct channel {
    double count, mean, squares; // of the strips gathered so far
    double inverse;              // 1/√(σ² + ε)
    double g, g_xhat;            // backward: Σg and Σg·x̂ of the strips gathered so far
};

// ---- forward -----------------------------------------------------------------------------------

// One strip's mean and squared deviations of channel c, merged into those of the strips before it.
static void measure(const struct batchnorm *b, const struct kernel_io *io, int c, struct channel *m)
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
    const double total = m->count + count, delta = mean - m->mean;
    m->squares += squares + delta * delta * m->count * count / total;
    m->mean += delta * count / total;
    m->count = total;
}

// The scale, and the sums of the running statistics.
static void settle(const struct batchnorm *b, const struct kernel_io *io, int c, struct channel *m)
{
    const double rows = m->count / (double)reference_plane_floats(b->d.x.shape);
    const double unbiased = m->count > 1 ? m->squares / (m->count - 1) : 0;
    m->inverse = 1 / sqrt(m->squares / m->count + (double)b->d.epsilon);
    io->buffer_sums[0][c] += (float)(rows * m->mean);
    io->buffer_sums[1][c] += (float)(rows * unbiased);
}

static void forward_gather(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *b = (const struct batchnorm *)op;
    struct channel *saved = io->saved; // [c]
#pragma omp parallel for
    for (int c = 0; c < b->d.x.shape.c; c++) {
        if (io->strip == 0)
            saved[c] = (struct channel){0};
        if (io->rows > 0) {
            measure(b, io, c, &saved[c]);
        }
    }
}

static void forward_settle(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *b = (const struct batchnorm *)op;
    struct channel *saved = io->saved; // [c]
    for (int c = 0; c < (io->phase == KERNEL_TRAIN ? b->d.x.shape.c : 0); c++)
        settle(b, io, c, &saved[c]);
}

static struct channel recall(const struct batchnorm *b, const struct kernel_io *io, int c)
{
    return (struct channel){.mean = io->buffers[0][c],
                            .inverse = 1 / sqrt((double)io->buffers[1][c] + (double)b->d.epsilon)};
}

static void normalise(const struct batchnorm *b, const struct kernel_io *io, int c,
                      struct channel m)
{
    const struct kernel_shape s = b->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    const double scale = io->params[0][c] * m.inverse;
    for (int n = 0; n < io->samples; n++) {
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
    const struct channel *saved = io->saved; // [c]
#pragma omp parallel for
    for (int c = 0; c < b->d.x.shape.c; c++)
        normalise(b, io, c, io->phase == KERNEL_TRAIN ? saved[c] : recall(b, io, c));
    return STN_OK;
}

// ---- backward: with x̂ = (x − μ)·inverse and g = dy·act′ over `count` elements,
//      dx = γ·inverse·(g − Σg/count − x̂·Σ(g·x̂)/count) -------------------------------------------

static void sum_gradient(const struct batchnorm *b, const struct kernel_io *io, int c,
                         struct channel *m)
{
    const struct kernel_shape s = b->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    for (int n = 0; n < io->rows; n++) {
        const size_t at = reference_plane(s, n, c);
        for (size_t p = at; p < at + plane; p++) {
            m->g += io->dy[p];
            m->g_xhat += io->dy[p] * (io->x[0][p] - m->mean) * m->inverse;
        }
    }
}

// The activation's mask is applied to dy here, once; backward finds it done.
static void backward_gather(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *b = (const struct batchnorm *)op;
    struct channel *saved = io->saved; // [c]
    reference_activation_backward(io->dy, io->y,
                                  (size_t)io->samples * kernel_tensor_row_floats(op->traits.y),
                                  b->d.activation);
#pragma omp parallel for
    for (int c = 0; c < b->d.x.shape.c; c++) {
        if (io->strip == 0)
            saved[c].g = saved[c].g_xhat = 0;
        sum_gradient(b, io, c, &saved[c]);
    }
}

static void backward_settle(struct kernel_op *op, const struct kernel_io *io)
{
    const struct batchnorm *b = (const struct batchnorm *)op;
    const struct channel *saved = io->saved; // [c]
    for (int c = 0; c < b->d.x.shape.c; c++) {
        io->param_grads[0][c] += (float)saved[c].g_xhat;
        io->param_grads[1][c] += (float)saved[c].g;
    }
}

static void channel_backward(const struct batchnorm *b, const struct kernel_io *io, int c,
                             struct channel m)
{
    const struct kernel_shape s = b->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    const double scale = io->params[0][c] * m.inverse;
    for (int n = 0; n < io->samples; n++) {
        const bool real = n < io->rows; // the others are no function of anything: zero
        const size_t at = reference_plane(s, n, c);
        for (size_t p = at; p < at + plane; p++) {
            const float g = real ? io->dy[p] : 0; // read before dx, which may be the same buffer
            const double xhat = (io->x[0][p] - m.mean) * m.inverse;
            const double dx = scale * (g - m.g / m.count - xhat * m.g_xhat / m.count);
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
    const struct channel *saved = io->saved; // [c]
#pragma omp parallel for
    for (int c = 0; c < b->d.x.shape.c; c++)
        channel_backward(b, io, c, saved[c]);
    return STN_OK;
}

static const struct reference_kind kind = {.calls = {.forward_gather = forward_gather,
                                                     .backward_gather = backward_gather,
                                                     .forward_settle = forward_settle,
                                                     .backward_settle = backward_settle,
                                                     .forward = forward,
                                                     .backward = backward,
                                                     .destroy = reference_op_destroy},
                                           REFERENCE_SIZES(struct batchnorm)};

enum stn_status reference_batchnorm(void *engine, const struct kernel_batchnorm *d,
                                    struct kernel_op **out)
{
    (void)engine;
    enum stn_status status = reference_op_create(
        &kind, kernel_activation_suffix("batchnorm", d->activation), d, &d->x, d->x, out);
    if (status)
        return status;
    struct batchnorm *b = (struct batchnorm *)*out;
    b->op.traits.saved_bytes = (size_t)d->x.shape.c * sizeof(struct channel);
    b->op.traits.gathers = true;
    b->op.traits.backward_reads = KERNEL_READS_X;
    if (d->activation != KERNEL_LINEAR)
        b->op.traits.backward_reads |= KERNEL_READS_Y;
    b->op.traits.in_place_input =
        reference_in_place(d->dx[0], d->residual ? d->dx[1] : KERNEL_DX_NONE);
    return STN_OK;
}
