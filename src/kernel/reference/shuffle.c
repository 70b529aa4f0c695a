// SPDX-License-Identifier: Apache-2.0
// Channel shuffle: channels seen as [groups][c/groups] become [c/groups][groups].
#include <string.h>

#include "kernel/reference/reference.h"

struct shuffle {
    struct kernel_op op;
    struct kernel_shuffle d;
};

// The input channel that output channel c shows.
static int source_channel(const struct shuffle *s, int c)
{
    const int per_group = s->d.x.shape.c / s->d.groups;
    return c % s->d.groups * per_group + c / s->d.groups;
}

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct shuffle *s = (const struct shuffle *)op;
    const struct kernel_shape x = s->d.x.shape;
#pragma omp parallel for collapse(2)
    for (int n = 0; n < x.n; n++) {
        for (int c = 0; c < x.c; c++)
            memcpy(io->y + reference_plane(x, n, c),
                   io->x[0] + reference_plane(x, n, source_channel(s, c)),
                   reference_plane_floats(x) * sizeof(float));
    }
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct shuffle *s = (const struct shuffle *)op;
    const struct kernel_shape x = s->d.x.shape;
    if (s->d.dx == KERNEL_DX_NONE)
        return STN_OK;
#pragma omp parallel for collapse(2)
    for (int n = 0; n < x.n; n++) {
        for (int c = 0; c < x.c; c++) {
            const float *dy = io->dy + reference_plane(x, n, c);                 // [h][w]
            float *dx = io->dx[0] + reference_plane(x, n, source_channel(s, c)); // [h][w]
            for (size_t p = 0; p < reference_plane_floats(x); p++)
                reference_put(dx + p, dy[p], s->d.dx);
        }
    }
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct shuffle, forward, backward);

enum stn_status reference_shuffle(void *engine, const struct kernel_shuffle *d,
                                  struct kernel_op **out)
{
    (void)engine;
    return reference_op_create(&kind, "shuffle", d, &d->x, d->x, out);
}
