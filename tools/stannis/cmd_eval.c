// SPDX-License-Identifier: Apache-2.0
// stannis eval: loss and accuracy of a checkpoint.
#include <stdio.h>

#include "report/format.h"
#include "report/json.h"
#include "report/names.h"
#include "report/progress.h"
#include "stannis/stannis.h"
#include "verb.h"

struct eval_options {
    struct stn_eval_config config;
    int subset;
    bool json;
};

#define ROW(...) VERB_ROW(struct eval_options, __VA_ARGS__)

static const struct base_option options[] = {
    ROW("checkpoint", TEXT, config.checkpoint, "FILE", "a checkpoint of stannis train", NO_LIMITS),
    ROW("data", TEXT, config.data, "SPEC",
        "what to evaluate on; by default what it was trained with", NO_LIMITS),
    ROW("split", CHOICE, subset, NULL, "which part of the data", 0, 0, report_subset_names),
    ROW("micro-batch", INT, config.micro_batch, "N",
        "images computed at once; by default the network's", 1, 4096, NULL),
    ROW("threads", INT, config.threads, "N",
        "threads that compute; by default from CPU affinity and cgroup quota", 1, 1024, NULL),
    ROW("loader-threads", INT, config.loader_threads, "N",
        "threads that read and decode images; chosen by default", 1, 1024, NULL),
    ROW("backend", TEXT, config.backend, "NAME",
        "onednn or reference; by default the best one built in", NO_LIMITS),
    ROW("skip-bad", FLAG, config.skip_bad, NULL,
        "leave out images that cannot be read, and count them", NO_LIMITS),
    ROW("json", FLAG, json, NULL, "print one JSON object", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command command = {
    "eval", "Measures loss and accuracy of a trained network.", NULL,
    "Examples\n"
    "  stannis eval --checkpoint run/last.safetensors --data fashion-mnist\n"
    "  stannis eval --checkpoint run/best.safetensors --data folder:photos --split val --json",
    options};

static enum stn_status print_result(const struct eval_options *o, const struct stn_eval_result *r)
{
    if (o->json) {
        return verb_print_json(json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:f}", "checkpoint",
                                         report_json_text(o->config.checkpoint), "split",
                                         report_subset_names[o->subset], "images",
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

static enum stn_status evaluate(const struct eval_options *o)
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
        status = stn_eval_run(session, &o->config, &observer, &result);
    }
    report_progress_destroy(progress);
    stn_session_close(session);
    return status == STN_OK ? print_result(o, &result) : status;
}

static enum stn_status run(int argc, char **argv)
{
    struct eval_options o = {.subset = STN_SUBSET_VAL};
    struct base_option_result result;
    bool done;
    enum stn_status status = verb_parse(&command, argc, argv, &o, &result, &done);
    if (status != STN_OK || done) {
        return status;
    }
    o.config.subset = (enum stn_subset)o.subset;
    status = verb_require(&command, "checkpoint", o.config.checkpoint, "run/best.safetensors");
    return status == STN_OK ? evaluate(&o) : status;
}

const struct verb verb_eval = {&command, run, true};
