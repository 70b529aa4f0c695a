// SPDX-License-Identifier: Apache-2.0
#include "infer/evaluate.h"

#include <string.h>

#include "base/clock.h"
#include "base/setting_mark.h"
#include "checkpoint/checkpoint.h"
#include "engine/engine.h"

static void renormalise(const struct infer_renormalise *r, float *images, int rows)
{
    for (int n = 0; n < rows; n++) {
        for (int c = 0; c < r->channels; c++) {
            for (size_t i = 0; i < r->pixels; i++, images++) {
                *images = *images * r->scale[c] + r->shift[c];
            }
        }
    }
}

static enum stn_status evaluate_micro_batch(const struct infer_evaluation *e,
                                            struct kernel_loss_totals *totals)
{
    const struct stn_train_observer *observer = e->observer;
    if (observer && observer->stop_requested && observer->stop_requested(observer->stop_context)) {
        return STN_ERR_INTERRUPTED;
    }
    struct data_batch *batch;
    enum stn_status status = crew_feed_next(e->feed, &batch);
    if (status) {
        return status;
    }
    if (e->renormalise) {
        renormalise(e->renormalise, batch->images, batch->count);
    }
    if (batch->count > 0) {
        status = nn_net_eval(e->net, batch->images, batch->labels, batch->count, totals);
    }
    crew_feed_release(e->feed, batch);
    return status;
}

// The other nodes are taken to be as far as this one.
static void tell_progress(const struct infer_evaluation *e, const struct crew_feed_step *step,
                          int done)
{
    if (e->observer && e->observer->eval) {
        int64_t part = (step->end - step->begin) * done / step->share.micro_batches;
        e->observer->eval(e->observer->context, step->begin + part, e->feed->samples);
    }
}

enum stn_status infer_evaluate(const struct infer_evaluation *e, struct kernel_loss_totals *totals)
{
    *totals = (struct kernel_loss_totals){0};
    crew_feed_seek(e->feed, 0, 0, 1);
    while (!crew_feed_is_over(e->feed)) {
        struct crew_feed_step step = crew_feed_begin_step(e->feed);
        for (int k = 0; k < step.share.micro_batches; k++) {
            enum stn_status status = evaluate_micro_batch(e, totals);
            if (status) {
                return status;
            }
            tell_progress(e, &step, k + 1);
        }
    }
    return STN_OK;
}

// ---- infer_eval --------------------------------------------------------------------------------

struct evaluator {
    struct checkpoint *checkpoint;
    struct stn_dataset *dataset;
    struct engine engine;
    struct crew_feed feed;
    struct infer_renormalise renormalise;
    bool other_norm;
};

static enum stn_status open_dataset(struct evaluator *v, const struct settings *settings)
{
    const struct checkpoint_meta *meta = checkpoint_meta(v->checkpoint);
    struct stn_dataset_options options = settings_dataset(meta->settings);
    if (settings->data) {
        options.spec = settings->data;
    }
    options.class_names = checkpoint_class_names(v->checkpoint);
    options.class_count = meta->classes;
    enum stn_status status = stn_dataset_open(&options, &v->dataset);
    if (status) {
        return status;
    }
    const struct stn_dataset_info *data = stn_dataset_info(v->dataset);
    if (data->channels != meta->channels) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "data %s has %d channels; %s was trained with %d",
                        options.spec, data->channels, settings->checkpoint, meta->channels);
    }
    if (data->image_size != meta->settings->image_size) {
        return stn_fail(
            STN_ERR_INVALID, BASE_SETTING "data %s has images of %d pixels; %s was trained with %d",
            options.spec, data->image_size, settings->checkpoint, meta->settings->image_size);
    }
    if (data->count[settings->subset] == 0) {
        return stn_fail(STN_ERR_INVALID, BASE_SETTING "data %s: the subset to evaluate is empty",
                        options.spec);
    }
    return STN_OK;
}

