// SPDX-License-Identifier: Apache-2.0
// Max and average pooling. Each plane is independent of the others.
#include <string.h>

#include "kernel/reference/reference.h"

struct pool {
    struct kernel_op op;
    struct kernel_pool d;
    struct kernel_shape x, y;
};

// The part of a window that lies on the input.
struct box {
    int h[2], w[2]; // begin, end
};

static struct box adaptive_window_at(const struct pool *p, int oh, int ow)
{
    const struct kernel_shape x = p->x, y = p->y;
    return (struct box){{oh * x.h / y.h, ((oh + 1) * x.h + y.h - 1) / y.h},
                        {ow * x.w / y.w, ((ow + 1) * x.w + y.w - 1) / y.w}};
}

static struct box window_at(const struct pool *p, int oh, int ow)
{
    if (p->d.kind == KERNEL_POOL_ADAPTIVE)
        return adaptive_window_at(p, oh, ow);
    const struct kernel_window w = p->d.window;
    const int top = oh * w.stride[0] - w.pad_before[0], bottom = top + w.size[0];
    const int left = ow * w.stride[1] - w.pad_before[1], right = left + w.size[1];
    return (struct box){{top > 0 ? top : 0, bottom < p->x.h ? bottom : p->x.h},
                        {left > 0 ? left : 0, right < p->x.w ? right : p->x.w}};
}

// What an average divides by.
static int box_count(const struct pool *p, const struct box *b)
{
    if (p->d.count_padding)
        return p->d.window.size[0] * p->d.window.size[1];
    return (b->h[1] - b->h[0]) * (b->w[1] - b->w[0]);
}

// ---- average -----------------------------------------------------------------------------------

static void average_forward(const struct pool *p, const float *x, float *y)
{
    for (int oh = 0; oh < p->y.h; oh++) {
        for (int ow = 0; ow < p->y.w; ow++) {
            const struct box b = window_at(p, oh, ow);
            double sum = 0;
            for (int h = b.h[0]; h < b.h[1]; h++) {
                for (int w = b.w[0]; w < b.w[1]; w++)
                    sum += x[h * p->x.w + w];
            }
            y[oh * p->y.w + ow] = (float)(sum / box_count(p, &b));
        }
    }
}

static void average_backward(const struct pool *p, const float *dy, float *dx)
{
    for (int oh = 0; oh < p->y.h; oh++) {
        for (int ow = 0; ow < p->y.w; ow++) {
            const struct box b = window_at(p, oh, ow);
            const float share = dy[oh * p->y.w + ow] / (float)box_count(p, &b);
            for (int h = b.h[0]; h < b.h[1]; h++) {
                for (int w = b.w[0]; w < b.w[1]; w++)
                    dx[h * p->x.w + w] += share;
            }
        }
    }
}

// ---- max: forward leaves the index of each winner in its input plane ---------------------------

// The first of equals in scan order; a NaN wins, and stays.
static int32_t box_argmax(const struct pool *p, const struct box *b, const float *x)
{
    int best = b->h[0] * p->x.w + b->w[0];
    for (int h = b->h[0]; h < b->h[1]; h++) {
        for (int w = b->w[0]; w < b->w[1]; w++) {
            const float v = x[h * p->x.w + w];
            if (v > x[best] || (v != v && x[best] == x[best]))
                best = h * p->x.w + w;
        }
    }
    return best;
}

static void max_forward(const struct pool *p, const float *x, float *y, int32_t *winner)
{
    for (int oh = 0; oh < p->y.h; oh++) {
        for (int ow = 0; ow < p->y.w; ow++) {
            const struct box b = window_at(p, oh, ow);
            const int o = oh * p->y.w + ow;
            winner[o] = box_argmax(p, &b, x);
            y[o] = x[winner[o]];
        }
    }
}

static void max_backward(const struct pool *p, const float *dy, const int32_t *winner, float *dx)
{
    for (int o = 0; o < p->y.h * p->y.w; o++)
        dx[winner[o]] += dy[o];
}

// ---- all planes --------------------------------------------------------------------------------

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pool *p = (const struct pool *)op;
    int32_t *winners = io->saved; // [n][c][oh][ow], max only
#pragma omp parallel for collapse(2)
    for (int n = 0; n < p->x.n; n++) {
        for (int c = 0; c < p->x.c; c++) {
            const float *x = io->x[0] + reference_plane(p->x, n, c); // [h][w]
            const size_t to = reference_plane(p->y, n, c);           // [oh][ow]
            if (p->d.kind == KERNEL_POOL_MAX)
                max_forward(p, x, io->y + to, winners + to);
            else
                average_forward(p, x, io->y + to);
        }
    }
    return STN_OK;
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct pool *p = (const struct pool *)op;
    const int32_t *winners = io->saved;
    if (p->d.dx == KERNEL_DX_NONE)
        return STN_OK;
#pragma omp parallel for collapse(2)
    for (int n = 0; n < p->x.n; n++) {
        for (int c = 0; c < p->x.c; c++) {
            float *dx = io->dx[0] + reference_plane(p->x, n, c);
            const size_t from = reference_plane(p->y, n, c);
            if (p->d.dx == KERNEL_DX_WRITE)
                memset(dx, 0, reference_plane_floats(p->x) * sizeof *dx);
            if (p->d.kind == KERNEL_POOL_MAX)
                max_backward(p, io->dy + from, winners + from, dx);
            else
                average_backward(p, io->dy + from, dx);
        }
    }
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct pool, forward, backward);

enum stn_status reference_pool(void *engine, const struct kernel_pool *d, struct kernel_op **out)
{
    (void)engine;
    const bool max = d->kind == KERNEL_POOL_MAX;
    const struct kernel_shape y = kernel_pool_output(d);
    enum stn_status status = reference_op_create(&kind, max ? "max_pool" : "average_pool", d, &d->x,
                                                 (struct kernel_tensor){y, KERNEL_NCHW}, out);
    if (status)
        return status;
    struct pool *p = (struct pool *)*out;
    p->x = d->x.shape;
    p->y = y;
    if (max)
        p->op.traits.saved_bytes = kernel_tensor_floats(p->op.traits.y) * sizeof(int32_t);
    return STN_OK;
}
