// SPDX-License-Identifier: Apache-2.0
// The backend's table, and the engine behind it.
#include "kernel/onednn/engine.h"

#include <stdio.h>
#include <stdlib.h>

enum stn_status onednn_check(dnnl_status_t status, const char *what)
{
    switch (status) {
    case dnnl_success: return STN_OK;
    case dnnl_out_of_memory:
        return stn_fail(STN_ERR_NO_MEMORY, "oneDNN cannot %s: out of memory", what);
    case dnnl_unimplemented:
        return stn_fail(STN_ERR_UNSUPPORTED,
                        "oneDNN cannot %s: the library has no kernel for this shape and CPU", what);
    default: return stn_fail(STN_ERR_INTERNAL, "oneDNN cannot %s: status %d", what, (int)status);
    }
}

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    switch (isa) {
    case dnnl_cpu_isa_sse41: return "SSE4.1";
    case dnnl_cpu_isa_avx: return "AVX";
    case dnnl_cpu_isa_avx2:
    case dnnl_cpu_isa_avx2_vnni: return "AVX2";
    case dnnl_cpu_isa_all: return "portable";
    default: return "AVX-512";
    }
}

static bool isa_is_avx512(dnnl_cpu_isa_t isa)
{
    return isa != dnnl_cpu_isa_all && (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

static void engine_close(void *opened)
{
    struct onednn_engine *engine = opened;
    for (int lane = 0; engine->streams && lane < engine->team.lanes; lane++) {
        if (engine->streams[lane]) {
            dnnl_stream_destroy(engine->streams[lane]);
        }
    }
    if (engine->dnnl) {
        dnnl_engine_destroy(engine->dnnl);
    }
    free(engine->streams);
    free(engine);
}

static enum stn_status open_streams(struct onednn_engine *engine)
{
    enum stn_status status =
        onednn_check(dnnl_engine_create(&engine->dnnl, dnnl_cpu, 0), "open the CPU");
    for (int lane = 0; lane < engine->team.lanes && !status; lane++) {
        status = onednn_check(
            dnnl_stream_create(&engine->streams[lane], engine->dnnl, dnnl_stream_default_flags),
            "open a stream on the CPU");
    }
    return status;
}

static enum kernel_layout blocked_layout(void)
{
    return isa_is_avx512(dnnl_get_effective_cpu_isa()) ? KERNEL_NCHW16C : KERNEL_NCHW8C;
}

static enum stn_status engine_open(const struct kernel_team *team, void **out)
{
    struct onednn_engine *engine = calloc(1, sizeof(*engine));
    dnnl_stream_t *streams = calloc((size_t)team->lanes, sizeof(*streams));
    if (!engine || !streams) {
        free(engine);
        free(streams);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the oneDNN engine");
    }
    *engine = (struct onednn_engine){.streams = streams, .team = *team};
    const dnnl_version_t *version = dnnl_version();
    snprintf(engine->version, sizeof(engine->version), "oneDNN %d.%d.%d (%s)", version->major,
             version->minor, version->patch, isa_name(dnnl_get_effective_cpu_isa()));
    enum stn_status status = open_streams(engine);
    if (status) {
        engine_close(engine);
        return status;
    }
    *out = engine;
    return STN_OK;
}

static const char *engine_version(const void *opened)
{
    const struct onednn_engine *engine = opened;
    return engine->version;
}

const struct kernel_backend kernel_backend_onednn = {
    .name = "onednn",
    .has_lanes = true,
    .blocked = blocked_layout,
    .open = engine_open,
    .close = engine_close,
    .version = engine_version,
    .conv = onednn_conv_create,
    .fc = onednn_fc_create,
};
