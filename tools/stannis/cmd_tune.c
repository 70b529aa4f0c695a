// SPDX-License-Identifier: Apache-2.0
// stannis tune: measures the nodes of a cluster, and shows and keeps the plan that follows.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "nodes.h"
#include "plan_view.h"
#include "report/names.h"
#include "report/plan.h"
#include "report/progress.h"
#include "report/report.h"
#include "stannis/stannis.h"
#include "stop.h"
#include "verb.h"

// Without data of the user's: made up, and so many that they set no limit to the batch.
static const char data_default[] = "synthetic:409600";

struct tune_options {
    struct stn_train_config config;
    struct nodes_options nodes;
    int augment, policy;
    const char *out, *plot;
    bool cache, json, stop_announced;
};

#define ROW(...) VERB_ROW(struct tune_options, __VA_ARGS__)

static const struct base_option options[] = {
    HEADING("What will be trained"),
    ROW("net", TEXT, config.net, "NAME", "the network; \"stannis models\" lists them", NO_LIMITS),
    ROW("data", TEXT, config.data.spec, "SPEC",
        "as of stannis train; by default synthetic pictures of the network's size", NO_LIMITS),
    ROW("classes", INT, config.data.classes, "N", "classes of synthetic data; 10 by default", 2,
        100000, NULL),
    ROW("image-size", INT, config.data.image_size, "N",
        "edge of the images in pixels; by default the data's own, without --data the network's",
        STN_IMAGE_SIZE_MIN, STN_IMAGE_SIZE_MAX, NULL),
    ROW("augment", CHOICE, augment, NULL, "random changes of training images", 0, 0,
        report_augment_names),
    ROW("batch", AUTO, config.batch, "N",
        "images a step; by default 128; auto: the smallest at which the nodes are efficient", 1,
        1000000, NULL),
    ROW("micro-batch", AUTO, config.micro_batch, "N",
        "images computed at once; by default the network's (without BatchNorm less, so that all "
        "nodes get some); auto: the fastest that fits all nodes",
        1, 4096, NULL),
    ROW("private", TEXT, config.private_dirs, "LIST",
        "NODE=DIR[,NODE=DIR…]: class folders that only this node reads", NO_LIMITS),

    HEADING("Who shall train it"),
    ROW("emulate", TEXT, nodes.emulate, "NODES",
        "nodes of this machine with that many CPUs each, as host=1.0,csd*3=0.25", NO_LIMITS),
    ROW("hosts", TEXT, nodes.hosts, "LIST",
        "start on these hosts over ssh, as server:1,csd1,csd2 (HOST:NODES)", NO_LIMITS),
    ROW("cluster", TEXT, nodes.cluster, "FILE",
        "a YAML file of nodes: name, host, threads, cpus, memory, max_batch, private", NO_LIMITS),
    ROW("threads", INT, config.threads, "N",
        "threads that compute; by default from CPU affinity and cgroup quota", 1, 1024, NULL),
    ROW("memory", BYTES, config.memory, "SIZE",
        "refuse what does not fit, as 512M or 2G; by default the cgroup's limit or all there is",
        NO_LIMITS),
    ROW("backend", TEXT, config.backend, "NAME",
        "onednn or reference; by default the best one built in", NO_LIMITS),
    ROW("timeout", REAL, config.timeout, "SECONDS",
        "a node that is silent for so long is lost, and the run ends", 1, 86400, NULL),
    ROW("ssh", TEXT, nodes.ssh, "COMMAND", "what reaches other hosts instead of ssh", NO_LIMITS),
    ROW("dry-run", FLAG, nodes.dry_run, NULL, "print the mpirun line and do nothing", NO_LIMITS),

    HEADING("How to plan"),
    ROW("tune-seconds", REAL, config.tune_seconds, "X",
        "what measuring a node should take; disturbed ones take up to seven times as long", 0.01,
        3600, NULL),
    ROW("policy", CHOICE, policy, NULL, "who computes how much of a step", 0, 0,
        report_policy_names),
    ROW("efficiency", REAL, config.efficiency, "X", "--batch auto: of the sum of the nodes' speeds",
        0.01, 1, NULL),
    ROW("adjust", REAL, config.adjust, "SECONDS",
        "--policy stannis: C of Algorithm 1, the larger the finer its steps; by default twice the "
        "slowest node's step time",
        0, 1e6, NULL),
    ROW("margin", REAL, config.margin, "X",
        "--policy stannis: E of Algorithm 1: others may take 1/E longer than the slowest node", 0.1,
        1000, NULL),

    HEADING("What remains"),
    ROW("out", TEXT, out, "FILE", "the plan, for stannis train --plan", NO_LIMITS),
    ROW("cache", FLAG, cache, NULL,
        "if FILE of --out has measurements of this network on these nodes, plan from them instead "
        "of measuring again",
        NO_LIMITS),
    ROW("plot", TEXT, plot, "FILE", "a diagram (SVG): speeds of the nodes by batch", NO_LIMITS),
    ROW("json", FLAG, json, NULL, "print the plan as JSON instead of a table", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command command = {
    "tune", "Measures the nodes of a cluster and plans who computes how much.", NULL,
    "Every node does training steps of a few sizes, with its own data, for some seconds; weights "
    "are\n"
    "thrown away. A line through the times gives its fixed time of a step and its time for a\n"
    "micro-batch; from these follows how much each gets so that all finish together. A node that "
    "is\n"
    "disturbed is measured again; if that does not help, the table says that it is unsure.\n"
    "\n"
    "Examples\n"
    "  stannis tune --net mobilenet_v2 --image-size 96 --emulate host=1.0,csd*3=0.25\n"
    "  stannis tune --net lenet --data fashion-mnist --cluster nodes.yaml --batch auto --out "
    "plan.json\n"
    "  stannis train --net lenet --data fashion-mnist --cluster nodes.yaml --plan plan.json",
    options};

static void print_line(void *context, const char *line)
{
    (void)context;
    puts(line);
}

static enum stn_status show(const struct tune_options *o, const struct stn_plan *plan)
{
    enum stn_status status = STN_OK;
    if (o->json) {
        char *text;
        status = stn_plan_text(plan, &text);
        if (status == STN_OK) {
            puts(text);
            free(text);
        }
    } else {
        report_plan_print(plan, print_line, NULL);
    }
    if (status == STN_OK && o->out) {
        status = stn_plan_write(plan, o->out);
    }
    return status == STN_OK && o->plot ? plan_plot(plan, o->plot) : status;
}

static enum stn_status tune(struct tune_options *o)
{
    const struct report_progress_options look = report_progress_detect(stderr);
    struct report_progress *progress = report_progress_create(&look);
    if (!progress) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the progress display");
    }
    struct stn_train_observer observer = report_progress_observer(progress);
    observer.tuned = NULL; // the table is a result, and goes to standard output
    o->config.stop_requested = stop_requested;
    o->config.stop_context = &o->stop_announced;
    o->stop_announced = true;
    stop_catch_signals();
    struct stn_plan *plan = NULL;
    struct stn_session *session;
    enum stn_status status = verb_open_session(false, &session);
    if (status == STN_OK) {
        status = stn_tune_run(session, &o->config, &observer, &plan);
    }
    report_progress_destroy(progress);
    stn_session_close(session);
    if (status == STN_OK && plan) {
        status = show(o, plan);
    }
    stn_plan_destroy(plan);
    return status;
}

static enum stn_status tune_as_node(struct tune_options *o, bool leads)
{
    char *text = NULL;
    enum stn_status status = leads ? nodes_text(&o->nodes, &text) : STN_OK;
    o->config.cluster = text;
    if (status == STN_OK) {
        status = tune(o);
    }
    free(text);
    return status;
}

static enum stn_status check_options(const struct tune_options *o)
{
    enum stn_status status = verb_require(&command, "net", o->config.net, "mobilenet_v2");
    if (status == STN_OK) {
        status = verb_check_net(o->config.net);
    }
    if (status == STN_OK && o->cache && !o->out) {
        status =
            stn_fail(STN_ERR_INVALID, "--cache: needs --out FILE, the plan that may be reused");
    }
    if (status == STN_OK && o->nodes.dry_run && !nodes_wanted(&o->nodes)) {
        status = stn_fail(STN_ERR_INVALID, "--dry-run needs --emulate, --hosts or --cluster");
    }
    const char *const paths[] = {o->out, o->plot};
    for (int i = 0; i < 2 && status == STN_OK; i++) {
        status = paths[i] ? report_check_path(paths[i]) : STN_OK;
    }
    return status;
}

static void settle(struct tune_options *o)
{
    struct stn_train_config *config = &o->config;
    config->augment = (enum stn_augment)o->augment;
    config->policy = (enum stn_policy)o->policy;
    config->data.seed = config->seed;
    if (!config->data.spec) {
        config->data.spec = data_default;
        if (config->data.image_size == 0) {
            config->data.image_size = stn_model_find(config->net)->default_image_size;
        }
    }
    if (o->cache) {
        config->plan = o->out;
        config->plan_optional = true;
    } else if (config->batch == 0) {
        config->batch = STN_BATCH_USUAL;
    }
}

static enum stn_status run(int argc, char **argv)
{
    struct tune_options o = {.config = stn_train_defaults()};
    o.config.batch = 0; // told apart from what a user says
    o.augment = (int)o.config.augment;
    struct base_option_result result;
    bool done;
    char **whole = verb_copy_arguments(argc, argv); // parsing reorders them
    if (!whole) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for %d arguments", argc);
    }
    enum stn_status status = verb_parse(&command, argc, argv, &o, &result, &done);
    if (status != STN_OK || done) {
        goto out_arguments;
    }
    status = check_options(&o);
    if (status != STN_OK) {
        goto out_arguments;
    }
    settle(&o);
    struct comm_launch launch = comm_launch_detect();
    bool start_nodes = !launch.launched && nodes_wanted(&o.nodes);
    status = start_nodes ? nodes_launch(&o.nodes, whole, o.config.timeout)
                         : tune_as_node(&o, launch.rank == 0);
out_arguments:
    free(whole);
    return status;
}

const struct verb verb_tune = {&command, run, true};
