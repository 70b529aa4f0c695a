// SPDX-License-Identifier: Apache-2.0
// An activation on its own.
#include "kernel/reference/reference.h"

struct activate {
    struct kernel_op op;
    struct kernel_activate d;
};

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct activate *a = (const struct activate *)op;
    const size_t count = kernel_tensor_floats(a->d.x);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++)
        io->y[i] = reference_activate(io->x[0][i], a->d.activation);
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct activate *a = (const struct activate *)op;
    const size_t count = kernel_tensor_floats(a->d.x);
    if (a->d.dx == KERNEL_DX_NONE)
        return STN_OK;
    reference_activation_backward(io->dy, io->y, count, a->d.activation);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++)
        reference_put(io->dx[0] + i, io->dy[i], a->d.dx);
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct activate, forward, backward);

enum stn_status reference_activate_op(void *engine, const struct kernel_activate *d,
                                      struct kernel_op **out)
{
    static const char *const names[] = {"linear", "relu", "relu6"};
    (void)engine;
    enum stn_status status = reference_op_create(&kind, names[d->activation], d, &d->x, d->x, out);
    if (status)
        return status;
    struct activate *a = (struct activate *)*out;
    a->op.traits.backward_reads = KERNEL_READS_Y;
    a->op.traits.in_place_input = reference_in_place(d->dx, KERNEL_DX_NONE);
    a->op.traits.forward_in_place = true;
    return STN_OK;
}
