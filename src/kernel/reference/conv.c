// SPDX-License-Identifier: Apache-2.0
// Convolution, grouped or not. A window is a set of taps (kh, kw); each tap with one weight joins
// an input plane and an output plane, and all three passes are sums over taps of such joins. Planes
// are summed in double, in a scratch plane a thread.
#include <omp.h>
#include <string.h>

#include "kernel/reference/reference.h"

struct conv {
    struct kernel_op op;
    struct kernel_conv d;
    struct kernel_shape x, y;
    int in_per_group, out_per_group;
    int threads;
    size_t plane_doubles; // of a thread's scratch: the larger of both planes
};

// Output rows and columns at which a tap falls on the input, not on padding, and how to get from
// output to input: ih = oh·stride + shift.
struct tap {
    int begin[2], end[2];
    int shift[2];
};

static struct tap tap_at(const struct conv *c, int kh, int kw)
{
    const int k[2] = {kh, kw};
    const int in[2] = {c->x.h, c->x.w}, out[2] = {c->y.h, c->y.w};
    struct tap t;
    for (int axis = 0; axis < 2; axis++) {
        const int stride = c->d.window.stride[axis];
        const int shift = k[axis] - c->d.window.pad_before[axis];
        const int last = in[axis] - 1 - shift; // oh·stride may not pass it
        const int end = last < 0 ? 0 : last / stride + 1;
        t.shift[axis] = shift;
        t.begin[axis] = shift < 0 ? (-shift + stride - 1) / stride : 0;
        t.end[axis] = end < out[axis] ? end : out[axis];
    }
    return t;
}

// The input element of output (oh, 0), as an index into the plane; may lie outside for itself.
static ptrdiff_t input_index(const struct conv *c, const struct tap *t, int oh)
{
    return (ptrdiff_t)(oh * c->d.window.stride[0] + t->shift[0]) * c->x.w + t->shift[1];
}

// Where the weights of output channel o and the i-th input channel of its group begin.
static size_t weight_index(const struct conv *c, int o, int i)
{
    const int taps = c->d.window.size[0] * c->d.window.size[1];
    return ((size_t)o * (size_t)c->in_per_group + (size_t)i) * (size_t)taps;
}

static double *thread_plane(const struct conv *c, const struct kernel_io *io)
{
    return (double *)io->scratch + (size_t)omp_get_thread_num() * c->plane_doubles;
}

// ---- forward: y[oh][ow] += Σ w[kh][kw]·x[ih][iw] -----------------------------------------------

static void plane_forward(const struct conv *c, const float *w, const float *x, double *y)
{
    const int step = c->d.window.stride[1];
    for (int kh = 0; kh < c->d.window.size[0]; kh++) {
        for (int kw = 0; kw < c->d.window.size[1]; kw++) {
            const struct tap t = tap_at(c, kh, kw);
            const double weight = w[kh * c->d.window.size[1] + kw];
            for (int oh = t.begin[0]; oh < t.end[0]; oh++) {
                const ptrdiff_t from = input_index(c, &t, oh);
                double *row = y + (ptrdiff_t)oh * c->y.w;
                for (int ow = t.begin[1]; ow < t.end[1]; ow++)
                    row[ow] += weight * x[from + (ptrdiff_t)ow * step];
            }
        }
    }
}

static enum stn_status forward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct conv *c = (const struct conv *)op;
    const size_t out_plane = reference_plane_floats(c->y);
#pragma omp parallel for collapse(2) num_threads(c->threads)
    for (int n = 0; n < c->y.n; n++) {
        for (int o = 0; o < c->y.c; o++) {
            double *sum = thread_plane(c, io); // [oh][ow]
            for (size_t p = 0; p < out_plane; p++)
                sum[p] = c->d.bias ? io->params[1][o] : 0;
            const int first = o / c->out_per_group * c->in_per_group;
            for (int i = 0; i < c->in_per_group; i++)
                plane_forward(c, io->params[0] + weight_index(c, o, i),
                              io->x[0] + reference_plane(c->x, n, first + i), sum);
            float *y = io->y + reference_plane(c->y, n, o);
            for (size_t p = 0; p < out_plane; p++)
                y[p] = reference_activate((float)sum[p], c->d.activation);
        }
    }
    return STN_OK;
}

// ---- backward to x: dx[ih][iw] += Σ w[kh][kw]·dy[oh][ow] ---------------------------------------

static void plane_backward(const struct conv *c, const float *w, const float *dy, double *dx)
{
    const int step = c->d.window.stride[1];
    for (int kh = 0; kh < c->d.window.size[0]; kh++) {
        for (int kw = 0; kw < c->d.window.size[1]; kw++) {
            const struct tap t = tap_at(c, kh, kw);
            const double weight = w[kh * c->d.window.size[1] + kw];
            for (int oh = t.begin[0]; oh < t.end[0]; oh++) {
                const ptrdiff_t to = input_index(c, &t, oh);
                const float *row = dy + (ptrdiff_t)oh * c->y.w;
                for (int ow = t.begin[1]; ow < t.end[1]; ow++)
                    dx[to + (ptrdiff_t)ow * step] += weight * row[ow];
            }
        }
    }
}

