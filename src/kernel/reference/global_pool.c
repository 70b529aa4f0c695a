// SPDX-License-Identifier: Apache-2.0
// The mean of each plane.
#include "kernel/reference/reference.h"

struct global_pool {
    struct kernel_op op;
    struct kernel_global_pool d;
};

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct kernel_shape s = ((const struct global_pool *)op)->d.x.shape;
    const size_t plane = reference_plane_floats(s);
#pragma omp parallel for
    for (int i = 0; i < s.n * s.c; i++) {
        const float *x = io->x[0] + (size_t)i * plane; // [h][w]
        double sum = 0;
        for (size_t p = 0; p < plane; p++)
            sum += x[p];
        io->y[i] = (float)(sum / (double)plane); // [n][c]
    }
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct global_pool *g = (const struct global_pool *)op;
    const struct kernel_shape s = g->d.x.shape;
    const size_t plane = reference_plane_floats(s);
    if (g->d.dx == KERNEL_DX_NONE)
        return STN_OK;
#pragma omp parallel for
    for (int i = 0; i < s.n * s.c; i++) {
        const float share = io->dy[i] / (float)plane; // [n][c]
        float *dx = io->dx[0] + (size_t)i * plane;    // [h][w]
        for (size_t p = 0; p < plane; p++)
            reference_put(dx + p, share, g->d.dx);
    }
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct global_pool, forward, backward);

enum stn_status reference_global_pool(void *engine, const struct kernel_global_pool *d,
                                      struct kernel_op **out)
{
    (void)engine;
    const struct kernel_tensor y = {{d->x.shape.n, d->x.shape.c, 1, 1}, KERNEL_NCHW};
    return reference_op_create(&kind, "global_pool", d, &d->x, y, out);
}
