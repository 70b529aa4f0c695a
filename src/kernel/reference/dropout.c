// SPDX-License-Identifier: Apache-2.0
// Dropout. Nothing is saved: backward draws the same numbers again.
#include "kernel/dropout_rule.h"
#include "kernel/reference/reference.h"

struct dropout {
    struct kernel_op op;
    struct kernel_dropout d;
};

// What element e of a sample is multiplied with.
static float factor(const struct dropout *d, uint64_t stream, size_t e)
{
    return kernel_dropout_keep(stream, e, kernel_dropout_threshold(d->d.rate)) ? 1 / (1 - d->d.rate)
                                                                               : 0;
}

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct dropout *d = (const struct dropout *)op;
    const size_t row = kernel_tensor_row_floats(d->d.x);
#pragma omp parallel for
    for (int n = 0; n < d->d.x.shape.n; n++) {
        const uint64_t stream =
            io->phase == KERNEL_TRAIN ? kernel_dropout_stream(io->row_keys[n], d->d.salt) : 0;
        const float *x = io->x[0] + (size_t)n * row; // [c][h][w]
        float *y = io->y + (size_t)n * row;          // [c][h][w]
        for (size_t e = 0; e < row; e++)
            y[e] = io->phase == KERNEL_TRAIN ? x[e] * factor(d, stream, e) : x[e];
    }
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct dropout *d = (const struct dropout *)op;
    const size_t row = kernel_tensor_row_floats(d->d.x);
    if (d->d.dx == KERNEL_DX_NONE)
        return STN_OK;
#pragma omp parallel for
    for (int n = 0; n < d->d.x.shape.n; n++) {
        const uint64_t stream = kernel_dropout_stream(io->row_keys[n], d->d.salt);
        const float *dy = io->dy + (size_t)n * row; // [c][h][w]
        float *dx = io->dx[0] + (size_t)n * row;    // [c][h][w]
        for (size_t e = 0; e < row; e++)
            reference_put(dx + e, dy[e] * factor(d, stream, e), d->d.dx);
    }
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct dropout, forward, backward);

enum stn_status reference_dropout(void *engine, const struct kernel_dropout *desc,
                                  struct kernel_op **out)
{
    (void)engine;
    enum stn_status status = reference_op_create(&kind, "dropout", desc, &desc->x, desc->x, out);
    if (status)
        return status;
    struct dropout *d = (struct dropout *)*out;
    d->op.traits.in_place_input = reference_in_place(desc->dx, KERNEL_DX_NONE);
    d->op.traits.forward_in_place = true;
    return STN_OK;
}
