// SPDX-License-Identifier: Apache-2.0
// The backends there are, and the calls of kernel.h, which check descriptors and ask the backends
// of a kernel for each op.
#include "kernel/kernel.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lanes.h"
#include "kernel/backend.h"
#include "kernel/check.h"

// ---- backends, best first ----------------------------------------------------------------------

#ifdef STANNIS_HAVE_ONEDNN
#define BACKEND_MAP(X) X(onednn) X(native) X(reference)
#else
#define BACKEND_MAP(X) X(native) X(reference)
#endif

#define X(name) &kernel_backend_##name,
static const struct kernel_backend *const backends[] = {BACKEND_MAP(X)};
#undef X

#define X(name) #name,
static const char *const backend_names[] = {BACKEND_MAP(X) NULL};
#undef X

#define X(name) BACKEND_##name,
enum { BACKEND_MAP(X) BACKENDS };
#undef X

// A backend brings those after it in the list along, for the ops it has no kernel for. Our own
// kernels are asked first of all: they decline where the library is faster.
static const int ask_order[] = {
    BACKEND_native,
#ifdef STANNIS_HAVE_ONEDNN
    BACKEND_onednn,
#endif
    BACKEND_reference,
};
enum { ASKED = sizeof ask_order / sizeof *ask_order };

struct kernel {
    int backend;             // the one that was named
    void *engines[BACKENDS]; // NULL: before `backend` in the list
    int threads;
    struct kernel *lanes;    // NULL: none
    struct base_lanes *crew; // of lanes themselves
};

const char *const *kernel_backend_names(void)
{
    return backend_names;
}

// BACKENDS: there is none of that name.
static int find_backend(const char *name)
{
    int i = 0;
    while (name && i < BACKENDS && strcmp(backend_names[i], name) != 0) {
        i++;
    }
    return i;
}

static enum stn_status fail_unknown(const char *name)
{
    char list[128] = "";
    for (int i = 0; i < BACKENDS; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", backend_names[i]);
    }
    return stn_fail(STN_ERR_NOT_FOUND, "no kernel backend '%s': this build has %s", name, list);
}

static enum stn_status open_engines(struct kernel *kernel, int lanes)
{
    const struct kernel_team team = {
        .threads = kernel->threads,
        .lanes = lanes,
        .blocked = backends[kernel->backend]->blocked(),
        .alone = kernel->backend >= BACKEND_native,
    };
    enum stn_status status = STN_OK;
    for (int i = kernel->backend; i < BACKENDS && !status; i++) {
        status = backends[i]->open(&team, &kernel->engines[i]);
    }
    return status;
}

static enum stn_status open_kernel(int backend, int threads, int lanes, struct kernel **out)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return stn_fail(STN_ERR_NO_MEMORY, "kernel: out of memory");
    kernel->backend = backend;
    kernel->threads = threads;
    enum stn_status status = open_engines(kernel, lanes);
    if (status) {
        kernel_destroy(kernel);
        return status;
    }
    *out = kernel;
    return STN_OK;
}

static enum stn_status open_lanes(struct kernel *kernel)
{
    enum stn_status status = open_kernel(kernel->backend, 1, kernel->threads, &kernel->lanes);
    return status ? status : base_lanes_create(kernel->threads, &kernel->lanes->crew);
}

enum stn_status kernel_create(const char *name, int threads, struct kernel **out)
{
    const int backend = find_backend(name);
    if (backend == BACKENDS)
        return fail_unknown(name);
    if (threads < 1)
        return stn_fail(STN_ERR_INVALID, "kernel: %d threads: must be at least 1", threads);
    // A fixed team: sums are split by its size, and a run must be repeatable.
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    enum stn_status status = open_kernel(backend, threads, 1, out);
    if (status || threads == 1 || !backends[backend]->has_lanes)
        return status;
    status = open_lanes(*out);
    if (status)
        kernel_destroy(*out);
    return status;
}

