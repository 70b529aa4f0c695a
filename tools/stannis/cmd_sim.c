// SPDX-License-Identifier: Apache-2.0
// stannis sim: what a cluster would do, on virtual nodes in virtual time.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic_file.h"
#include "base/number.h"
#include "cluster/cluster.h"
#include "paper_view.h"
#include "report/names.h"
#include "sim_view.h"
#include "stannis/stannis.h"
#include "verb.h"

struct sim_options {
    const char *cluster, *emulate, *device, *devices;
    const char *net;
    struct stn_model_shape shape;
    const char *interfere, *trace, *phases;
    int64_t phase_begins[SIM_PHASES_MAX];
    const char *report, *plot, *paper;
    bool json, timing;
    int batch, policy, failure, wire;
    double noise;
    struct sim_config config;
};

static const char *const failures[] = {"stop", "resume", NULL};

#define ROW(...) VERB_ROW(struct sim_options, __VA_ARGS__)

static const struct base_option options[] = {
    HEADING("The virtual cluster"),
    ROW("cluster", TEXT, cluster, "FILE",
        "nodes in YAML, as for train; and their devices or speeds, links, loads", 0, 0, NULL),
    ROW("emulate", TEXT, emulate, "SPEC", "or shares of one device, as host=1,csd*3=0.25", 0, 0,
        NULL),
    ROW("device", TEXT, device, "NAME",
        "which device, with --emulate; with --cluster, of nodes that say none", NO_LIMITS),
    ROW("devices", TEXT, devices, "FILE", "device profiles besides those built in", NO_LIMITS),
    ROW("noise", REAL, noise, "PART", "relative noise of step times, of nodes that do not say", 0,
        1, NULL),
    ROW("paper", TEXT, paper, "NAME",
        "or a paper's experiments, beside what it reports: stannis or hypertune", NO_LIMITS),
    HEADING("What disturbs it"),
    ROW("interfere", TEXT, interfere, "SPEC",
        "NODE@FROM-TO:LOAD[,…]: steps, and 75% of its processor, 4x as slow, or busy*3", 0, 0,
        NULL),
    ROW("trace", TEXT, trace, "FILE",
        "slowdowns as recorded: CSV of step,node,slowdown, or the events of a real run", 0, 0,
        NULL),
    ROW("on-failure", CHOICE, failure, NULL,
        "when a node fails: the run stops, or resumes from its checkpoint without it", 0, 0,
        failures),
    ROW("checkpoint-steps", INT64, config.checkpoint_steps, "N",
        "steps between checkpoints, besides those after epochs (0: none)", 0, INFINITY, NULL),
    ROW("timeout", REAL, config.timeout_s, "SECONDS", "until a lost node is noticed", 0, 1e6, NULL),
    ROW("restart", REAL, config.restart_s, "SECONDS", "from there until the others compute again",
        0, 1e6, NULL),
    HEADING("The training"),
    ROW("net", TEXT, net, "NAME", "the network; \"stannis models\" lists them", NO_LIMITS),
    ROW("image-size", INT, shape.image_size, "N",
        "edge of the images in pixels; by default the network's", STN_IMAGE_SIZE_MIN,
        STN_IMAGE_SIZE_MAX, NULL),
    ROW("classes", INT, shape.classes, "N", "classes to tell apart", 2, 100000, NULL),
    ROW("policy", CHOICE, policy, NULL, "who computes how much", 0, 0, report_policy_names),
    ROW("batch", INT, batch, "N", "images a step; by default the policy's choice", 1, INT_MAX,
        NULL),
    ROW("micro-batch", INT, config.micro_batch, "N",
        "images computed at once; by default the network's", 1, 4096, NULL),
    ROW("samples", INT64, config.public_samples, "N", "public samples of an epoch", 0, 1e12, NULL),
    ROW("epochs", INT, config.epochs, "N", "epochs", 1, 1000000, NULL),
    ROW("steps", INT64, config.steps, "N", "end after so many steps (0: no limit)", 0, INFINITY,
        NULL),
    ROW("wire", CHOICE, wire, NULL, "how gradients travel", 0, 0, report_wire_names),
    ROW("overlap", REAL, config.overlap, "PART",
        "of the last micro-batch's time during which gradients leave", 0, 1, NULL),
    ROW("overhead", REAL, config.step_fixed_s, "SECONDS",
        "of every step on all nodes: optimizer, statistics, barrier", 0, 1e6, NULL),
    ROW("seed", SEED, config.seed, "N", "of the noise; the same seed gives the same run", 0, 0,
        NULL),
    HEADING("Output"),
    ROW("report", TEXT, report, "FILE", "everything as JSON", NO_LIMITS),
    ROW("plot", TEXT, plot, "FILE", "speed over the steps as SVG, with times under load shaded", 0,
        0, NULL),
    ROW("phases", TEXT, phases, "STEPS",
        "speeds from each of these steps on, as 21,41; by default where loads come and go", 0, 0,
        NULL),
    ROW("timing", FLAG, timing, NULL,
        "how long simulating and deciding took, which differs from run to run", NO_LIMITS),
    ROW("json", FLAG, json, NULL, "print one JSON object instead of a table", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command command = {
    "sim", "Simulates a training on virtual nodes, in virtual time.", NULL,
    "The planning and re-planning code is the real one; nodes are step times fixed + each·images\n"
    "with noise and loads, gradients a ring over the slowest link. docs/decisions/0017 says what\n"
    "is left out.\n"
    "\n"
    "A cluster file:\n"
    "  nodes:\n"
    "    - name: host\n"
    "      device: xeon-4108                      # a profile, or its speed:\n"
    "    - name: box\n"
    "      speed: {fixed_s: 0.05, each_s: 0.02}   # seconds of a step, and of an image\n"
    "    - name: csd\n"
    "      device: newport\n"
    "      count: 36\n"
    "Further keys: share, max_batch, memory, private, private_samples, noise, noise_memory, "
    "spikes,\n"
    "spike_factor, link, per_host, fails_at, loads (from, to, slowdown, shape, period, on). It may "
    "be\n"
    "the file of a training: host and threads are passed over, cpus is a share of the device.\n"
    "\n"
    "Examples\n"
    "  stannis sim --cluster rack.yaml --net mobilenet_v2 --report sim.json --plot sim.svg\n"
    "  stannis sim --emulate host=1,csd*3=0.25 --device xeon-4108 --net mobilenet_v2 \\\n"
    "      --interfere host@20-40:75% --policy static\n"
    "  stannis sim --paper hypertune",
    options};

// ---- the scene ---------------------------------------------------------------------------------

static enum stn_status add_shares(const struct sim_options *o,
                                  const struct sim_scene_config *config, struct sim_scene *scene)
{
    struct cluster cluster;
    enum stn_status status = cluster_parse_emulate(o->emulate, &cluster);
    if (status != STN_OK) {
        return status;
    }
    for (int i = 0; i < cluster.count && status == STN_OK; i++) {
        const struct cluster_node *node = &cluster.nodes[i];
        status = sim_scene_add(scene, config, node->name, o->device, node->cpus, "--device");
    }
    cluster_fini(&cluster);
    return status;
}

static enum stn_status make_scene(const struct sim_options *o,
                                  const struct sim_scene_config *config, struct sim_scene *scene)
{
    enum stn_status status =
        o->cluster ? sim_scene_load(o->cluster, config, scene) : add_shares(o, config, scene);
    if (status == STN_OK && o->interfere) {
        status = sim_scene_interfere(scene, o->interfere);
    }
    if (status == STN_OK && o->trace) {
        status = sim_scene_trace(scene, o->trace);
    }
    return status;
}

static enum stn_status load_devices(const struct sim_options *o, struct sim_devices *devices)
{
    enum stn_status status = sim_devices_add_builtin(devices);
    if (status == STN_OK && o->devices) {
        status = sim_devices_add_file(devices, o->devices);
    }
    return status;
}

// ---- the run -----------------------------------------------------------------------------------

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct watch {
    struct sim_history *history;
    struct sim_view_progress progress;
    const struct sim_config *config;
};

static void on_step(void *context, const struct sim_step *step)
{
    struct watch *watch = context;
    sim_history_add(watch->history, step);
    sim_view_progress_step(&watch->progress, watch->config, step);
}

static enum stn_status write_report(const struct sim_view *view, const char *path)
{
    json_t *object = sim_view_json(view);
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(object);
    if (text == NULL) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for the report", path);
    }
    enum stn_status status = atomic_file_store_line(path, text);
    free(text);
    return status;
}

static enum stn_status show(const struct sim_options *o, const struct sim_view *view)
{
    enum stn_status status = STN_OK;
    if (o->json) {
        status = verb_print_json(sim_view_json(view));
    } else {
        sim_view_print(view);
    }
    if (status == STN_OK && o->report) {
        status = write_report(view, o->report);
    }
    if (status == STN_OK && o->plot) {
        status = sim_view_plot(view, o->plot);
    }
    return status;
}

static enum stn_status simulate(const struct sim_options *o, const struct sim_scene *scene)
{
    struct sim_history *history = calloc(1, sizeof(*history));
    if (history == NULL) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to simulate");
    }
    struct watch watch = {
        .history = history, .progress = sim_view_progress_start(), .config = &o->config};
    const struct sim_observer observer = {.context = &watch, .step = on_step};
    struct sim_cluster cluster = sim_scene_cluster(scene);
    struct sim_result result;
    double begin_s = cpu_s();
    enum stn_status status = sim_run(&cluster, &o->config, &observer, &result);
    double run_s = cpu_s() - begin_s;
    sim_view_progress_end(&watch.progress);
    if (status == STN_OK) {
        const struct sim_view view = {.net = o->net,
                                      .scene = scene,
                                      .config = &o->config,
                                      .result = &result,
                                      .history = history,
                                      .cpu_s = o->timing ? run_s : 0.0};
        status = show(o, &view);
        sim_result_fini(&result);
    }
    free(history);
    return status;
}

