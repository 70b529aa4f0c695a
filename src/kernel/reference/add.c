// SPDX-License-Identifier: Apache-2.0
// The sum of two maps, with its activation.
#include "kernel/reference/reference.h"

struct add {
    struct kernel_op op;
    struct kernel_add d;
};

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct add *a = (const struct add *)op;
    const size_t count = kernel_tensor_floats(a->d.x);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++)
        io->y[i] = reference_activate(io->x[0][i] + io->x[1][i], a->d.activation);
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct add *a = (const struct add *)op;
    const size_t count = kernel_tensor_floats(a->d.x);
    reference_activation_backward(io->dy, io->y, count, a->d.activation);
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        const float g = io->dy[i]; // read before dx, one of which may be the same buffer
        for (int input = 0; input < 2; input++) {
            if (a->d.dx[input] != KERNEL_DX_NONE)
                reference_put(io->dx[input] + i, g, a->d.dx[input]);
        }
    }
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct add, forward, backward);

enum stn_status reference_add(void *engine, const struct kernel_add *d, struct kernel_op **out)
{
    (void)engine;
    enum stn_status status = reference_op_create(
        &kind, kernel_activation_suffix("add", d->activation), d, &d->x, d->x, out);
    if (status)
        return status;
    struct add *a = (struct add *)*out;
    a->op.traits.backward_reads = d->activation == KERNEL_LINEAR ? 0 : KERNEL_READS_Y;
    a->op.traits.in_place_input = reference_in_place(d->dx[0], d->dx[1]);
    a->op.traits.forward_in_place = true;
    return STN_OK;
}
