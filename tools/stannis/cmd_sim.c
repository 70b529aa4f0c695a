// SPDX-License-Identifier: Apache-2.0
// stannis sim: what a cluster would do, on virtual nodes in virtual time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic_file.h"
#include "base/number.h"
#include "cluster/cluster.h"
#include "objective.h"
#include "paper_view.h"
#include "sim/energy.h"
#include "sim_view.h"
#include "stannis/stannis.h"
#include "verb.h"

// What is simulated: what the user says, and what follows from it and the network.
struct simulation {
    struct stn_settings settings;
    struct sim_config config;
    struct plan_objective objective; // that the config names
    int64_t phase_begins[SIM_PHASES_MAX];
};

static const struct command command = {
    .verb = STN_VERB_SIM,
    .summary = "Simulates a training on virtual nodes, in virtual time.",
    .about = "The planning and re-planning code is the real one; nodes are step times\n"
             "fixed + each·images with noise and loads, gradients a ring over the slowest\n"
             "link. docs/decisions/0017 says what is left out.\n"
             "\n"
             "A cluster file:\n"
             "  nodes:\n"
             "    - name: host\n"
             "      device: xeon-4108                      # a profile, or its speed:\n"
             "    - name: box\n"
             "      speed: {fixed_s: 0.05, each_s: 0.02}   # seconds of a step, and an image\n"
             "    - name: csd\n"
             "      device: newport\n"
             "      count: 36\n"
             "Further keys: share, max_batch, memory, private, private_samples, noise,\n"
             "noise_memory, spikes, spike_factor, link, per_host, fails_at, loads (from, to,\n"
             "slowdown, shape, period, on). It may be the file of a training: host and\n"
             "threads are passed over, cpus is a share of the device.",
    .examples = "  stannis sim --cluster rack.yaml --net mobilenet_v2 --plot sim.svg\n"
                "  stannis sim --emulate host=1,csd*3=0.25 --device xeon-4108 \\\n"
                "      --net mobilenet_v2 --interfere host@20-40:75% --policy static\n"
                "  stannis sim --cluster rack.yaml --net mobilenet_v2 --objective energy \\\n"
                "      --min-speed 60\n"
                "  stannis sim --paper hypertune",
};

// ---- the scene ---------------------------------------------------------------------------------

static enum stn_status add_shares(const struct settings *s, const struct sim_scene_config *config,
                                  struct sim_scene *scene)
{
    struct cluster cluster;
    enum stn_status status = cluster_parse_emulate(s->emulate, &cluster);
    if (status != STN_OK) {
        return status;
    }
    for (int i = 0; i < cluster.count && status == STN_OK; i++) {
        const struct cluster_node *node = &cluster.nodes[i];
        status = sim_scene_add(scene, config, node->name, s->device, node->cpus, "--device");
    }
    cluster_fini(&cluster);
    return status;
}

static enum stn_status make_scene(const struct settings *s, const struct sim_scene_config *config,
                                  struct sim_scene *scene)
{
    enum stn_status status =
        s->cluster ? sim_scene_load(s->cluster, config, scene) : add_shares(s, config, scene);
    if (status == STN_OK && s->interfere) {
        status = sim_scene_interfere(scene, s->interfere);
    }
    if (status == STN_OK && s->trace) {
        status = sim_scene_trace(scene, s->trace);
    }
    return status;
}

static enum stn_status load_devices(const struct settings *s, struct sim_devices *devices)
{
    enum stn_status status = sim_devices_add_builtin(devices);
    if (status == STN_OK && s->devices) {
        status = sim_devices_add_file(devices, s->devices);
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

static enum stn_status show(const struct settings *s, const struct sim_view *view)
{
    enum stn_status status = STN_OK;
    if (s->json) {
        status = verb_print_json(sim_view_json(view));
    } else {
        sim_view_print(view);
    }
    if (status == STN_OK && s->report) {
        status = write_report(view, s->report);
    }
    if (status == STN_OK && s->plot) {
        status = sim_view_plot(view, s->plot);
    }
    return status;
}

// The watts of all nodes, for plans that want them.
static enum stn_status take_objective(const struct settings *settings, struct sim_scene *scene,
                                      struct plan_objective *objective, struct sim_config *config)
{
    struct plan_objective said;
    const struct plan_objective *wanted;
    struct sim_cluster cluster = sim_scene_cluster(scene);
    enum stn_status status = objective_of(settings, &said, &wanted);
    if (status == STN_OK && wanted) {
        status = sim_energy_objective(&cluster, scene->powers, &scene->arena, wanted, objective);
        config->objective = objective;
    }
    return status;
}

static enum stn_status simulate(const struct simulation *o, const struct sim_scene *scene)
{
    const struct settings *settings = &o->settings.values;
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
        const struct sim_view view = {.net = settings->net,
                                      .scene = scene,
                                      .config = &o->config,
                                      .result = &result,
                                      .history = history,
                                      .cpu_s = settings->timing ? run_s : 0.0};
        status = show(settings, &view);
        sim_result_fini(&result);
    }
    free(history);
    return status;
}

// ---- the verb ----------------------------------------------------------------------------------

static enum stn_status check(const struct settings *s)
{
    if ((s->cluster != NULL) + (s->emulate != NULL) + (s->paper != NULL) != 1) {
        return stn_fail(
            STN_ERR_INVALID,
            "sim: --cluster FILE, --emulate SPEC or --paper NAME is needed, one of them; for "
            "example: --emulate host=1,csd*3=0.25 --device xeon-4108");
    }
    if (s->emulate && !s->device) {
        return stn_fail(STN_ERR_INVALID, "sim: --emulate and --device go together: shares of what");
    }
    if (s->device && s->paper) {
        return stn_fail(STN_ERR_INVALID, "sim: --device goes with --emulate or --cluster");
    }
    if (s->paper) {
        return STN_OK;
    }
    enum stn_status status = verb_require(&command, "net", s->net, "mobilenet_v2");
    return status == STN_OK ? verb_check_net(s->net) : status;
}

static enum stn_status read_phases(struct simulation *o)
{
    const char *phases = o->settings.values.phases;
    char *copy = strdup(phases), *rest = copy;
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
                           phases, SIM_PHASES_MAX - 1);
}

