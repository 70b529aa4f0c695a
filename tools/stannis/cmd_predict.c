// SPDX-License-Identifier: Apache-2.0
// stannis predict: the most likely classes of image files, a row each.
#include <stdio.h>

#include "report/format.h"
#include "report/json.h"
#include "stannis/stannis.h"
#include "verb.h"

enum { TOP_MAX = 20, IMAGE_COLUMNS_MAX = 48 };

static const struct command command = {
    .verb = STN_VERB_PREDICT,
    .summary = "Classifies image files (JPEG, PNG).",
    .operands = "IMAGE…",
    .about = "An image that cannot be read gets a line on stderr; the others are still\n"
             "classified.",
    .examples = "  stannis predict --checkpoint run/best.safetensors photo1.jpg photo2.png\n"
                "  stannis predict --checkpoint run/best.safetensors --top 5 --json *.jpg",
};

static enum stn_status print_json_row(const char *image, const struct stn_prediction *predictions,
                                      int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        const struct stn_prediction *p = &predictions[i];
        json_array_append_new(
            list, json_pack("{s:o, s:i, s:o}", "class", report_json_text(p->class_name), "index",
                            p->class_index, "probability", report_json_real(p->probability)));
    }
    return verb_print_json(
        json_pack("{s:o, s:o}", "image", report_json_text(image), "predictions", list));
}

static void print_row(const char *image, int image_columns,
                      const struct stn_prediction *predictions, int count)
{
    printf("%s%*s", image, image_columns - report_columns(image), "");
    for (int i = 0; i < count; i++) {
        struct report_text percent;
        printf("  %s %s", predictions[i].class_name,
               report_percent(&percent, predictions[i].probability));
    }
    putchar('\n');
}

// The widest name that still leaves room for classes.
static int column_width(char **images, int count)
{
    int widest = 0;
    for (int i = 0; i < count; i++) {
        int columns = report_columns(images[i]);
        if (columns > widest && columns <= IMAGE_COLUMNS_MAX) {
            widest = columns;
        }
    }
    return widest;
}

// Goes on after an image that cannot be read, and returns the first failure at the end.
static enum stn_status classify_all(struct stn_predictor *predictor,
                                    const struct settings *settings, char **images, int count)
{
    enum stn_status first_failure = STN_OK;
    int width = column_width(images, count);
    for (int i = 0; i < count; i++) {
        struct stn_prediction predictions[TOP_MAX];
        int found = 0;
        enum stn_status status =
            stn_predictor_classify(predictor, images[i], settings->top, predictions, &found);
        if (status == STN_OK && settings->json) {
            status = print_json_row(images[i], predictions, found);
        } else if (status == STN_OK) {
            print_row(images[i], width, predictions, found);
        } else if (settings->json) {
            enum stn_status printed =
                verb_print_json(json_pack("{s:o, s:s}", "image", report_json_text(images[i]),
                                          "error", stn_status_text(status)));
            status = printed == STN_OK ? status : printed;
        }
        fflush(stdout); // keeps the order of rows and messages when both go to one place
        first_failure = first_failure == STN_OK ? status : first_failure;
    }
    return first_failure;
}

static enum stn_status run(const struct verb_call *call)
{
    enum stn_status status = verb_require(&command, "checkpoint", call->settings.values.checkpoint,
                                          "run/best.safetensors");
    if (status != STN_OK) {
        return status;
    }
    if (call->line.operand_count == 0) {
        return stn_fail(STN_ERR_INVALID, "predict: no image given; see stannis predict --help");
    }
    struct stn_session *session;
    struct stn_predictor *predictor = NULL;
    status = verb_open_session(true, &session);
    if (status == STN_OK) {
        status = stn_predictor_open(session, &call->settings, &predictor);
    }
    if (status == STN_OK) {
        status = classify_all(predictor, &call->settings.values, call->line.operands,
                              call->line.operand_count);
    }
    stn_predictor_close(predictor);
    stn_session_close(session);
    return status;
}

const struct verb verb_predict = {&command, run, true, NULL, NULL};
