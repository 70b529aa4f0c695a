// SPDX-License-Identifier: Apache-2.0
// stannis models: the networks and what they cost, as a table.
#include <stdio.h>
#include <string.h>

#include "report/format.h"
#include "stannis/stannis.h"
#include "verb.h"

static const struct command command = {
    .verb = STN_VERB_MODELS,
    .summary = "Lists the networks, their parameters, multiplications and memory.",
    .about = "MACs: multiply-accumulates of one image's forward pass. Memory: activations and\n"
             "gradients of one training micro-batch, as planned.",
    .examples = "  stannis models\n"
                "  stannis models --image-size 28 --channels 1 --classes 10 --json",
};

struct row {
    const struct stn_model_info *model;
    struct stn_model_cost cost;
    int image_size;
};

static enum stn_status measure(const struct settings *s, const struct stn_model_info *model,
                               struct row *row)
{
    struct stn_model_shape shape = {
        .image_size = s->image_size, .channels = s->channels, .classes = s->classes};
    if (shape.image_size == 0) {
        shape.image_size = model->default_image_size;
    }
    *row = (struct row){.model = model, .image_size = shape.image_size};
    return stn_model_measure(
        model, shape, s->micro_batch ? s->micro_batch : model->default_micro_batch, &row->cost);
}

static json_t *describe(const struct settings *s, const struct row *row)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:b, s:s, s:s?}", "name",
                     row->model->name, "parameters", (json_int_t)row->cost.parameters, "macs",
                     (json_int_t)row->cost.macs, "activation_bytes",
                     (json_int_t)row->cost.activation_bytes, "micro_batch", row->cost.micro_batch,
                     "image_size", row->image_size, "default_image_size",
                     row->model->default_image_size, "classes", s->classes, "batchnorm",
                     row->model->has_batchnorm, "source", row->model->source, "small_input",
                     row->model->small_input_note);
}

static int name_columns(void)
{
    size_t longest = 0;
    for (int i = 0; i < stn_model_count(); i++) {
        size_t length = strlen(stn_model_at(i)->name);
        longest = length > longest ? length : longest;
    }
    return (int)longest;
}

static void print_row(const struct row *row, int width)
{
    struct report_text parameters, macs, memory;
    printf("%-*s %11s %7s %9s %11d %6d  %s\n", width, row->model->name,
           report_count(&parameters, row->cost.parameters),
           report_magnitude(&macs, (double)row->cost.macs),
           report_bytes(&memory, row->cost.activation_bytes), row->cost.micro_batch,
           row->image_size, row->model->source);
}

static enum stn_status print_table(const struct settings *s)
{
    int width = name_columns();
    printf("%-*s %11s %7s %9s %11s %6s  %s\n", width, "network", "parameters", "MACs", "memory",
           "micro-batch", "pixels", "defined by");
    for (int i = 0; i < stn_model_count(); i++) {
        struct row row;
        enum stn_status status = measure(s, stn_model_at(i), &row);
        if (status != STN_OK) {
            return status;
        }
        print_row(&row, width);
    }
    puts("\nBelow 64 pixels");
    for (int i = 0; i < stn_model_count(); i++) {
        const struct stn_model_info *model = stn_model_at(i);
        if (model->small_input_note) {
            printf("%-*s  %s\n", width, model->name, model->small_input_note);
        }
    }
    printf("\n%d classes, %d channels; images from %d to %d pixels.\n", s->classes, s->channels,
           STN_IMAGE_SIZE_MIN, STN_IMAGE_SIZE_MAX);
    return STN_OK;
}

static enum stn_status print_json(const struct settings *s)
{
    json_t *list = json_array();
    for (int i = 0; i < stn_model_count(); i++) {
        struct row row;
        enum stn_status status = measure(s, stn_model_at(i), &row);
        if (status != STN_OK) {
            json_decref(list);
            return status;
        }
        json_array_append_new(list, describe(s, &row));
    }
    return verb_print_json(list);
}

static enum stn_status run(const struct verb_call *call)
{
    const struct settings *s = &call->settings.values;
    if (s->channels == 2) {
        return stn_fail(STN_ERR_INVALID, "--channels 2: must be 1 or 3");
    }
    return s->json ? print_json(s) : print_table(s);
}

const struct verb verb_models = {&command, run, false, NULL, NULL};
