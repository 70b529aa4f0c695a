// SPDX-License-Identifier: Apache-2.0
#include "step/model.h"

#include <assert.h>
#include <math.h>
#include <unistd.h>

#include "comm/comm.h"
#include "engine/memory.h"
#include "optim/optimizer.h"

static const double statistics_momentum = 0.1; // a step

int step_model_threads(const struct settings *settings, const struct crew *nodes)
{
    int asked = settings->threads ? settings->threads : crew_own(nodes)->threads;
    int neighbours = comm_launch_detect().local_size;
    struct base_cpu_share cpu = base_cpu_share();
    if (asked > 0 || neighbours < 2 || cpu.quota > 0.0) {
        return asked;
    }
    int part = (int)sysconf(_SC_NPROCESSORS_ONLN) / neighbours;
    return part < 1 ? 1 : part < cpu.threads ? part : cpu.threads;
}

enum stn_status step_model_open(const struct settings *settings, const struct crew *nodes,
                                const struct stn_model_info *info, struct stn_model_shape shape,
                                struct step_model *out)
{
    assert(info);
    bool exact = settings->exact && settings->wire == SETTINGS_FP32;
    const struct optim_rule *rule = &optim_rules[settings->optimizer];
    const struct optim_settings rates = {.momentum = (float)settings->momentum,
                                         .weight_decay = (float)settings->weight_decay,
                                         .nesterov = settings->nesterov,
                                         .beta2 = (float)settings->beta2,
                                         .epsilon = (float)settings->epsilon};
    const struct nn_net_config net = {
        .model = info,
        .shape = shape,
        .micro_batch = settings->micro_batch,
        .label_smoothing = (float)settings->label_smoothing,
    };
    *out = (struct step_model){.state_bytes =
                                   optim_rule_bytes(rule) + (exact ? ENGINE_EXACT_BYTES : 0)};
    enum stn_status status = engine_open(
        settings->backend, step_model_threads(settings, nodes), out->state_bytes,
        settings->memory ? settings->memory : crew_own(nodes)->memory, &net, &out->engine);
    return status
               ? status
               : optim_create(rule, &rates, nn_net_parameter_count(out->engine.net), &out->optim);
}

void step_model_close(struct step_model *model)
{
    optim_destroy(model->optim);
    engine_close(&model->engine);
    *model = (struct step_model){0};
}

// ---- weights -----------------------------------------------------------------------------------

enum stn_status step_model_begin(struct step_model *model, const struct checkpoint *resumed,
                                 uint64_t seed)
{
    if (resumed) {
        return checkpoint_load(resumed, model->engine.net, model->optim);
    }
    optim_clear(model->optim);
    nn_net_init(model->engine.net, seed);
    return STN_OK;
}

enum stn_status step_model_spread(struct step_model *model, struct crew *nodes)
{
    struct nn_net *net = model->engine.net;
    if (nodes->size == 1) {
        return STN_OK;
    }
    enum stn_status status = comm_broadcast(nodes->comm, COMM_CONTROL, 0, nn_net_parameters(net),
                                            nn_net_parameter_count(net) * sizeof(float));
    nn_net_weights_changed(net);
    return status;
}

void step_model_update(struct step_model *model, int64_t step, double lr, int64_t count)
{
    nn_net_merge_statistics(model->engine.net, (double)count, statistics_momentum);
    engine_descend(&model->engine, model->optim, step, lr, count);
    engine_flip(&model->engine, model->optim);
}

static double array_not_finite(const float values[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return (double)values[i];
        }
    }
    return 0.0;
}

double step_model_not_finite(struct step_model *model)
{
    struct nn_net *net = model->engine.net;
    size_t parameters = nn_net_parameter_count(net);
    double wrong = array_not_finite(nn_net_parameters(net), parameters);
    if (wrong == 0.0) {
        wrong = array_not_finite(nn_net_buffers(net), nn_net_buffer_count(net));
    }
    for (int i = 0; i < optim_rule(model->optim)->does->states && wrong == 0.0; i++) {
        wrong = array_not_finite(optim_state(model->optim, i), parameters);
    }
    return wrong;
}

size_t step_model_memory(const struct step_model *model)
{
    return engine_memory_needed(model->engine.net, model->state_bytes);
}
