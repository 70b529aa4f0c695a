// SPDX-License-Identifier: Apache-2.0
// What the ops of the reference backend share. They are plain loops over NCHW arrays, there to be
// obviously right: the oracle of the tests, and what computes an op where nothing faster does.
//
// Loops run in parallel only where each result is computed whole by one thread, so results do not
// depend on the number of threads.
#ifndef KERNEL_REFERENCE_REFERENCE_H
#define KERNEL_REFERENCE_REFERENCE_H

#include <stddef.h>

#include "kernel/backend.h"

struct reference_engine {
    int threads;
};

// What the ops of one kind share. An op's own struct begins with struct kernel_op and keeps its
// description as a member d.
struct reference_kind {
    struct kernel_op_calls calls;
    size_t bytes;                       // of the op's own struct
    size_t description_at, description; // where its d begins, and how many bytes d has
};

#define REFERENCE_SIZES(type)                                                                      \
    .bytes = sizeof(type), .description_at = offsetof(type, d),                                    \
    .description = sizeof(((type *)NULL)->d)
// Of ops that only go forward and backward.
#define REFERENCE_KIND(type, there, back)                                                          \
    {                                                                                              \
        .calls = {.forward = (there), .backward = (back), .destroy = reference_op_destroy},        \
        REFERENCE_SIZES(type)                                                                      \
    }

// Makes an op that computes y, otherwise zeroed: it reads nothing in backward and nothing may be in
// place unless the caller says so in its traits. `x`, its first input, must be NCHW; NULL: its
// layout does not matter.
STN_MUST_CHECK enum stn_status reference_op_create(const struct reference_kind *kind,
                                                   const char *name, const void *description,
                                                   const struct kernel_tensor *x,
                                                   struct kernel_tensor y, struct kernel_op **out);
void reference_op_destroy(struct kernel_op *op);

// dy ← dy·act′, told from y = act(…).
void reference_activation_backward(float *dy, const float *y, size_t count,
                                   enum kernel_activation a);

// NaN stays NaN.
static inline float reference_activate(float v, enum kernel_activation a)
{
    if (a == KERNEL_LINEAR)
        return v;
    if (v < 0)
        return 0;
    return a == KERNEL_RELU6 && v > 6 ? 6 : v;
}

// Whether the gradient passes where the activation gave y.
static inline bool reference_active(float y, enum kernel_activation a)
{
    if (a == KERNEL_LINEAR)
        return true;
    return !(y <= 0) && !(a == KERNEL_RELU6 && y >= 6);
}

// One element of dx. Not for KERNEL_DX_NONE.
static inline void reference_put(float *dx, float value, enum kernel_dx mode)
{
    *dx = mode == KERNEL_DX_ADD ? *dx + value : value;
}

static inline size_t reference_plane_floats(struct kernel_shape s)
{
    return (size_t)s.h * (size_t)s.w;
}

// Where plane [n][c] begins.
static inline size_t reference_plane(struct kernel_shape s, int n, int c)
{
    return ((size_t)n * (size_t)s.c + (size_t)c) * reference_plane_floats(s);
}

// Which of two inputs' gradients can take the place of dy: one that is written, not added.
static inline int reference_in_place(enum kernel_dx first, enum kernel_dx second)
{
    if (first == KERNEL_DX_WRITE)
        return 0;
    return second == KERNEL_DX_WRITE ? 1 : -1;
}

// The makers, one file each.
enum stn_status reference_conv(void *engine, const struct kernel_conv *, struct kernel_op **out);
enum stn_status reference_batchnorm(void *engine, const struct kernel_batchnorm *,
                                    struct kernel_op **out);
enum stn_status reference_activate_op(void *engine, const struct kernel_activate *,
                                      struct kernel_op **out);
enum stn_status reference_pool(void *engine, const struct kernel_pool *, struct kernel_op **out);
enum stn_status reference_global_pool(void *engine, const struct kernel_global_pool *,
                                      struct kernel_op **out);
enum stn_status reference_fc(void *engine, const struct kernel_fc *, struct kernel_op **out);
enum stn_status reference_add(void *engine, const struct kernel_add *, struct kernel_op **out);
enum stn_status reference_concat(void *engine, const struct kernel_concat *,
                                 struct kernel_op **out);
enum stn_status reference_shuffle(void *engine, const struct kernel_shuffle *,
                                  struct kernel_op **out);
enum stn_status reference_slice(void *engine, const struct kernel_slice *, struct kernel_op **out);
enum stn_status reference_dropout(void *engine, const struct kernel_dropout *,
                                  struct kernel_op **out);
enum stn_status reference_reorder(void *engine, const struct kernel_reorder *,
                                  struct kernel_op **out);

#endif
