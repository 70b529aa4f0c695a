// SPDX-License-Identifier: Apache-2.0
// The list of networks, and what they cost.
#include "nn/model.h"

#include <string.h>

#include "base/need.h"
#include "nn/net.h"

#define MODEL(word, from, edge, micro_batch, batchnorm, note)                                      \
    {.info = {#word, from, edge, micro_batch, batchnorm, note}, .build = nn_build_##word},
static const struct nn_model models[] = {NN_MODEL_LIST(MODEL)};
#undef MODEL

enum { MODEL_COUNT = sizeof(models) / sizeof(models[0]) };
enum { CLASSES_MOST = 1000000, MICRO_BATCH_MOST = 4096 };

int stn_model_count(void)
{
    return MODEL_COUNT;
}

const struct stn_model_info *stn_model_at(int index)
{
    return index >= 0 && index < MODEL_COUNT ? &models[index].info : NULL;
}

const struct stn_model_info *stn_model_find(const char *name)
{
    for (int i = 0; name && i < MODEL_COUNT; i++) {
        if (strcmp(models[i].info.name, name) == 0) {
            return &models[i].info;
        }
    }
    return NULL;
}

const struct nn_model *nn_model_of(const struct stn_model_info *info)
{
    for (int i = 0; i < MODEL_COUNT; i++) {
        if (&models[i].info == info) {
            return &models[i];
        }
    }
    return NULL;
}

bool nn_image_is_small(const struct nn_graph *g, nn_value image)
{
    return nn_shape(g, image).h < NN_SMALL_IMAGE;
}

// What creating the net does not look at itself.
static enum stn_status check_measured(const struct stn_model_info *model,
                                      const struct stn_model_shape *shape, int micro_batch,
                                      const struct stn_model_cost *out)
{
    static const char call[] = "stn_model_measure";
    enum stn_status status = base_need(model, call, "network");
    if (!status) {
        status = base_need(out, call, "place for the cost");
    }
    if (!status && !nn_model_of(model)) {
        status = stn_fail(STN_ERR_INVALID, "%s: the network is not one of stn_model_at", call);
    }
    if (!status && (shape->classes > CLASSES_MOST || micro_batch > MICRO_BATCH_MOST)) {
        status =
            stn_fail(STN_ERR_INVALID, "%s: %d classes in micro-batches of %d: at most %d in %d",
                     call, shape->classes, micro_batch, CLASSES_MOST, MICRO_BATCH_MOST);
    }
    return status;
}

enum stn_status stn_model_measure(const struct stn_model_info *model, struct stn_model_shape shape,
                                  int micro_batch, struct stn_model_cost *out)
{
    struct kernel *kernel;
    enum stn_status status = check_measured(model, &shape, micro_batch, out);
    if (status == STN_OK) {
        status = kernel_create(NULL, 1, &kernel);
    }
    if (status != STN_OK) {
        return status;
    }
    struct nn_net_config config = {
        .model = model, .shape = shape, .micro_batch = micro_batch, .plan_only = true};
    struct nn_net *net;
    status = nn_net_create(kernel, &config, &net);
    if (status == STN_OK) {
        *out = nn_net_cost(net);
        nn_net_destroy(net);
    }
    kernel_destroy(kernel);
    return status;
}
