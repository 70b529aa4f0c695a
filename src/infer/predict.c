// SPDX-License-Identifier: Apache-2.0
// Classifying single image files with a trained network.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/setting_mark.h"
#include "checkpoint/checkpoint.h"
#include "data/loader.h"
#include "engine/engine.h"
#include "infer/predict.h"

struct stn_predictor {
    struct checkpoint *checkpoint;
    struct engine engine;
    float *image; // [channels][size][size]
    size_t image_bytes;
    double *probabilities; // [classes]
};

static enum stn_status allocate(struct stn_predictor *p, const struct stn_model_shape *shape)
{
    size_t size = (size_t)shape->image_size;
    p->image_bytes = (size_t)shape->channels * size * size * sizeof(float);
    p->image = base_pages_alloc(p->image_bytes);
    p->probabilities = calloc((size_t)shape->classes, sizeof(*p->probabilities));
    if (!p->image || !p->probabilities) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to predict with");
    }
    return STN_OK;
}

static enum stn_status open_all(struct stn_predictor *p, const struct settings *settings)
{
    if (!settings->checkpoint) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "checkpoint: which one? For example run/best.safetensors");
    }
    enum stn_status status = checkpoint_open(settings->checkpoint, &p->checkpoint);
    if (status) {
        return status;
    }
    const struct checkpoint_meta *meta = checkpoint_meta(p->checkpoint);
    const struct nn_net_config net = {
        .model = stn_model_find(meta->settings->net),
        .shape = {.image_size = meta->settings->image_size,
                  .channels = meta->channels,
                  .classes = meta->classes},
        .micro_batch = 1,
        .inference = true,
    };
    status = engine_open(settings->backend, settings->threads, 0, 0, &net, &p->engine);
    if (!status) {
        status = checkpoint_load(p->checkpoint, p->engine.net, NULL);
    }
    if (!status) {
        status = allocate(p, &net.shape);
    }
    return status;
}

enum stn_status infer_predictor_open(const struct settings *settings, struct stn_predictor **out)
{
    *out = NULL;
    struct stn_predictor *p = calloc(1, sizeof(*p));
    if (!p) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to predict with");
    }
    enum stn_status status = settings_check(STN_VERB_PREDICT, settings);
    if (!status) {
        status = open_all(p, settings);
    }
    if (status) {
        infer_predictor_close(p);
        return status;
    }
    *out = p;
    return STN_OK;
}

void infer_predictor_close(struct stn_predictor *predictor)
{
    if (predictor) {
        free(predictor->probabilities);
        base_pages_free(predictor->image, predictor->image_bytes);
        engine_close(&predictor->engine);
        checkpoint_close(predictor->checkpoint);
        free(predictor);
    }
}

static void softmax(const float *logits, int classes, double *out)
{
    double highest = (double)logits[0], sum = 0.0;
    for (int i = 1; i < classes; i++) {
        highest = fmax(highest, (double)logits[i]);
    }
    for (int i = 0; i < classes; i++) {
        out[i] = exp((double)logits[i] - highest);
        sum += out[i];
    }
    for (int i = 0; i < classes; i++) {
        out[i] /= sum;
    }
}

// Index of the largest entry; ties go to the first.
static int largest(const double *values, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++) {
        if (values[i] > values[best]) {
            best = i;
        }
    }
    return best;
}

enum stn_status infer_predictor_classify(struct stn_predictor *predictor, const char *image_path,
                                         int top, struct stn_prediction *out, int *count)
{
    *count = 0;
    if (top < 1) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "top %d: must be at least 1", top);
    }
    const struct checkpoint_meta *meta = checkpoint_meta(predictor->checkpoint);
    struct data_image_look look = {
        .spec = meta->settings->data,
        .channels = meta->channels,
        .size = meta->settings->image_size,
    };
    memcpy(look.mean, meta->mean, sizeof(look.mean));
    memcpy(look.std, meta->std, sizeof(look.std));
    enum stn_status status = data_image_load(image_path, &look, predictor->image);
    const float *logits;
    if (!status) {
        status = nn_net_logits(predictor->engine.net, predictor->image, 1, &logits);
    }
    if (status) {
        return status;
    }
    softmax(logits, meta->classes, predictor->probabilities);
    for (; *count < top && *count < meta->classes; (*count)++) {
        int best = largest(predictor->probabilities, meta->classes);
        out[*count] = (struct stn_prediction){
            .class_index = best,
            .class_name = checkpoint_class_names(predictor->checkpoint)[best],
            .probability = predictor->probabilities[best],
        };
        predictor->probabilities[best] = -1.0; // taken
    }
    return STN_OK;
}
