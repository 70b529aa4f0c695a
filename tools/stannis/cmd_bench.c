// SPDX-License-Identifier: Apache-2.0
// stannis bench: how fast a network trains here, against what the processor could do at best.
#include <stdio.h>

#include "profile_view.h"
#include "report/format.h"
#include "stannis/stannis.h"
#include "verb.h"

static const struct command command = {
    .verb = STN_VERB_BENCH,
    .summary = "Measures how fast a network trains on this machine.",
    .about = "Training steps on made-up images: forward, backward and weight update, no data\n"
             "path. The speed is the median step's; GFLOP/s count multiplications and\n"
             "additions, against the peak measured in the same run.",
    .examples = "  stannis bench --net mobilenet_v2 --image-size 224 --micro-batch 16 --threads 2\n"
                "  stannis bench --net squeezenet1_1 --json\n"
                "  stannis bench --net mobilenet_v2 --threads 1 --profile --trace trace.json",
};

// [{"micro_batch": 4, "images_per_second": 50.1}, …], empty unless measured.
static json_t *describe_trials(const struct stn_micro_batch_trials *trials)
{
    json_t *list = json_array();
    for (int i = 0; i < trials->count; i++) {
        json_array_append_new(list,
                              json_pack("{s:i, s:f}", "micro_batch", trials->at[i].micro_batch,
                                        "images_per_second", trials->at[i].images_per_second));
    }
    return list;
}

static json_t *describe(const struct settings *s, const struct stn_bench_result *r)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:I, s:I, "
                     "s:I, s:o, s:s}",
                     "net", s->net, "image_size", s->image_size, "channels", s->channels, "classes",
                     s->classes, "batch", r->batch, "micro_batch", r->micro_batch, "threads",
                     r->threads, "steps", r->steps, "backend", r->backend_version,
                     "images_per_second", r->images_per_second, "images_per_second_best",
                     r->images_per_second_best, "gflops", r->gflops, "peak_gflops", r->peak_gflops,
                     "peak_memory", (json_int_t)r->peak_memory, "parameters",
                     (json_int_t)r->parameters, "macs", (json_int_t)r->macs, "micro_batches_tried",
                     describe_trials(&r->trials), "version", STN_VERSION);
}

static void print_trials(const struct stn_micro_batch_trials *trials)
{
    for (int i = 0; i < trials->count; i++) {
        struct report_text speed;
        printf("micro-batch %2d  %s img/s%s\n", trials->at[i].micro_batch,
               report_speed(&speed, trials->at[i].images_per_second),
               i == trials->best ? "  the fastest" : "");
    }
}

static void print_human(const struct settings *s, const struct stn_bench_result *r)
{
    struct report_text speed, best, parameters, macs, memory;
    double share = r->peak_gflops > 0 ? 100 * r->gflops / r->peak_gflops : 0;
    int size = s->image_size;
    printf("%s %d×%d×%d, %d classes, %s parameters, %s MACs an image\n", s->net, size, size,
           s->channels, s->classes, report_count(&parameters, r->parameters),
           report_magnitude(&macs, (double)r->macs));
    print_trials(&r->trials);
    printf("%s, %d thread%s, batch %d in micro-batches of %d, %d steps\n", r->backend_version,
           r->threads, r->threads == 1 ? "" : "s", r->batch, r->micro_batch, r->steps);
    printf("speed     %s img/s (best step %s)\n", report_speed(&speed, r->images_per_second),
           report_speed(&best, r->images_per_second_best));
    printf("compute   %.1f GFLOP/s, %.0f %% of the FMA peak of %.1f\n", r->gflops, share,
           r->peak_gflops);
    printf("memory    %s at most\n", report_bytes(&memory, r->peak_memory));
}

static enum stn_status bench(const struct stn_settings *settings)
{
    const struct settings *s = &settings->values;
    struct stn_bench_result result = {0};
    enum stn_status status = STN_OK;
    struct stn_profile *profile = NULL;
    if (s->profile || s->trace) {
        status = stn_profile_create(&profile);
    }
    struct stn_session *session = NULL;
    if (status == STN_OK) {
        status = verb_open_session(true, &session);
    }
    if (status == STN_OK) {
        status = stn_bench_run(session, settings, profile, &result);
    }
    if (status == STN_OK && s->json) {
        status = verb_print_json(describe(s, &result));
    } else if (status == STN_OK) {
        print_human(s, &result);
    }
    if (status == STN_OK && s->profile) {
        profile_print(profile, s->json ? stderr : stdout);
    }
    if (status == STN_OK && s->trace) {
        status = profile_write_trace(profile, s->trace);
    }
    stn_profile_destroy(profile);
    stn_session_close(session);
    return status;
}

static enum stn_status run(const struct verb_call *call)
{
    struct stn_settings settings = call->settings;
    struct settings *s = &settings.values;
    enum stn_status status = verb_require(&command, "net", s->net, "mobilenet_v2");
    if (status == STN_OK) {
        status = verb_check_net(s->net);
    }
    if (status == STN_OK && s->channels == 2) {
        status = stn_fail(STN_ERR_INVALID, "--channels 2: must be 1 or 3");
    }
    if (status != STN_OK) {
        return status;
    }
    if (s->image_size == 0) {
        s->image_size = stn_model_find(s->net)->default_image_size;
    }
    return bench(&settings);
}

const struct verb verb_bench = {&command, run, true, NULL, NULL};
