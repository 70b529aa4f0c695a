// SPDX-License-Identifier: Apache-2.0
// stannis models: the networks and what they cost, as a table.
#include <stdio.h>
#include <string.h>

#include "report/format.h"
#include "stannis/stannis.h"
#include "verb.h"

struct models_options {
    struct stn_model_shape shape;
    int micro_batch;
    bool json;
};

#define ROW(...) VERB_ROW(struct models_options, __VA_ARGS__)

static const struct base_option options[] = {
    ROW("image-size", INT, shape.image_size, "N",
        "edge of the images in pixels; by default each network's own", STN_IMAGE_SIZE_MIN,
        STN_IMAGE_SIZE_MAX, NULL),
    ROW("channels", INT, shape.channels, "N", "1 (grey) or 3", 1, 3, NULL),
    ROW("classes", INT, shape.classes, "N", "classes to tell apart", 2, 100000, NULL),
    ROW("micro-batch", INT, micro_batch, "N",
        "images computed at once; by default each network's own", 1, 4096, NULL),
    ROW("json", FLAG, json, NULL, "print one JSON array", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command command = {
    "models", "Lists the networks, their parameters, multiplications and memory.", NULL,
    "MACs: multiply-accumulates of one image's forward pass. Memory: activations and gradients of "
    "one\n"
    "training micro-batch, as planned.\n"
    "\n"
    "Examples\n"
    "  stannis models\n"
    "  stannis models --image-size 28 --channels 1 --classes 10 --json",
    options};

struct row {
    const struct stn_model_info *model;
    struct stn_model_cost cost;
    int image_size;
};

static enum stn_status measure(const struct models_options *o, const struct stn_model_info *model,
                               struct row *row)
{
    struct stn_model_shape shape = o->shape;
    if (shape.image_size == 0) {
        shape.image_size = model->default_image_size;
    }
    *row = (struct row){.model = model, .image_size = shape.image_size};
    return stn_model_measure(
        model, shape, o->micro_batch ? o->micro_batch : model->default_micro_batch, &row->cost);
}

static json_t *describe(const struct models_options *o, const struct row *row)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:b, s:s, s:s?}", "name",
                     row->model->name, "parameters", (json_int_t)row->cost.parameters, "macs",
                     (json_int_t)row->cost.macs, "activation_bytes",
                     (json_int_t)row->cost.activation_bytes, "micro_batch", row->cost.micro_batch,
                     "image_size", row->image_size, "default_image_size",
                     row->model->default_image_size, "classes", o->shape.classes, "batchnorm",
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

static enum stn_status print_table(const struct models_options *o)
{
    int width = name_columns();
    printf("%-*s %11s %7s %9s %11s %6s  %s\n", width, "network", "parameters", "MACs", "memory",
           "micro-batch", "pixels", "defined by");
    for (int i = 0; i < stn_model_count(); i++) {
        struct row row;
        enum stn_status status = measure(o, stn_model_at(i), &row);
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
    printf("\n%d classes, %d channels; images from %d to %d pixels.\n", o->shape.classes,
           o->shape.channels, STN_IMAGE_SIZE_MIN, STN_IMAGE_SIZE_MAX);
    return STN_OK;
}

static enum stn_status print_json(const struct models_options *o)
{
    json_t *list = json_array();
    for (int i = 0; i < stn_model_count(); i++) {
        struct row row;
        enum stn_status status = measure(o, stn_model_at(i), &row);
        if (status != STN_OK) {
            json_decref(list);
            return status;
        }
        json_array_append_new(list, describe(o, &row));
    }
    return verb_print_json(list);
}

static enum stn_status run(int argc, char **argv)
{
    struct models_options o = {.shape = {.channels = 3, .classes = 1000}};
    struct base_option_result parsed;
    bool done;
    enum stn_status status = verb_parse(&command, argc, argv, &o, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    if (o.shape.channels == 2) {
        return stn_fail(STN_ERR_INVALID, "--channels 2: must be 1 or 3");
    }
    return o.json ? print_json(&o) : print_table(&o);
}

const struct verb verb_models = {&command, run, false};