static void backward_data(const struct conv *c, const struct kernel_io *io)
{
    const size_t in_plane = reference_plane_floats(c->x);
#pragma omp parallel for collapse(2) num_threads(c->threads)
    for (int n = 0; n < c->x.n; n++) {
        for (int i = 0; i < c->x.c; i++) {
            double *sum = thread_plane(c, io); // [h][w]
            memset(sum, 0, in_plane * sizeof *sum);
            const int first = i / c->in_per_group * c->out_per_group;
            for (int o = first; o < first + c->out_per_group; o++)
                plane_backward(c, io->params[0] + weight_index(c, o, i % c->in_per_group),
                               io->dy + reference_plane(c->y, n, o), sum);
            float *dx = io->dx[0] + reference_plane(c->x, n, i);
            for (size_t p = 0; p < in_plane; p++)
                reference_put(dx + p, (float)sum[p], c->d.dx);
        }
    }
}

// ---- backward to w: dw[kh][kw] += Σ x[ih][iw]·dy[oh][ow] ---------------------------------------

static double tap_product(const struct conv *c, const struct tap *t, const float *x,
                          const float *dy)
{
    const int step = c->d.window.stride[1];
    double sum = 0;
    for (int oh = t->begin[0]; oh < t->end[0]; oh++) {
        const ptrdiff_t from = input_index(c, t, oh);
        const float *row = dy + (ptrdiff_t)oh * c->y.w;
        for (int ow = t->begin[1]; ow < t->end[1]; ow++)
            sum += (double)x[from + (ptrdiff_t)ow * step] * row[ow];
    }
    return sum;
}

static void weight_backward(const struct conv *c, const struct kernel_io *io, int o, int i)
{
    const int first = o / c->out_per_group * c->in_per_group;
    float *dw = io->param_grads[0] + weight_index(c, o, i); // [kh][kw]
    for (int kh = 0; kh < c->d.window.size[0]; kh++) {
        for (int kw = 0; kw < c->d.window.size[1]; kw++) {
            const struct tap t = tap_at(c, kh, kw);
            double sum = 0;
            for (int n = 0; n < io->rows; n++)
                sum += tap_product(c, &t, io->x[0] + reference_plane(c->x, n, first + i),
                                   io->dy + reference_plane(c->y, n, o));
            dw[kh * c->d.window.size[1] + kw] += (float)sum;
        }
    }
}

static void backward_weights(const struct conv *c, const struct kernel_io *io)
{
#pragma omp parallel for collapse(2) num_threads(c->threads)
    for (int o = 0; o < c->y.c; o++) {
        for (int i = 0; i < c->in_per_group; i++)
            weight_backward(c, io, o, i);
    }
}

static void backward_bias(const struct conv *c, const struct kernel_io *io)
{
    const size_t out_plane = reference_plane_floats(c->y);
#pragma omp parallel for
    for (int o = 0; o < c->y.c; o++) {
        double sum = 0;
        for (int n = 0; n < io->rows; n++) {
            const float *dy = io->dy + reference_plane(c->y, n, o);
            for (size_t p = 0; p < out_plane; p++)
                sum += dy[p];
        }
        io->param_grads[1][o] += (float)sum;
    }
}

static enum stn_status backward(struct kernel_op *op, const struct kernel_io *io)
{
    const struct conv *c = (const struct conv *)op;
    reference_activation_backward(io->dy, io->y, kernel_tensor_floats(op->traits.y),
                                  c->d.activation);
    if (c->d.bias)
        backward_bias(c, io);
    backward_weights(c, io);
    if (c->d.dx != KERNEL_DX_NONE)
        backward_data(c, io);
    return STN_OK;
}

static const struct reference_kind kind = REFERENCE_KIND(struct conv, forward, backward);

enum stn_status reference_conv(void *engine, const struct kernel_conv *d, struct kernel_op **out)
{
    const struct kernel_shape y = kernel_window_output(d->x.shape, d->window, d->out_channels);
    enum stn_status status = reference_op_create(&kind, kernel_conv_name(d), d, &d->x,
                                                 (struct kernel_tensor){y, KERNEL_NCHW}, out);
    if (status)
        return status;
    struct conv *c = (struct conv *)*out;
    c->x = d->x.shape;
    c->y = y;
    c->in_per_group = d->x.shape.c / d->groups;
    c->out_per_group = d->out_channels / d->groups;
    c->threads = ((const struct reference_engine *)engine)->threads;
    const size_t in_plane = reference_plane_floats(c->x), out_plane = reference_plane_floats(y);
    c->plane_doubles = in_plane > out_plane ? in_plane : out_plane;
    c->op.traits.scratch_bytes = (size_t)c->threads * c->plane_doubles * sizeof(double);
    c->op.traits.backward_reads = KERNEL_READS_X;
    if (d->activation != KERNEL_LINEAR)
        c->op.traits.backward_reads |= KERNEL_READS_Y;
    c->op.traits.macs = kernel_conv_macs(d, y);
    return STN_OK;
}
