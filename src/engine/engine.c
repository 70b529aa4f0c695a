// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "base/setting_mark.h"
#include "base/suggest.h"
#include "engine/memory.h"

enum { NAMES_MAX = 32, THREADS_MAX = 1024 };

enum stn_status engine_open(const char *backend, int threads, size_t state_bytes, size_t memory,
                            const struct nn_net_config *net, struct engine *out)
{
    *out = (struct engine){.cpu = base_cpu_share()};
    if (threads < 0 || threads > THREADS_MAX) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "threads %d: must be from 0 (all we may use) to %d", threads,
                        THREADS_MAX);
    }
    out->threads = threads > 0 ? threads : out->cpu.threads;
    enum stn_status status = kernel_create(backend, out->threads, &out->kernel);
    if (status) {
        return status;
    }
    struct nn_net_config fitting = *net;
    status = engine_memory_settle(out->kernel, &fitting, state_bytes, memory);
    if (!status) {
        status = nn_net_create(out->kernel, &fitting, &out->net);
    }
    if (status) {
        out->net = NULL;
        engine_close(out);
    }
    return status;
}

void engine_close(struct engine *engine)
{
    nn_net_destroy(engine->net);
    kernel_destroy(engine->kernel);
    engine->net = NULL;
    engine->kernel = NULL;
}

struct descent {
    const struct nn_net *net;
    const struct optim *optim;
    struct optim_move move;
    struct optim_arrays arrays;
    int lanes;
};

// A lane's part of every tensor.
static void descend(void *context, int lane)
{
    const struct descent *d = context;
    size_t lanes = (size_t)d->lanes, own = (size_t)lane;
    for (int i = 0; i < nn_net_tensor_count(d->net); i++) {
        const struct nn_tensor *w = nn_net_tensor(d->net, i);
        size_t from = w->count * own / lanes, end = w->count * (own + 1) / lanes;
        if (w->kind == NN_PARAMETER) {
            optim_step(d->optim, &d->move, &d->arrays, w->offset + from, end - from, w->decay);
        }
    }
}

void engine_descend(struct engine *engine, const struct optim *optim, int64_t step, double lr,
                    int64_t count)
{
    struct kernel *lanes = kernel_lanes(engine->kernel);
    struct descent d = {
        .net = engine->net,
        .optim = optim,
        .move = {.lr = (float)lr, .scale = 1.0f / (float)count, .step = step},
        .arrays = {.gradient_sums = nn_net_gradient_sums(engine->net),
                   .weights = nn_net_parameters(engine->net),
                   .weights_next = nn_net_next_parameters(engine->net)},
        .lanes = lanes ? kernel_lane_count(lanes) : 1,
    };
    if (lanes) {
        kernel_lanes_run(lanes, descend, &d);
    } else {
        descend(&d, 0);
    }
}

void engine_flip(struct engine *engine, struct optim *optim)
{
    optim_flip(optim);
    nn_net_flip(engine->net);
}

enum stn_status engine_find_model(const char *name, const struct stn_model_info **out)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    char list[256] = "";
    for (int i = 0; i < stn_model_count() && i < NAMES_MAX; i++) {
        names[i] = stn_model_at(i)->name;
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (!name) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "net: which network? There are %s", list);
    }
    *out = stn_model_find(name);
    if (*out) {
        return STN_OK;
    }
    const char *near = base_did_you_mean(name, names);
    return stn_fail(STN_ERR_INVALID, BASE_SETTING "net %s: no such network; %s%s", name,
                    near ? "did you mean " : "there are ", near ? near : list);
}

int engine_loader_threads(int wanted, int threads)
{
    return wanted > 0 ? wanted : threads > 1 ? 2 : 1;
}