// The network expects its own training's normalisation; the data set has applied this data's.
static void plan_renormalise(struct evaluator *v)
{
    const struct checkpoint_meta *meta = checkpoint_meta(v->checkpoint);
    const struct stn_dataset_info *data = stn_dataset_info(v->dataset);
    size_t size = (size_t)data->image_size;
    v->renormalise = (struct infer_renormalise){.channels = data->channels, .pixels = size * size};
    for (int c = 0; c < data->channels; c++) {
        v->renormalise.scale[c] = data->std[c] / meta->std[c];
        v->renormalise.shift[c] = (data->mean[c] - meta->mean[c]) / meta->std[c];
        v->other_norm |= data->std[c] != meta->std[c] || data->mean[c] != meta->mean[c];
    }
}

static enum stn_status open_network(struct evaluator *v, const struct settings *settings)
{
    const struct checkpoint_meta *meta = checkpoint_meta(v->checkpoint);
    const struct nn_net_config net = {
        .model = stn_model_find(meta->settings->net),
        .shape = {.image_size = meta->settings->image_size,
                  .channels = meta->channels,
                  .classes = meta->classes},
        .micro_batch =
            settings->micro_batch > 0 ? settings->micro_batch : meta->settings->micro_batch,
        .label_smoothing = (float)meta->settings->label_smoothing,
        .inference = true,
    };
    enum stn_status status =
        engine_open(settings->backend, settings->threads, 0, 0, &net, &v->engine);
    return status ? status : checkpoint_load(v->checkpoint, v->engine.net, NULL);
}

static enum stn_status open_feed(struct evaluator *v, const struct settings *settings)
{
    const struct stn_dataset_info *data = stn_dataset_info(v->dataset);
    int micro_batch = nn_net_config(v->engine.net)->micro_batch;
    const struct data_source source = {
        .dataset = v->dataset, .sampler = {.count = (uint64_t)data->count[settings->subset]}};
    const struct crew_feed_config feed = {
        .loader = {.subset = settings->subset,
                   .sources = {[DATA_PUBLIC] = source},
                   .augment = DATA_AUGMENT_NONE,
                   .micro_batch = micro_batch,
                   .threads = engine_loader_threads(settings->loader_threads, v->engine.threads),
                   .skip_bad = settings->skip_bad},
        .batch = micro_batch,
    };
    return crew_feed_open(&feed, &v->feed);
}

static enum stn_status evaluator_open(struct evaluator *v, const struct settings *settings)
{
    if (!settings->checkpoint) {
        return stn_fail(STN_ERR_INVALID,
                        BASE_SETTING "checkpoint: which one? For example run/best.safetensors");
    }
    enum stn_status status = settings_check(STN_VERB_EVAL, settings);
    if (!status) {
        status = checkpoint_open(settings->checkpoint, &v->checkpoint);
    }
    if (!status) {
        status = open_dataset(v, settings);
    }
    if (!status) {
        plan_renormalise(v);
        status = open_network(v, settings);
    }
    if (!status) {
        status = open_feed(v, settings);
    }
    return status;
}

static void evaluator_close(struct evaluator *v)
{
    crew_feed_close(&v->feed);
    engine_close(&v->engine);
    stn_dataset_close(v->dataset);
    checkpoint_close(v->checkpoint);
}

static enum stn_status evaluator_run(struct evaluator *v, const struct stn_train_observer *observer,
                                     struct stn_eval_result *out)
{
    const struct infer_evaluation e = {
        .net = v->engine.net,
        .feed = &v->feed,
        .observer = observer,
        .renormalise = v->other_norm ? &v->renormalise : NULL,
    };
    struct kernel_loss_totals totals;
    double begin = base_clock_seconds();
    enum stn_status status = infer_evaluate(&e, &totals);
    if (status) {
        return status;
    }
    double count = totals.count > 0 ? (double)totals.count : 1.0;
    *out = (struct stn_eval_result){
        .images = totals.count,
        .skipped = data_loader_stats(v->feed.loader).skipped,
        .loss = totals.loss_sum / count,
        .accuracy = (double)totals.correct / count,
        .seconds = base_clock_seconds() - begin,
    };
    return STN_OK;
}

enum stn_status infer_eval(const struct settings *settings,
                           const struct stn_train_observer *observer, struct stn_eval_result *out)
{
    struct evaluator v = {0};
    enum stn_status status = evaluator_open(&v, settings);
    if (!status) {
        status = evaluator_run(&v, observer, out);
    }
    evaluator_close(&v);
    return status;
}