void kernel_destroy(struct kernel *kernel)
{
    if (!kernel)
        return;
    kernel_destroy(kernel->lanes);
    base_lanes_destroy(kernel->crew);
    for (int i = 0; i < BACKENDS; i++) {
        if (kernel->engines[i])
            backends[i]->close(kernel->engines[i]);
    }
    free(kernel);
}

const char *kernel_name(const struct kernel *kernel)
{
    return backend_names[kernel->backend];
}

const char *kernel_version(const struct kernel *kernel)
{
    return backends[kernel->backend]->version(kernel->engines[kernel->backend]);
}

int kernel_threads(const struct kernel *kernel)
{
    return kernel->threads;
}

// ---- lanes -------------------------------------------------------------------------------------

struct kernel *kernel_lanes(struct kernel *kernel)
{
    return kernel->lanes;
}

int kernel_lane_count(const struct kernel *lanes)
{
    return lanes->crew ? base_lanes_count(lanes->crew) : 1;
}

struct lane_work {
    kernel_lane_call *call;
    void *context;
};

// oneDNN takes as many threads as OpenMP would give the one that calls.
static void work_alone(void *context, int lane)
{
    const struct lane_work *work = context;
    int team = omp_get_max_threads();
    omp_set_num_threads(1);
    work->call(work->context, lane);
    omp_set_num_threads(team);
}

void kernel_lanes_run(struct kernel *lanes, kernel_lane_call *call, void *context)
{
    base_lanes_run(lanes->crew, work_alone, &(struct lane_work){call, context});
}

void kernel_lanes_meet(struct kernel *lanes, void (*between)(void *context), void *context)
{
    base_lanes_meet(lanes->crew, between, context);
}

// ---- planning: check, then the first backend that has it ------------------------------------

// oneDNN plans for as many threads as OpenMP reports at that time.
#define DEFINE_CREATE(op)                                                                          \
    enum stn_status kernel_##op##_create(struct kernel *kernel, const struct kernel_##op *d,       \
                                         struct kernel_op **out)                                   \
    {                                                                                              \
        enum stn_status status = kernel_check_##op(d);                                             \
        if (status)                                                                                \
            return status;                                                                         \
        int team = omp_get_max_threads();                                                          \
        omp_set_num_threads(kernel->threads);                                                      \
        *out = NULL;                                                                               \
        for (int i = 0; i < ASKED && !status && !*out; i++) {                                      \
            const int asked = ask_order[i];                                                        \
            if (kernel->engines[asked] && backends[asked]->op)                                     \
                status = backends[asked]->op(kernel->engines[asked], d, out);                      \
        }                                                                                          \
        omp_set_num_threads(team);                                                                 \
        return status;                                                                             \
    }

DEFINE_CREATE(conv)
DEFINE_CREATE(batchnorm)
DEFINE_CREATE(activate)
DEFINE_CREATE(pool)
DEFINE_CREATE(global_pool)
DEFINE_CREATE(fc)
DEFINE_CREATE(add)
DEFINE_CREATE(concat)
DEFINE_CREATE(shuffle)
DEFINE_CREATE(slice)
DEFINE_CREATE(dropout)
DEFINE_CREATE(reorder)

// ---- running -----------------------------------------------------------------------------------

void kernel_op_destroy(struct kernel_op *op)
{
    if (op)
        op->calls->destroy(op);
}

const struct kernel_op_traits *kernel_op_traits(const struct kernel_op *op)
{
    return &op->traits;
}

void kernel_op_prepare(struct kernel_op *op, int lane, const float *const *params)
{
    if (op->calls->prepare)
        op->calls->prepare(op, lane, params);
}

void kernel_op_collect(struct kernel_op *op, int lane, struct kernel_sums sums,
                       float *const *param_grads)
{
    if (op->calls->collect)
        op->calls->collect(op, lane, sums, param_grads);
}

void kernel_op_forward_gather(struct kernel_op *op, const struct kernel_io *io)
{
    if (op->calls->forward_gather) {
        op->calls->forward_gather(op, io);
    }
}

