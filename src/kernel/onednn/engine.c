// SPDX-License-Identifier: Apache-2.0
// The backend's table, and the engine behind it.
#include "kernel/onednn/engine.h"

#include <stdio.h>
#include <stdlib.h>

// Below this many floats a pass is over before a second thread is awake.
enum { TEAM_FLOATS_MIN = 4096 };

// 160 pixels of 192 channels are 120 KB: a quarter of a second-level cache.
enum { PIECE_PIXELS_MAX = 160, WHOLE_PIXELS_MAX = 64 };

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
    for (int lane = 0; engine->streams && lane < engine->lanes; lane++) {
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
    for (int lane = 0; lane < engine->lanes && !status; lane++) {
        status = onednn_check(
            dnnl_stream_create(&engine->streams[lane], engine->dnnl, dnnl_stream_default_flags),
            "open a stream on the CPU");
    }
    return status;
}

static enum stn_status engine_open(int threads, int lanes, void **out)
{
    struct onednn_engine *engine = calloc(1, sizeof(*engine));
    dnnl_stream_t *streams = calloc((size_t)lanes, sizeof(*streams));
    if (!engine || !streams) {
        free(engine);
        free(streams);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the oneDNN engine");
    }
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    *engine = (struct onednn_engine){
        .streams = streams,
        .threads = threads,
        .lanes = lanes,
        .native = isa_is_avx512(isa) ? KERNEL_NCHW16C : KERNEL_NCHW8C,
    };
    const dnnl_version_t *version = dnnl_version();
    snprintf(engine->version, sizeof(engine->version), "oneDNN %d.%d.%d (%s)", version->major,
             version->minor, version->patch, isa_name(isa));
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

struct onednn_chunks onednn_chunks_of(struct kernel_tensor t)
{
    int block = kernel_layout_block(t.layout);
    size_t pixels = (size_t)t.shape.h * (size_t)t.shape.w;
    return (struct onednn_chunks){
        .n = t.shape.n,
        .channels = t.shape.c,
        .blocks = (t.shape.c + block - 1) / block,
        .block = block,
        .pixels = pixels,
        .floats = pixels * (size_t)block,
    };
}

// A map has fewer than 2³² pixels, and short divisions are the quick ones.
int onednn_pieces(size_t pixels)
{
    uint32_t pair = 2 * PIECE_PIXELS_MAX;
    return pixels <= WHOLE_PIXELS_MAX ? 1 : (int)(((uint32_t)pixels + pair - 1) / pair * 2);
}

struct onednn_piece onednn_piece_at(size_t pixels, int piece)
{
    uint32_t pieces = (uint32_t)onednn_pieces(pixels), at = (uint32_t)piece;
    uint32_t each = (uint32_t)pixels / pieces, longer = (uint32_t)pixels % pieces;
    return (struct onednn_piece){at * each + (at < longer ? at : longer), each + (at < longer)};
}

int onednn_team(const struct onednn_engine *engine, const struct onednn_chunks *c)
{
    return (size_t)c->n * (size_t)c->blocks * c->floats < TEAM_FLOATS_MIN ? 1 : engine->threads;
}

const struct kernel_backend kernel_backend_onednn = {
    .name = "onednn",
    .has_lanes = true,
    .open = engine_open,
    .close = engine_close,
    .version = engine_version,
    .conv = onednn_conv_create,
    .batchnorm = onednn_batchnorm_create,
    .activate = onednn_activate_create,
    .pool = onednn_pool_create,
    .global_pool = onednn_global_pool_create,
    .fc = onednn_fc_create,
    .add = onednn_add_create,
    .concat = onednn_concat_create,
    .shuffle = onednn_shuffle_create,
    .slice = onednn_slice_create,
    .dropout = onednn_dropout_create,
    .reorder = onednn_reorder_op_create,
};