// ---- the verb ----------------------------------------------------------------------------------

static enum stn_status check(const struct sim_options *o)
{
    if ((o->cluster != NULL) + (o->emulate != NULL) + (o->paper != NULL) != 1) {
        return stn_fail(
            STN_ERR_INVALID,
            "sim: --cluster FILE, --emulate SPEC or --paper NAME is needed, one of them; for "
            "example: --emulate host=1,csd*3=0.25 --device xeon-4108");
    }
    if (o->emulate && !o->device) {
        return stn_fail(STN_ERR_INVALID, "sim: --emulate and --device go together: shares of what");
    }
    if (o->device && o->paper) {
        return stn_fail(STN_ERR_INVALID, "sim: --device goes with --emulate or --cluster");
    }
    if (o->paper) {
        return STN_OK;
    }
    enum stn_status status = verb_require(&command, "net", o->net, "mobilenet_v2");
    return status == STN_OK ? verb_check_net(o->net) : status;
}

static enum stn_status read_phases(struct sim_options *o)
{
    char *copy = strdup(o->phases), *rest = copy;
    if (copy == NULL) {
        return stn_fail(STN_ERR_NO_MEMORY, "--phases: no memory");
    }
    int64_t previous = 1;
    int count = 0;
    bool good = true;
    for (char *item; good && (item = strsep(&rest, ",")) != NULL; count++) {
        int64_t *begin = &o->phase_begins[count];
        good =
            count < SIM_PHASES_MAX - 1 && base_parse_int64(item, begin) == 0 && *begin > previous;
        previous = good ? *begin : 0;
    }
    free(copy);
    o->config.phase_begins = o->phase_begins;
    o->config.phase_count = count;
    return good ? STN_OK
                : stn_fail(STN_ERR_INVALID,
                           "--phases %.80s: expected rising steps above 1, at most %d, as 21,41",
                           o->phases, SIM_PHASES_MAX - 1);
}

