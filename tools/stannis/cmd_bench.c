// SPDX-License-Identifier: Apache-2.0
// stannis bench: how fast a network trains here, against what the processor could do at best.
#include <stdio.h>

#include "profile_view.h"
#include "report/format.h"
#include "stannis/stannis.h"
#include "verb.h"

struct bench_options {
    struct stn_bench_config config;
    bool json, profile;
    const char *trace;
};

#define ROW(...) VERB_ROW(struct bench_options, __VA_ARGS__)

static const struct base_option options[] = {
    ROW("net", TEXT, config.net, "NAME", "the network; \"stannis models\" lists them", NO_LIMITS),
    ROW("image-size", INT, config.shape.image_size, "N",
        "edge of the images in pixels; by default the network's", STN_IMAGE_SIZE_MIN,
        STN_IMAGE_SIZE_MAX, NULL),
    ROW("channels", INT, config.shape.channels, "N", "1 (grey) or 3", 1, 3, NULL),
    ROW("classes", INT, config.shape.classes, "N", "classes to tell apart", 2, 100000, NULL),
    ROW("batch", INT, config.batch, "N", "images a step; by default two micro-batches", 1, 1000000,
        NULL),
    ROW("micro-batch", AUTO, config.micro_batch, "N",
        "images computed at once; by default the network's; auto: the fastest of 4, 8, 16 and 32",
        1, 4096, NULL),
    ROW("threads", INT, config.threads, "N",
        "threads that compute; by default from CPU affinity and cgroup quota", 1, 1024, NULL),
    ROW("memory", BYTES, config.memory, "SIZE",
        "refuse what does not fit, as 512M or 2G; by default the cgroup's limit or all there is", 0,
        0, NULL),
    ROW("steps", INT, config.steps, "N", "steps that are timed", 1, 1000000, NULL),
    ROW("warmup-steps", INT, config.warmup_steps, "N", "steps before them that are not", 0, 1000000,
        NULL),
    ROW("backend", TEXT, config.backend, "NAME",
        "onednn or reference; by default the best one built in", NO_LIMITS),
    ROW("profile", FLAG, profile, NULL, "show where the time goes, by kind of op and by layer", 0,
        0, NULL),
    ROW("trace", TEXT, trace, "FILE",
        "write a timeline of the calls for chrome://tracing or Perfetto", NO_LIMITS),
    ROW("json", FLAG, json, NULL, "print one JSON object", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command command = {
    "bench", "Measures how fast a network trains on this machine.", NULL,
    "Training steps on made-up images: forward, backward and weight update, no data path. The\n"
    "speed is the median step's; GFLOP/s count multiplications and additions, against the peak\n"
    "measured in the same run.\n"
    "\n"
    "Examples\n"
    "  stannis bench --net mobilenet_v2 --image-size 224 --micro-batch 16 --threads 2\n"
    "  stannis bench --net squeezenet1_1 --json\n"
    "  stannis bench --net mobilenet_v2 --threads 1 --profile --trace trace.json",
    options};

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

static json_t *describe(const struct bench_options *o, const struct stn_bench_result *r)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:I, s:I, "
                     "s:I, s:o, s:s}",
                     "net", o->config.net, "image_size", o->config.shape.image_size, "channels",
                     o->config.shape.channels, "classes", o->config.shape.classes, "batch",
                     r->batch, "micro_batch", r->micro_batch, "threads", r->threads, "steps",
                     r->steps, "backend", r->backend_version, "images_per_second",
                     r->images_per_second, "images_per_second_best", r->images_per_second_best,
                     "gflops", r->gflops, "peak_gflops", r->peak_gflops, "peak_memory",
                     (json_int_t)r->peak_memory, "parameters", (json_int_t)r->parameters, "macs",
                     (json_int_t)r->macs, "micro_batches_tried", describe_trials(&r->trials),
                     "version", STN_VERSION);
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

static void print_human(const struct bench_options *o, const struct stn_bench_result *r)
{
    struct report_text speed, best, parameters, macs, memory;
    double share = r->peak_gflops > 0 ? 100 * r->gflops / r->peak_gflops : 0;
    int size = o->config.shape.image_size;
    printf("%s %d×%d×%d, %d classes, %s parameters, %s MACs an image\n", o->config.net, size, size,
           o->config.shape.channels, o->config.shape.classes,
           report_count(&parameters, r->parameters), report_magnitude(&macs, (double)r->macs));
    print_trials(&r->trials);
    printf("%s, %d thread%s, batch %d in micro-batches of %d, %d steps\n", r->backend_version,
           r->threads, r->threads == 1 ? "" : "s", r->batch, r->micro_batch, r->steps);
    printf("speed     %s img/s (best step %s)\n", report_speed(&speed, r->images_per_second),
           report_speed(&best, r->images_per_second_best));
    printf("compute   %.1f GFLOP/s, %.0f %% of the FMA peak of %.1f\n", r->gflops, share,
           r->peak_gflops);
    printf("memory    %s at most\n", report_bytes(&memory, r->peak_memory));
}

static enum stn_status run(int argc, char **argv)
{
    struct bench_options o = {
        .config = {.shape = {.channels = 3, .classes = 1000}, .steps = 10, .warmup_steps = 2}};
    struct base_option_result parsed;
    bool done;
    enum stn_status status = verb_parse(&command, argc, argv, &o, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    status = verb_require(&command, "net", o.config.net, "mobilenet_v2");
    if (status == STN_OK) {
        status = verb_check_net(o.config.net);
    }
    if (status == STN_OK && o.config.shape.channels == 2) {
        status = stn_fail(STN_ERR_INVALID, "--channels 2: must be 1 or 3");
    }
    if (status != STN_OK) {
        return status;
    }
    if (o.config.shape.image_size == 0) {
        o.config.shape.image_size = stn_model_find(o.config.net)->default_image_size;
    }
    struct stn_bench_result result = {0};
    struct stn_profile *profile = NULL;
    if (o.profile || o.trace) {
        status = stn_profile_create(&profile);
    }
    o.config.profile = profile;
    struct stn_session *session = NULL;
    if (status == STN_OK) {
        status = verb_open_session(true, &session);
    }
    if (status == STN_OK) {
        status = stn_bench_run(session, &o.config, &result);
    }
    if (status == STN_OK && o.json) {
        status = verb_print_json(describe(&o, &result));
    } else if (status == STN_OK) {
        print_human(&o, &result);
    }
    if (status == STN_OK && o.profile) {
        profile_print(profile, o.json ? stderr : stdout);
    }
    if (status == STN_OK && o.trace) {
        status = profile_write_trace(profile, o.trace);
    }
    stn_profile_destroy(profile);
    stn_session_close(session);
    return status;
}

const struct verb verb_bench = {&command, run, true};
