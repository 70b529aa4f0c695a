// SPDX-License-Identifier: Apache-2.0
// Primitives with the memory objects they run on.
#include <assert.h>
#include <stdlib.h>

#include "kernel/onednn/engine.h"

dnnl_format_tag_t onednn_tag(enum kernel_layout layout)
{
    switch (layout) {
    case KERNEL_NCHW8C: return dnnl_nChw8c;
    case KERNEL_NCHW16C: return dnnl_nChw16c;
    case KERNEL_NCHW: break;
    }
    return dnnl_nchw;
}

enum stn_status onednn_tensor_desc(struct kernel_tensor t, dnnl_memory_desc_t *out)
{
    const dnnl_dims_t dims = {t.shape.n, t.shape.c, t.shape.h, t.shape.w};
    return onednn_check(dnnl_memory_desc_init_by_tag(out, 4, dims, dnnl_f32, onednn_tag(t.layout)),
                        "describe a feature map");
}

static enum stn_status bind(struct onednn_engine *engine, const_dnnl_primitive_desc_t desc,
                            const int *args, int arg_count, struct onednn_binding *out)
{
    for (int i = 0; i <= arg_count; i++) {
        int arg = i < arg_count ? args[i] : DNNL_ARG_SCRATCHPAD;
        const dnnl_memory_desc_t *md =
            dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, arg);
        if (arg == DNNL_ARG_SCRATCHPAD && (!md || dnnl_memory_desc_get_size(md) == 0)) {
            break;
        }
        out->args[i].arg = arg;
        enum stn_status status = onednn_check(
            dnnl_memory_create(&out->args[i].memory, md, engine->dnnl, DNNL_MEMORY_NONE),
            "create a memory object");
        if (status) {
            return status;
        }
        out->arg_count = i + 1;
    }
    return STN_OK;
}

static size_t scratch_bytes(const_dnnl_primitive_desc_t desc)
{
    const dnnl_memory_desc_t *md =
        dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, DNNL_ARG_SCRATCHPAD);
    return md ? dnnl_memory_desc_get_size(md) : 0;
}

enum stn_status onednn_task_create(struct onednn_engine *engine, const_dnnl_primitive_desc_t desc,
                                   const int *args, int arg_count, struct onednn_task *out)
{
    assert(arg_count < ONEDNN_TASK_ARGS_MAX);
    *out = (struct onednn_task){
        .bindings = calloc((size_t)engine->team.lanes, sizeof(*out->bindings)),
        .lanes = engine->team.lanes,
        .scratch_bytes = scratch_bytes(desc),
    };
    enum stn_status status =
        out->bindings
            ? onednn_check(dnnl_primitive_create(&out->primitive, desc), "create a primitive")
            : stn_fail(STN_ERR_NO_MEMORY, "no memory for a primitive's arguments");
    for (int lane = 0; lane < engine->team.lanes && !status; lane++) {
        status = bind(engine, desc, args, arg_count, &out->bindings[lane]);
    }
    if (status) {
        onednn_task_destroy(out);
    }
    return status;
}

void onednn_task_destroy(struct onednn_task *task)
{
    for (int lane = 0; task->bindings && lane < task->lanes; lane++) {
        for (int i = 0; i < task->bindings[lane].arg_count; i++) {
            dnnl_memory_destroy(task->bindings[lane].args[i].memory);
        }
    }
    if (task->primitive) {
        dnnl_primitive_destroy(task->primitive);
    }
    free(task->bindings);
    *task = (struct onednn_task){0};
}

enum stn_status onednn_task_run(struct onednn_engine *engine, struct onednn_task *task, int lane,
                                void *const *addresses, void *scratchpad)
{
    struct onednn_binding *own = &task->bindings[lane];
    for (int i = 0; i < own->arg_count; i++) {
        void *address = own->args[i].arg == DNNL_ARG_SCRATCHPAD ? scratchpad : addresses[i];
        if (own->bound[i] == address) {
            continue;
        }
        enum stn_status status = onednn_check(
            dnnl_memory_set_data_handle_v2(own->args[i].memory, address, engine->streams[lane]),
            "bind a buffer");
        if (status) {
            return status;
        }
        own->bound[i] = address;
    }
    return onednn_check(
        dnnl_primitive_execute(task->primitive, engine->streams[lane], own->arg_count, own->args),
        "run a primitive");
}

static enum stn_status reorder_attr(bool add, dnnl_primitive_attr_t *out)
{
    enum stn_status status = onednn_check(dnnl_primitive_attr_create(out), "create attributes");
    if (status) {
        return status;
    }
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t result = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (result == dnnl_success && add) {
        result = dnnl_post_ops_create(&ops);
        if (result == dnnl_success) {
            result = dnnl_post_ops_append_sum(ops, 1.0f);
        }
        if (result == dnnl_success) {
            result = dnnl_primitive_attr_set_post_ops(*out, ops);
        }
    }
    if (ops) {
        dnnl_post_ops_destroy(ops);
    }
    status = onednn_check(result, "set the attributes of a reorder");
    if (status) {
        dnnl_primitive_attr_destroy(*out);
    }
    return status;
}

enum stn_status onednn_task_reorder(struct onednn_engine *engine, const dnnl_memory_desc_t *from,
                                    const dnnl_memory_desc_t *to, bool add, struct onednn_task *out)
{
    dnnl_primitive_attr_t attr;
    enum stn_status status = reorder_attr(add, &attr);
    if (status) {
        return status;
    }
    dnnl_primitive_desc_t desc;
    status = onednn_check(
        dnnl_reorder_primitive_desc_create(&desc, from, engine->dnnl, to, engine->dnnl, attr),
        "plan a reorder of weights");
    dnnl_primitive_attr_destroy(attr);
    if (status) {
        return status;
    }
    static const int args[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    status = onednn_task_create(engine, desc, args, 2, out);
    dnnl_primitive_desc_destroy(desc);
    return status;
}
