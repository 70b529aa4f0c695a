// SPDX-License-Identifier: Apache-2.0
// stannis eval: loss and accuracy of a checkpoint.
#include <stdio.h>

#include "report/format.h"
#include "report/json.h"
#include "report/progress.h"
#include "stannis/stannis.h"
#include "verb.h"

static const struct command command = {
    .verb = STN_VERB_EVAL,
    .summary = "Measures loss and accuracy of a trained network.",
    .examples = "  stannis eval --checkpoint run/last.safetensors --data fashion-mnist\n"
                "  stannis eval --checkpoint run/best.safetensors --data folder:photos --json",
};

static enum stn_status print_result(const struct settings *settings,
                                    const struct stn_eval_result *r)
{
    if (settings->json) {
        return verb_print_json(json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:f}", "checkpoint",
                                         report_json_text(settings->checkpoint), "split",
                                         settings_subset_names[settings->subset], "images",
                                         (json_int_t)r->images, "skipped", (json_int_t)r->skipped,
                                         "loss", report_json_real(r->loss), "accuracy",
                                         report_json_real(r->accuracy), "seconds", r->seconds));
    }
    struct report_text accuracy, images, time, skipped;
    printf("accuracy %s  loss %.4f  %s images in %s", report_percent(&accuracy, r->accuracy),
           r->loss, report_count(&images, r->images), report_duration(&time, r->seconds));
    if (r->skipped > 0) {
        printf("  (%s bad ones left out)", report_count(&skipped, r->skipped));
    }
    putchar('\n');
    return STN_OK;
}

static enum stn_status evaluate(const struct stn_settings *settings)
{
    // Evaluation is short: elsewhere than on a terminal only its result counts.
    struct report_progress_options look = report_progress_detect(stderr);
    struct report_progress *progress = report_progress_create(&look);
    if (!progress) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the progress display");
    }
    struct stn_train_observer observer = report_progress_observer(progress);
    observer.start = NULL;
    struct stn_eval_result result = {0};
    struct stn_session *session;
    enum stn_status status = verb_open_session(true, &session);
    if (status == STN_OK) {
        status = stn_eval_run(session, settings, &observer, &result);
    }
    report_progress_destroy(progress);
    stn_session_close(session);
    return status == STN_OK ? print_result(&settings->values, &result) : status;
}

static enum stn_status run(const struct verb_call *call)
{
    enum stn_status status = verb_require(&command, "checkpoint", call->settings.values.checkpoint,
                                          "run/best.safetensors");
    return status == STN_OK ? evaluate(&call->settings) : status;
}

const struct verb verb_eval = {&command, run, true, NULL, NULL};
