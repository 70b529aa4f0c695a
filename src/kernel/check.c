// SPDX-License-Identifier: Apache-2.0
// Descriptors, checked before any backend sees them. Pure but for messages.
#include "kernel/check.h"

static enum stn_status check_tensor(const char *op, struct kernel_tensor t)
{
    const struct kernel_shape s = t.shape;
    if (s.n < 1 || s.c < 1 || s.h < 1 || s.w < 1)
        return stn_fail(STN_ERR_INVALID,
                        "%s: input of %d×%d×%d×%d: every extent must be at least 1", op, s.n, s.c,
                        s.h, s.w);
    if (t.layout != KERNEL_NCHW && t.layout != KERNEL_NCHW8C && t.layout != KERNEL_NCHW16C)
        return stn_fail(STN_ERR_INVALID, "%s: no such layout: %d", op, (int)t.layout);
    return STN_OK;
}

static enum stn_status check_window(const char *op, struct kernel_shape x, struct kernel_window w)
{
    const int extent[2] = {x.h, x.w};
    for (int axis = 0; axis < 2; axis++) {
        const char *name = axis == 0 ? "vertical" : "horizontal";
        if (w.size[axis] < 1 || w.stride[axis] < 1)
            return stn_fail(STN_ERR_INVALID, "%s: %s window %d, stride %d: must be at least 1", op,
                            name, w.size[axis], w.stride[axis]);
        if (w.size[axis] > extent[axis] + w.pad_before[axis] + w.pad_after[axis])
            return stn_fail(STN_ERR_INVALID,
                            "%s: %s window %d does not fit into %d with padding %d + %d", op, name,
                            w.size[axis], extent[axis], w.pad_before[axis], w.pad_after[axis]);
    }
    return STN_OK;
}

static enum stn_status check_padding(const char *op, const int padding[2], const char *where)
{
    if (padding[0] < 0 || padding[1] < 0)
        return stn_fail(STN_ERR_INVALID, "%s: padding %d,%d %s: must not be negative", op,
                        padding[0], padding[1], where);
    return STN_OK;
}

enum stn_status kernel_check_conv(const struct kernel_conv *d)
{
    enum stn_status status = check_tensor("conv", d->x);
    if (status)
        return status;
    if (d->out_channels < 1 || d->groups < 1)
        return stn_fail(STN_ERR_INVALID, "conv: %d output channels, %d groups: must be at least 1",
                        d->out_channels, d->groups);
    if (d->x.shape.c % d->groups || d->out_channels % d->groups)
        return stn_fail(STN_ERR_INVALID,
                        "conv: %d groups do not divide %d input and %d output channels", d->groups,
                        d->x.shape.c, d->out_channels);
    if ((status = check_padding("conv", d->window.pad_before, "before")) ||
        (status = check_padding("conv", d->window.pad_after, "after")))
        return status;
    return check_window("conv", d->x.shape, d->window);
}

enum stn_status kernel_check_batchnorm(const struct kernel_batchnorm *d)
{
    if (!(d->epsilon > 0))
        return stn_fail(STN_ERR_INVALID, "batchnorm: epsilon %g: must be positive",
                        (double)d->epsilon);
    return check_tensor("batchnorm", d->x);
}

enum stn_status kernel_check_activate(const struct kernel_activate *d)
{
    return check_tensor("activate", d->x);
}

enum stn_status kernel_check_pool(const struct kernel_pool *d)
{
    enum stn_status status = check_tensor("pool", d->x);
    if (status)
        return status;
    if (d->kind == KERNEL_POOL_ADAPTIVE)
        return d->out[0] > 0 && d->out[1] > 0
                   ? STN_OK
                   : stn_fail(STN_ERR_INVALID, "pool: output of %d×%d: must be at least 1×1",
                              d->out[0], d->out[1]);
    if ((status = check_padding("pool", d->window.pad_after, "after")) ||
        (status = check_window("pool", d->x.shape, d->window)))
        return status;
    const struct kernel_window w = d->window;
    if (d->kind == KERNEL_POOL_AVERAGE && d->count_padding)
        return STN_OK;
    for (int axis = 0; axis < 2; axis++) {
        if (w.pad_before[axis] >= w.size[axis] || w.pad_after[axis] >= w.size[axis])
            return stn_fail(STN_ERR_INVALID,
                            "pool: padding %d + %d leaves a window of %d without input",
                            w.pad_before[axis], w.pad_after[axis], w.size[axis]);
    }
    return STN_OK;
}

enum stn_status kernel_check_global_pool(const struct kernel_global_pool *d)
{
    return check_tensor("global_pool", d->x);
}

enum stn_status kernel_check_fc(const struct kernel_fc *d)
{
    if (d->x.layout != KERNEL_NCHW)
        return stn_fail(STN_ERR_INVALID, "fc: input must be NCHW, reorder it first");
    if (d->out_features < 1)
        return stn_fail(STN_ERR_INVALID, "fc: %d output features: must be at least 1",
                        d->out_features);
    return check_tensor("fc", d->x);
}

enum stn_status kernel_check_add(const struct kernel_add *d)
{
    return check_tensor("add", d->x);
}

enum stn_status kernel_check_concat(const struct kernel_concat *d)
{
    if (d->inputs < 1 || d->inputs > KERNEL_INPUTS_MAX)
        return stn_fail(STN_ERR_INVALID, "concat: %d inputs: must be 1 to %d", d->inputs,
                        KERNEL_INPUTS_MAX);
    const struct kernel_shape first = d->x[0].shape;
    for (int i = 0; i < d->inputs; i++) {
        enum stn_status status = check_tensor("concat", d->x[i]);
        if (status)
            return status;
        struct kernel_shape s = d->x[i].shape;
        s.c = first.c;
        if (!kernel_shape_equal(s, first) || d->x[i].layout != d->x[0].layout)
            return stn_fail(STN_ERR_INVALID,
                            "concat: input %d differs from input 0 in more than channels", i);
    }
    return STN_OK;
}

enum stn_status kernel_check_shuffle(const struct kernel_shuffle *d)
{
    enum stn_status status = check_tensor("shuffle", d->x);
    if (status)
        return status;
    if (d->groups < 1 || d->x.shape.c % d->groups)
        return stn_fail(STN_ERR_INVALID, "shuffle: %d groups do not divide %d channels", d->groups,
                        d->x.shape.c);
    return STN_OK;
}

enum stn_status kernel_check_slice(const struct kernel_slice *d)
{
    enum stn_status status = check_tensor("slice", d->x);
    if (status)
        return status;
    if (d->first < 0 || d->count < 1 || d->first > d->x.shape.c - d->count)
        return stn_fail(STN_ERR_INVALID, "slice: %d channels from %d on are not among %d", d->count,
                        d->first, d->x.shape.c);
    return STN_OK;
}

enum stn_status kernel_check_dropout(const struct kernel_dropout *d)
{
    if (!(d->rate >= 0 && d->rate < 1))
        return stn_fail(STN_ERR_INVALID, "dropout: rate %g: must be at least 0 and below 1",
                        (double)d->rate);
    return check_tensor("dropout", d->x);
}

enum stn_status kernel_check_reorder(const struct kernel_reorder *d)
{
    const struct kernel_tensor y = {d->x.shape, d->y_layout};
    enum stn_status status = check_tensor("reorder", d->x);
    return status ? status : check_tensor("reorder", y);
}
