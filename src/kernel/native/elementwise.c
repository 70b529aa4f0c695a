// SPDX-License-Identifier: Apache-2.0
// Ops that treat every element alike: activation, addition, dropout.
#include <stdlib.h>
#include <string.h>

#include "kernel/dropout_rule.h"
#include "kernel/native/native.h"

// ---- y = act(x), y = act(a + b) ----------------------------------------------------------------

struct pointwise {
    struct kernel_op op;
    struct kernel_team *team;
    struct native_chunks c;
    enum kernel_activation activation;
    int inputs;
    enum kernel_dx dx[2];
};

static enum stn_status pointwise_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pointwise *pw = (struct pointwise *)op;
    const struct native_chunks *c = &pw->c;
    const struct simd_kernels *simd = simd_kernels_for(c->block);
#pragma omp parallel for schedule(static) num_threads(native_team(pw->team, c))
    for (int i = 0; i < c->n * c->blocks; i++) {
        size_t at = (size_t)i * c->floats;
        simd->activate(io->x[0] + at, pw->inputs > 1 ? io->x[1] + at : NULL, pw->activation,
                       c->pixels, io->y + at);
    }
    return STN_OK;
}

// The first input's gradient comes last where it is written over dy, else first: the second may be
// the same value's, to be added.
static void pointwise_spread(const struct pointwise *pw, const struct kernel_io *io, size_t at)
{
    const struct simd_kernels *simd = simd_kernels_for(pw->c.block);
    const float *dy = io->dy + at, *y = pw->activation == KERNEL_LINEAR ? NULL : io->y + at;
    bool over_dy = io->dx[0] == io->dy;
    for (int turn = 0; turn < pw->inputs; turn++) {
        int i = over_dy ? pw->inputs - 1 - turn : turn;
        bool add = pw->dx[i] == KERNEL_DX_ADD;
        if (pw->dx[i] == KERNEL_DX_NONE || (!y && !add && io->dx[i] == io->dy)) {
            continue;
        }
        simd->mask(dy, y, pw->activation, pw->c.pixels, add, io->dx[i] + at);
    }
}

static enum stn_status pointwise_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pointwise *pw = (struct pointwise *)op;
    const struct native_chunks *c = &pw->c;
#pragma omp parallel for schedule(static) num_threads(native_team(pw->team, c))
    for (int i = 0; i < c->n * c->blocks; i++) {
        pointwise_spread(pw, io, (size_t)i * c->floats);
    }
    return STN_OK;
}

static void op_free(struct kernel_op *op)
{
    free(op);
}

static const struct kernel_op_calls pointwise_calls = {
    .forward = pointwise_forward, .backward = pointwise_backward, .destroy = op_free};

static enum stn_status pointwise_create(const char *name, struct pointwise settings,
                                        struct kernel_tensor x, struct kernel_op **out)
{
    struct pointwise *pw = malloc(sizeof(*pw));
    if (!pw) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for an op (%s)", name);
    }
    *pw = settings;
    pw->c = native_chunks_of(x);
    pw->op = (struct kernel_op){
        .calls = &pointwise_calls,
        .traits =
            {
                .name = name,
                .y = x,
                .backward_reads = settings.activation == KERNEL_LINEAR ? 0 : KERNEL_READS_Y,
                .in_place_input = 0,
                .forward_in_place = true,
            },
    };
    *out = &pw->op;
    return STN_OK;
}

enum stn_status native_activate_create(void *team, const struct kernel_activate *d,
                                       struct kernel_op **out)
{
    struct pointwise settings = {
        .team = team, .activation = d->activation, .inputs = 1, .dx = {d->dx}};
    return pointwise_create(kernel_activation_suffix("activate", d->activation), settings, d->x,
                            out);
}

enum stn_status native_add_create(void *team, const struct kernel_add *d, struct kernel_op **out)
{
    struct pointwise settings = {
        .team = team, .activation = d->activation, .inputs = 2, .dx = {d->dx[0], d->dx[1]}};
    return pointwise_create(kernel_activation_suffix("add", d->activation), settings, d->x, out);
}

// ---- dropout -----------------------------------------------------------------------------------

// Forward draws and keeps one byte an element for backward: drawing costs more than reading it.
struct dropout {
    struct kernel_op op;
    struct kernel_team *team;
    struct kernel_dropout desc;
    struct native_chunks c;
};

static void dropout_draw(const struct dropout *dropout, const struct kernel_io *io, int n, int b)
{
    const struct native_chunks *c = &dropout->c;
    uint64_t stream = kernel_dropout_stream(io->row_keys[n], dropout->desc.salt);
    int channel = b * c->block;
    simd_kernels_for(c->block)->draw(
        stream, (uint64_t)channel * c->pixels, kernel_dropout_threshold(dropout->desc.rate),
        c->channels - channel, c->pixels, (uint8_t *)io->saved + native_chunk_at(c, n, b));
}

static void dropout_apply(const struct dropout *dropout, const float *in, const void *saved,
                          int chunk, bool add, float *out)
{
    const struct native_chunks *c = &dropout->c;
    size_t at = (size_t)chunk * c->floats;
    const uint8_t *kept = saved;
    simd_kernels_for(c->block)->drop(in + at, kept + at, 1.0f / (1.0f - dropout->desc.rate),
                                     c->pixels, add, out + at);
}

static enum stn_status dropout_forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct dropout *dropout = (struct dropout *)op;
    const struct native_chunks *c = &dropout->c;
    if (io->phase == KERNEL_EVAL) {
        if (io->y != io->x[0]) {
            memcpy(io->y, io->x[0], kernel_tensor_bytes(dropout->desc.x));
        }
        return STN_OK;
    }
#pragma omp parallel for schedule(static) num_threads(native_team(dropout->team, c))
    for (int i = 0; i < c->n * c->blocks; i++) {
        dropout_draw(dropout, io, i / c->blocks, i % c->blocks);
        dropout_apply(dropout, io->x[0], io->saved, i, false, io->y);
    }
    return STN_OK;
}

static enum stn_status dropout_backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct dropout *dropout = (struct dropout *)op;
    const struct native_chunks *c = &dropout->c;
    if (dropout->desc.dx == KERNEL_DX_NONE) {
        return STN_OK;
    }
    bool add = dropout->desc.dx == KERNEL_DX_ADD;
#pragma omp parallel for schedule(static) num_threads(native_team(dropout->team, c))
    for (int i = 0; i < c->n * c->blocks; i++) {
        dropout_apply(dropout, io->dy, io->saved, i, add, io->dx[0]);
    }
    return STN_OK;
}

static const struct kernel_op_calls dropout_calls = {
    .forward = dropout_forward, .backward = dropout_backward, .destroy = op_free};

enum stn_status native_dropout_create(void *team, const struct kernel_dropout *d,
                                      struct kernel_op **out)
{
    struct dropout *dropout = calloc(1, sizeof(*dropout));
    if (!dropout) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a dropout");
    }
    dropout->team = team;
    dropout->desc = *d;
    dropout->c = native_chunks_of(d->x);
    dropout->op = (struct kernel_op){
        .calls = &dropout_calls,
        .traits =
            {
                .name = "dropout",
                .y = d->x,
                .saved_bytes = kernel_tensor_floats(d->x),
                .in_place_input = 0,
                .forward_in_place = true,
            },
    };
    *out = &dropout->op;
    return STN_OK;
}
