// SPDX-License-Identifier: Apache-2.0
// Channels of several maps, one map after the other.
#include <string.h>

#include "kernel/reference/reference.h"

struct concat {
    struct kernel_op op;
    struct kernel_concat d;
};

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct concat *c = (const struct concat *)op;
    const struct kernel_shape y = op->traits.y.shape;
#pragma omp parallel for
    for (int n = 0; n < y.n; n++) {
        float *to = io->y + reference_plane(y, n, 0);
        for (int i = 0; i < c->d.inputs; i++) {
            const size_t row = kernel_tensor_row_floats(c->d.x[i]); // [c][h][w]
            memcpy(to, io->x[i] + (size_t)n * row, row * sizeof *to);
            to += row;
        }
    }
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct concat *c = (const struct concat *)op;
    const struct kernel_shape y = op->traits.y.shape;
#pragma omp parallel for
    for (int n = 0; n < y.n; n++) {
        const float *from = io->dy + reference_plane(y, n, 0);
        for (int i = 0; i < c->d.inputs; i++) {
            const size_t row = kernel_tensor_row_floats(c->d.x[i]); // [c][h][w]
            for (size_t p = 0; p < row && c->d.dx[i] != KERNEL_DX_NONE; p++)
                reference_put(io->dx[i] + (size_t)n * row + p, from[p], c->d.dx[i]);
            from += row;
        }
    }
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct concat, forward, backward);

enum stn_status reference_concat(void *engine, const struct kernel_concat *d,
                                 struct kernel_op **out)
{
    (void)engine;
    struct kernel_tensor y = d->x[0];
    for (int i = 1; i < d->inputs; i++)
        y.shape.c += d->x[i].shape.c;
    return reference_op_create(&kind, "concat", d, &d->x[0], y, out);
}
