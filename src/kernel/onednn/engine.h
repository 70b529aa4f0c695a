// SPDX-License-Identifier: Apache-2.0
// What the ops of this backend share: oneDNN's engine and stream, the team of threads, and tasks
// (primitives with the memory objects they run on).
#ifndef ONEDNN_ENGINE_H
#define ONEDNN_ENGINE_H

#include <oneapi/dnnl/dnnl.h>

#include "kernel/backend.h"
#include "kernel/native/native.h"

struct onednn_engine {
    dnnl_engine_t dnnl;
    dnnl_stream_t *streams; // [lanes]
    struct kernel_team team;
    char version[48];
};

// Reports a failed call of the library; `what` completes "oneDNN cannot …".
STN_MUST_CHECK enum stn_status onednn_check(dnnl_status_t status, const char *what);

dnnl_format_tag_t onednn_tag(enum kernel_layout layout);
STN_MUST_CHECK enum stn_status onednn_tensor_desc(struct kernel_tensor t, dnnl_memory_desc_t *out);

// A primitive and, for each lane, one memory object for each of its arguments. The objects live as
// long as the task; only the addresses in them change, and only when they differ from the last
// run's: giving oneDNN an address of a padded tensor makes it clear the padding, and with a static
// memory plan that happens once.
enum { ONEDNN_TASK_ARGS_MAX = 6 };

struct onednn_binding {
    dnnl_exec_arg_t args[ONEDNN_TASK_ARGS_MAX];
    void *bound[ONEDNN_TASK_ARGS_MAX];
    int arg_count;
};

struct onednn_task {
    dnnl_primitive_t primitive; // NULL: no such task
    struct onednn_binding *bindings;
    int lanes;
    size_t scratch_bytes; // of the library's own; argument DNNL_ARG_SCRATCHPAD
};

// `args` are DNNL_ARG_…, in the order in which run takes the addresses; the scratchpad is last and
// implied.
STN_MUST_CHECK enum stn_status onednn_task_create(struct onednn_engine *engine,
                                                  const_dnnl_primitive_desc_t desc, const int *args,
                                                  int arg_count, struct onednn_task *out);
void onednn_task_destroy(struct onednn_task *task);
STN_MUST_CHECK enum stn_status onednn_task_run(struct onednn_engine *engine,
                                               struct onednn_task *task, int lane,
                                               void *const *addresses, void *scratchpad);
// A reorder from one description to another, which writes or (`add`) adds.
STN_MUST_CHECK enum stn_status onednn_task_reorder(struct onednn_engine *engine,
                                                   const dnnl_memory_desc_t *from,
                                                   const dnnl_memory_desc_t *to, bool add,
                                                   struct onednn_task *out);

// oneDNN's C functions take addresses without const, also of what they only read.
static inline void *onednn_address(const void *p)
{
    union {
        const void *in;
        void *out;
    } u = {.in = p};
    return u.out;
}

// ---- makers, one file each ---------------------------------------------------------------------

enum stn_status onednn_conv_create(void *engine, const struct kernel_conv *,
                                   struct kernel_op **out);
enum stn_status onednn_fc_create(void *engine, const struct kernel_fc *, struct kernel_op **out);

#endif