void kernel_op_backward_gather(struct kernel_op *op, const struct kernel_io *io)
{
    if (op->calls->backward_gather) {
        op->calls->backward_gather(op, io);
    }
}

void kernel_op_forward_settle(struct kernel_op *op, const struct kernel_io *io)
{
    if (op->calls->forward_settle) {
        op->calls->forward_settle(op, io);
    }
}

void kernel_op_backward_settle(struct kernel_op *op, const struct kernel_io *io)
{
    if (op->calls->backward_settle) {
        op->calls->backward_settle(op, io);
    }
}

enum stn_status kernel_op_forward(struct kernel_op *op, const struct kernel_io *io)
{
    return op->calls->forward(op, io);
}

enum stn_status kernel_op_backward(struct kernel_op *op, const struct kernel_io *io)
{
    return op->calls->backward(op, io);
}

enum stn_status kernel_op_forward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                           struct kernel_op *next, const struct kernel_io *next_io)
{
    if (op->calls->forward_gathered) {
        return op->calls->forward_gathered(op, io, next, next_io);
    }
    enum stn_status status = kernel_op_forward(op, io);
    if (status == STN_OK) {
        kernel_op_forward_gather(next, next_io);
    }
    return status;
}

enum stn_status kernel_op_backward_gathered(struct kernel_op *op, const struct kernel_io *io,
                                            struct kernel_op *before,
                                            const struct kernel_io *before_io)
{
    if (op->calls->backward_gathered) {
        return op->calls->backward_gathered(op, io, before, before_io);
    }
    enum stn_status status = kernel_op_backward(op, io);
    if (status == STN_OK) {
        kernel_op_backward_gather(before, before_io);
    }
    return status;
}

// ---- what backends share -----------------------------------------------------------------------

static int window_output(int extent, struct kernel_window w, int axis)
{
    return (extent + w.pad_before[axis] + w.pad_after[axis] - w.size[axis]) / w.stride[axis] + 1;
}

struct kernel_shape kernel_window_output(struct kernel_shape x, struct kernel_window w,
                                         int channels)
{
    return (struct kernel_shape){x.n, channels, window_output(x.h, w, 0), window_output(x.w, w, 1)};
}

struct kernel_shape kernel_pool_output(const struct kernel_pool *d)
{
    const struct kernel_shape x = d->x.shape;
    if (d->kind == KERNEL_POOL_ADAPTIVE)
        return (struct kernel_shape){x.n, x.c, d->out[0], d->out[1]};
    return kernel_window_output(x, d->window, x.c);
}

int64_t kernel_conv_macs(const struct kernel_conv *d, struct kernel_shape y)
{
    return (int64_t)y.n * y.c * y.h * y.w * (d->x.shape.c / d->groups) * d->window.size[0] *
           d->window.size[1];
}

const char *kernel_activation_suffix(const char *op, enum kernel_activation a)
{
    static const char *const names[][3] = {
        // KERNEL_LINEAR, KERNEL_RELU, KERNEL_RELU6
        {"conv", "conv+relu", "conv+relu6"},
        {"pointwise", "pointwise+relu", "pointwise+relu6"},
        {"grouped", "grouped+relu", "grouped+relu6"},
        {"depthwise", "depthwise+relu", "depthwise+relu6"},
        {"batchnorm", "batchnorm+relu", "batchnorm+relu6"},
        {"fc", "fc+relu", "fc+relu6"},
        {"add", "add+relu", "add+relu6"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i][0], op) == 0)
            return names[i][a];
    }
    return op;
}

const char *kernel_conv_name(const struct kernel_conv *d)
{
    const char *kind = "conv";
    if (d->groups > 1) {
        kind = d->groups == d->x.shape.c ? "depthwise" : "grouped";
    } else if (d->window.size[0] == 1 && d->window.size[1] == 1) {
        kind = "pointwise";
    }
    return kernel_activation_suffix(kind, d->activation);
}
