// SPDX-License-Identifier: Apache-2.0
// Ops, for those who implement them. A backend is one visible table of makers, and a
// kernel asks several for each op; an op is a struct
// that begins with struct kernel_op and carries its own table of calls. Callers read
// kernel.h, which states what each op means.
#ifndef KERNEL_BACKEND_H
#define KERNEL_BACKEND_H

#include "kernel/kernel.h"

struct kernel_op_calls {
    // NULL: nothing to prepare, nothing held back.
    void (*prepare)(struct kernel_op *op, int lane, const float *const *params);
    void (*collect)(struct kernel_op *op, int lane, struct kernel_sums sums,
                    float *const *param_grads);
    // NULL: no need.
    void (*forward_gather)(struct kernel_op *op, const struct kernel_io *io);
    void (*backward_gather)(struct kernel_op *op, const struct kernel_io *io);
    void (*forward_settle)(struct kernel_op *op, const struct kernel_io *io);
    void (*backward_settle)(struct kernel_op *op, const struct kernel_io *io);
    enum stn_status (*forward)(struct kernel_op *op, const struct kernel_io *io);
    enum stn_status (*backward)(struct kernel_op *op, const struct kernel_io *io);
    // Forward or backward together with a gathering call of another op of this backend; NULL: one
    // after the other.
    enum stn_status (*forward_gathered)(struct kernel_op *op, const struct kernel_io *io,
                                        struct kernel_op *next, const struct kernel_io *next_io);
    enum stn_status (*backward_gathered)(struct kernel_op *op, const struct kernel_io *io,
                                         struct kernel_op *before,
                                         const struct kernel_io *before_io);
    void (*destroy)(struct kernel_op *op);
};

struct kernel_op {
    const struct kernel_op_calls *calls;
    struct kernel_op_traits traits;
};

// What all backends of a kernel agree on. Calls come from `lanes` threads, each of which has a team
// of `threads`; one of the two is 1.
struct kernel_team {
    int threads, lanes;
    enum kernel_layout blocked; // of feature maps that convolutions make
    bool alone;                 // no library besides our own kernels
};

// An engine is what a backend keeps for all its ops (a dnnl engine and streams, the team).
// A maker that leaves *out alone has no kernel for what is asked, or none that pays; one that is
// NULL never has. The next backend is asked then.
struct kernel_backend {
    const char *name;
    bool has_lanes;
    enum kernel_layout (*blocked)(void); // the layout that suits it on this CPU
    enum stn_status (*open)(const struct kernel_team *team, void **engine);
    void (*close)(void *engine);
    const char *(*version)(const void *engine);
    enum stn_status (*conv)(void *engine, const struct kernel_conv *, struct kernel_op **out);
    enum stn_status (*batchnorm)(void *engine, const struct kernel_batchnorm *,
                                 struct kernel_op **out);
    enum stn_status (*activate)(void *engine, const struct kernel_activate *,
                                struct kernel_op **out);
    enum stn_status (*pool)(void *engine, const struct kernel_pool *, struct kernel_op **out);
    enum stn_status (*global_pool)(void *engine, const struct kernel_global_pool *,
                                   struct kernel_op **out);
    enum stn_status (*fc)(void *engine, const struct kernel_fc *, struct kernel_op **out);
    enum stn_status (*add)(void *engine, const struct kernel_add *, struct kernel_op **out);
    enum stn_status (*concat)(void *engine, const struct kernel_concat *, struct kernel_op **out);
    enum stn_status (*shuffle)(void *engine, const struct kernel_shuffle *, struct kernel_op **out);
    enum stn_status (*slice)(void *engine, const struct kernel_slice *, struct kernel_op **out);
    enum stn_status (*dropout)(void *engine, const struct kernel_dropout *, struct kernel_op **out);
    enum stn_status (*reorder)(void *engine, const struct kernel_reorder *, struct kernel_op **out);
};

extern const struct kernel_backend kernel_backend_reference, kernel_backend_native;
#ifdef STANNIS_HAVE_ONEDNN
extern const struct kernel_backend kernel_backend_onednn;
#endif

// Shape arithmetic that every backend shares.
struct kernel_shape kernel_window_output(struct kernel_shape x, struct kernel_window w,
                                         int channels);
struct kernel_shape kernel_pool_output(const struct kernel_pool *d);
int64_t kernel_conv_macs(const struct kernel_conv *d, struct kernel_shape y);
// "pointwise", "depthwise+relu6", …: what a profile calls a convolution.
const char *kernel_conv_name(const struct kernel_conv *d);
// "conv+relu", from a static table.
const char *kernel_activation_suffix(const char *op, enum kernel_activation a);

#endif