static struct sim_config config_of(const struct settings *s)
{
    struct sim_config config = sim_defaults();
    config.policy = hypertune_policy_of(s->policy);
    config.micro_batch = s->micro_batch;
    config.public_samples = s->samples;
    config.epochs = s->epochs;
    config.steps = s->steps;
    config.overlap = s->sim_overlap;
    config.step_fixed_s = s->overhead;
    config.failure = (enum sim_failure)s->on_failure;
    config.timeout_s = s->timeout;
    config.restart_s = s->restart;
    config.checkpoint_steps = s->checkpoint_steps;
    config.seed = s->seed;
    config.clock_s = s->timing ? cpu_s : NULL;
    return config;
}

// What follows from the network.
static enum stn_status complete(struct simulation *o, size_t *needed_bytes)
{
    const struct settings *s = &o->settings.values;
    const struct stn_model_info *model = stn_model_find(s->net);
    struct stn_model_cost cost;
    struct sim_config *config = &o->config;
    if (config->micro_batch == 0) {
        config->micro_batch = model->default_micro_batch;
    }
    if (s->batch % config->micro_batch != 0) {
        return stn_fail(STN_ERR_INVALID, "--batch %d: must be whole micro-batches of %d images",
                        s->batch, config->micro_batch);
    }
    const struct stn_model_shape shape = {.image_size = s->image_size ? s->image_size
                                                                      : model->default_image_size,
                                          .channels = 3,
                                          .classes = s->classes};
    enum stn_status status = stn_model_measure(model, shape, config->micro_batch, &cost);
    if (status == STN_OK) {
        config->micro_batches = s->batch / config->micro_batch;
        config->gradient_bytes = (double)cost.parameters * (s->wire == SETTINGS_FP32 ? 4 : 2);
        // Two copies of weights and momentum, and gradients.
        *needed_bytes = cost.activation_bytes + (size_t)cost.parameters * 5 * sizeof(float);
    }
    return status;
}

static enum stn_status run_on_scene(struct simulation *o, size_t needed_bytes)
{
    const struct settings *s = &o->settings.values;
    struct sim_devices devices = {0};
    struct sim_scene scene = {0};
    const struct sim_scene_config config = {.devices = &devices,
                                            .net = s->net,
                                            .micro_batch = o->config.micro_batch,
                                            .needed_bytes = needed_bytes,
                                            .noise = s->sim_noise,
                                            .device = s->device};
    enum stn_status status = load_devices(s, &devices);
    if (status == STN_OK) {
        status = make_scene(s, &config, &scene);
    }
    if (status == STN_OK) {
        status = take_objective(s, &scene, &o->objective, &o->config);
    }
    if (status == STN_OK) {
        status = simulate(o, &scene);
    }
    sim_scene_fini(&scene);
    sim_devices_fini(&devices);
    return status;
}

static enum stn_status run(const struct verb_call *call)
{
    struct simulation o = {.settings = call->settings};
    size_t needed_bytes = 0;
    const struct settings *s = &o.settings.values;
    o.config = config_of(s);
    enum stn_status status = check(s);
    if (status == STN_OK && s->paper) {
        return paper_run(&(struct paper_options){
            .paper = s->paper, .report = s->report, .plot = s->plot, .json = s->json});
    }
    if (status == STN_OK && s->phases) {
        status = read_phases(&o);
    }
    if (status == STN_OK) {
        status = complete(&o, &needed_bytes);
    }
    return status == STN_OK ? run_on_scene(&o, needed_bytes) : status;
}

const struct verb verb_sim = {&command, run, false, NULL, NULL};
