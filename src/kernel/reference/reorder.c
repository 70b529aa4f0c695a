// SPDX-License-Identifier: Apache-2.0
// The same values in another layout, by the formula of tensor.h. The one reference op that knows
// layouts other than NCHW.
#include "kernel/reference/reference.h"

struct reorder {
    struct kernel_op op;
    struct kernel_reorder d;
};

// Where the pixels of channel c of sample n begin; pixels are `block` floats apart.
static size_t channel_index(struct kernel_tensor t, int n, int c)
{
    const size_t block = (size_t)kernel_layout_block(t.layout), channel = (size_t)c;
    return (size_t)n * kernel_tensor_row_floats(t) +
           channel / block * block * reference_plane_floats(t.shape) + channel % block;
}

// Every lane of `to`, those of the padding too.
static void convert(struct kernel_tensor from, const float *source, struct kernel_tensor to,
                    float *target, enum kernel_dx mode)
{
    const size_t plane = reference_plane_floats(from.shape);
    const size_t from_step = (size_t)kernel_layout_block(from.layout);
    const size_t to_step = (size_t)kernel_layout_block(to.layout);
#pragma omp parallel for collapse(2)
    for (int n = 0; n < to.shape.n; n++) {
        for (int c = 0; c < kernel_tensor_padded_channels(to); c++) {
            const float *s = c < from.shape.c ? source + channel_index(from, n, c) : NULL;
            float *t = target + channel_index(to, n, c);
            for (size_t p = 0; p < plane; p++)
                reference_put(t + p * to_step, s ? s[p * from_step] : 0, mode);
        }
    }
}

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct reorder *r = (const struct reorder *)op;
    convert(r->d.x, io->x[0], op->traits.y, io->y, KERNEL_DX_WRITE);
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct reorder *r = (const struct reorder *)op;
    if (r->d.dx != KERNEL_DX_NONE)
        convert(op->traits.y, io->dy, r->d.x, io->dx[0], r->d.dx);
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct reorder, forward, backward);

enum stn_status reference_reorder(void *engine, const struct kernel_reorder *d,
                                  struct kernel_op **out)
{
    (void)engine;
    return reference_op_create(&kind, "reorder", d, NULL,
                               (struct kernel_tensor){d->x.shape, d->y_layout}, out);
}
