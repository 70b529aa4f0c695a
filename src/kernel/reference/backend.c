// SPDX-License-Identifier: Apache-2.0
// The reference backend's table, and what its ops share.
#include <stdlib.h>
#include <string.h>

#include "kernel/reference/reference.h"

enum stn_status reference_op_create(const struct reference_kind *kind, const char *name,
                                    const void *description, const struct kernel_tensor *x,
                                    struct kernel_tensor y, struct kernel_op **out)
{
    if (x && x->layout != KERNEL_NCHW)
        return stn_fail(STN_ERR_UNSUPPORTED,
                        "%s: the reference backend knows only NCHW, reorder the input first", name);
    struct kernel_op *op = calloc(1, kind->bytes);
    if (!op)
        return stn_fail(STN_ERR_NO_MEMORY, "%s: out of memory", name);
    op->calls = &kind->calls;
    op->traits = (struct kernel_op_traits){.name = name, .y = y, .in_place_input = -1};
    memcpy((char *)op + kind->description_at, description, kind->description);
    *out = op;
    return STN_OK;
}

void reference_op_destroy(struct kernel_op *op)
{
    free(op);
}

void reference_activation_backward(float *dy, const float *y, size_t count,
                                   enum kernel_activation a)
{
    if (a == KERNEL_LINEAR)
        return;
#pragma omp parallel for
    for (size_t i = 0; i < count; i++) {
        if (!reference_active(y[i], a))
            dy[i] = 0;
    }
}

static enum kernel_layout plain_layout(void)
{
    return KERNEL_NCHW;
}

static enum stn_status open_engine(const struct kernel_team *team, void **engine)
{
    struct reference_engine *e = malloc(sizeof *e);
    if (!e)
        return stn_fail(STN_ERR_NO_MEMORY, "reference backend: out of memory");
    e->threads = team->threads;
    *engine = e;
    return STN_OK;
}

static const char *version(const void *engine)
{
    (void)engine;
    return "reference (plain C)";
}

const struct kernel_backend kernel_backend_reference = {
    .name = "reference",
    .blocked = plain_layout,
    .open = open_engine,
    .close = free,
    .version = version,
    .conv = reference_conv,
    .batchnorm = reference_batchnorm,
    .activate = reference_activate_op,
    .pool = reference_pool,
    .global_pool = reference_global_pool,
    .fc = reference_fc,
    .add = reference_add,
    .concat = reference_concat,
    .shuffle = reference_shuffle,
    .slice = reference_slice,
    .dropout = reference_dropout,
    .reorder = reference_reorder,
};