// What follows from the network.
static enum stn_status complete(struct sim_options *o, size_t *needed_bytes)
{
    const struct stn_model_info *model = stn_model_find(o->net);
    struct stn_model_cost cost;
    struct sim_config *config = &o->config;
    if (config->micro_batch == 0) {
        config->micro_batch = model->default_micro_batch;
    }
    if (o->batch % config->micro_batch != 0) {
        return stn_fail(STN_ERR_INVALID, "--batch %d: must be whole micro-batches of %d images",
                        o->batch, config->micro_batch);
    }
    if (o->shape.image_size == 0) {
        o->shape.image_size = model->default_image_size;
    }
    enum stn_status status = stn_model_measure(model, o->shape, config->micro_batch, &cost);
    if (status == STN_OK) {
        config->policy = hypertune_policy_of((enum stn_policy)o->policy);
        config->failure = (enum sim_failure)o->failure;
        config->clock_s = o->timing ? cpu_s : NULL;
        config->micro_batches = o->batch / config->micro_batch;
        config->gradient_bytes = (double)cost.parameters * (o->wire == STN_WIRE_FP32 ? 4 : 2);
        // Weights, gradients and momentum.
        *needed_bytes = cost.activation_bytes + (size_t)cost.parameters * 3 * sizeof(float);
    }
    return status;
}

static enum stn_status run(int argc, char **argv)
{
    struct sim_options o = {.config = sim_defaults(), .shape = {.channels = 3, .classes = 1000}};
    o.config.micro_batch = 0;
    o.config.public_samples = 60000;
    o.config.overlap = 0.5;
    struct base_option_result parsed;
    bool done;
    size_t needed_bytes = 0;
    enum stn_status status = verb_parse(&command, argc, argv, &o, &parsed, &done);
    if (status != STN_OK || done) {
        return status;
    }
    status = check(&o);
    if (status == STN_OK && o.paper) {
        return paper_run(&(struct paper_options){
            .paper = o.paper, .report = o.report, .plot = o.plot, .json = o.json});
    }
    if (status == STN_OK && o.phases) {
        status = read_phases(&o);
    }
    if (status == STN_OK) {
        status = complete(&o, &needed_bytes);
    }
    if (status != STN_OK) {
        return status;
    }
    struct sim_devices devices = {0};
    struct sim_scene scene = {0};
    const struct sim_scene_config config = {.devices = &devices,
                                            .net = o.net,
                                            .micro_batch = o.config.micro_batch,
                                            .needed_bytes = needed_bytes,
                                            .noise = o.noise,
                                            .device = o.device};
    status = load_devices(&o, &devices);
    if (status == STN_OK) {
        status = make_scene(&o, &config, &scene);
    }
    if (status == STN_OK) {
        status = simulate(&o, &scene);
    }
    sim_scene_fini(&scene);
    sim_devices_fini(&devices);
    return status;
}

const struct verb verb_sim = {&command, run, false};
