// SPDX-License-Identifier: Apache-2.0
// A convolution that nothing here has a vector kernel for: the reference's loops, between reorders
// from and to the blocks of channels that the ops around it work on. Copies live in the scratch.
#include <stdlib.h>

#include "kernel/native/native.h"
#include "kernel/reference/reference.h"

// Feature maps as the reference wants them.
enum map { X, Y, DX, DY, MAPS };

struct plain_conv {
    struct kernel_op op;
    struct kernel_op *conv;    // on plain maps; dx is always written, never added
    struct kernel_op *x, *y;   // reorders: x to plain, y from plain; backward the other way
    struct kernel_op *y_again; // y to plain, for the activation's gradient; NULL: linear
    size_t map_bytes[MAPS];
};

// The copies, one after the other at the beginning of the scratch.
struct copies {
    float *map[MAPS];
    void *scratch; // the convolution's own
};

static struct copies copies_in(const struct plain_conv *pc, void *scratch)
{
    struct copies copies;
    char *at = scratch;
    for (int i = 0; i < MAPS; i++) {
        copies.map[i] = (float *)(void *)at;
        at += pc->map_bytes[i];
    }
    copies.scratch = at;
    return copies;
}

static enum stn_status move(struct kernel_op *reorder, const float *from, float *to)
{
    return reorder->calls->forward(reorder, &(struct kernel_io){.x = &from, .y = to});
}

static enum stn_status move_back(struct kernel_op *reorder, float *from, float *to)
{
    return reorder->calls->backward(reorder, &(struct kernel_io){.dy = from, .dx = &to});
}

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct plain_conv *pc = (struct plain_conv *)op;
    struct copies copies = copies_in(pc, io->scratch);
    const float *x = copies.map[X];
    struct kernel_io plain = *io;
    plain.x = &x;
    plain.y = copies.map[Y];
    plain.scratch = copies.scratch;
    enum stn_status status = move(pc->x, io->x[0], copies.map[X]);
    if (!status) {
        status = pc->conv->calls->forward(pc->conv, &plain);
    }
    return status ? status : move(pc->y, plain.y, io->y);
}

static enum stn_status fill_copies(const struct plain_conv *pc, const struct kernel_io *io,
                                   const struct copies *copies)
{
    enum stn_status status = move(pc->x, io->x[0], copies->map[X]);
    if (!status && pc->y_again) {
        status = move(pc->y_again, io->y, copies->map[Y]);
    }
    return status ? status : move_back(pc->y, io->dy, copies->map[DY]);
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct plain_conv *pc = (struct plain_conv *)op;
    struct copies copies = copies_in(pc, io->scratch);
    const float *x = copies.map[X];
    struct kernel_io plain = *io;
    plain.x = &x;
    plain.y = copies.map[Y];
    plain.dy = copies.map[DY];
    plain.dx = &copies.map[DX];
    plain.scratch = copies.scratch;
    enum stn_status status = fill_copies(pc, io, &copies);
    if (!status) {
        status = pc->conv->calls->backward(pc->conv, &plain);
    }
    if (!status && io->dx && io->dx[0]) {
        status = move_back(pc->x, copies.map[DX], io->dx[0]);
    }
    return status;
}

static void destroy(struct kernel_op *op)
{
    struct plain_conv *pc = (struct plain_conv *)op;
    kernel_op_destroy(pc->conv);
    kernel_op_destroy(pc->x);
    kernel_op_destroy(pc->y);
    kernel_op_destroy(pc->y_again);
    free(pc);
}

static const struct kernel_op_calls calls = {
    .forward = forward, .backward = backward, .destroy = destroy};

static enum stn_status create_reorders(struct plain_conv *pc, struct kernel_team *team,
                                       const struct kernel_conv *d)
{
    struct kernel_tensor y = pc->op.traits.y, plain_y = {y.shape, KERNEL_NCHW};
    const struct kernel_reorder of_x = {.x = d->x, .y_layout = KERNEL_NCHW, .dx = d->dx};
    const struct kernel_reorder of_y = {.x = plain_y, .y_layout = y.layout, .dx = KERNEL_DX_WRITE};
    const struct kernel_reorder again = {.x = y, .y_layout = KERNEL_NCHW, .dx = KERNEL_DX_NONE};
    enum stn_status status = native_reorder_op_create(team, &of_x, &pc->x);
    if (!status) {
        status = native_reorder_op_create(team, &of_y, &pc->y);
    }
    if (!status && d->activation != KERNEL_LINEAR) {
        status = native_reorder_op_create(team, &again, &pc->y_again);
    }
    return status;
}

static enum stn_status create_conv(struct plain_conv *pc, const struct kernel_team *team,
                                   const struct kernel_conv *d)
{
    struct reference_engine engine = {.threads = team->threads};
    struct kernel_conv plain = *d;
    plain.x.layout = KERNEL_NCHW;
    plain.dx = d->dx == KERNEL_DX_NONE ? KERNEL_DX_NONE : KERNEL_DX_WRITE;
    return reference_conv(&engine, &plain, &pc->conv);
}

static void plan_scratch(struct plain_conv *pc, const struct kernel_conv *d)
{
    struct kernel_tensor x = {d->x.shape, KERNEL_NCHW}, y = {pc->op.traits.y.shape, KERNEL_NCHW};
    size_t x_bytes = native_align(kernel_tensor_bytes(x));
    size_t y_bytes = native_align(kernel_tensor_bytes(y));
    pc->map_bytes[X] = pc->map_bytes[DX] = x_bytes;
    pc->map_bytes[Y] = pc->map_bytes[DY] = y_bytes;
    pc->op.traits.scratch_bytes = 2 * (x_bytes + y_bytes) + pc->conv->traits.scratch_bytes;
}

enum stn_status native_plain_conv_create(struct kernel_team *team, const struct kernel_conv *d,
                                         struct kernel_op_traits traits, struct kernel_op **out)
{
    struct plain_conv *pc = calloc(1, sizeof(*pc));
    if (!pc) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a convolution");
    }
    pc->op = (struct kernel_op){.calls = &calls, .traits = traits};
    enum stn_status status = create_reorders(pc, team, d);
    if (!status) {
        status = create_conv(pc, team, d);
    }
    if (status) {
        destroy(&pc->op);
        return status;
    }
    plan_scratch(pc, d);
    *out = &pc->op;
    return STN_OK;
}
