// SPDX-License-Identifier: Apache-2.0
// A run of channels out of a map.
#include <string.h>

#include "kernel/reference/reference.h"

struct slice {
    struct kernel_op op;
    struct kernel_slice d;
};

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct slice *s = (const struct slice *)op;
    const size_t row = kernel_tensor_row_floats(op->traits.y); // [count][h][w]
#pragma omp parallel for
    for (int n = 0; n < s->d.x.shape.n; n++) {
        const float *x = io->x[0] + reference_plane(s->d.x.shape, n, s->d.first);
        memcpy(io->y + (size_t)n * row, x, row * sizeof *x);
    }
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct slice *s = (const struct slice *)op;
    const size_t row = kernel_tensor_row_floats(op->traits.y),
                 all = kernel_tensor_row_floats(s->d.x);
    if (s->d.dx == KERNEL_DX_NONE)
        return STN_OK;
#pragma omp parallel for
    for (int n = 0; n < s->d.x.shape.n; n++) {
        const float *dy = io->dy + (size_t)n * row;
        float *dx = io->dx[0] + reference_plane(s->d.x.shape, n, s->d.first);
        if (s->d.dx == KERNEL_DX_WRITE)
            memset(io->dx[0] + (size_t)n * all, 0, all * sizeof *dx);
        for (size_t p = 0; p < row; p++)
            reference_put(dx + p, dy[p], s->d.dx);
    }
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct slice, forward, backward);

enum stn_status reference_slice(void *engine, const struct kernel_slice *d, struct kernel_op **out)
{
    (void)engine;
    struct kernel_tensor y = d->x;
    y.shape.c = d->count;
    return reference_op_create(&kind, "slice", d, &d->x, y, out);
}
