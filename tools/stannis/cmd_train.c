// SPDX-License-Identifier: Apache-2.0
// stannis train: options to a configuration, observers around a run, a report after it.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "nodes.h"
#include "places.h"
#include "report/format.h"
#include "report/names.h"
#include "rig/starter.h"
#include "stannis/stannis.h"
#include "stop.h"
#include "verb.h"
#include "watch.h"

static const char default_out[] = "run";

struct train_options {
    struct stn_train_config config;
    struct nodes_options nodes;
    int schedule, augment, progress, fill, wire, policy;
    bool tune;
    const char *report, *events;
    bool overwrite;
    bool stop_announced;
    bool leads; // one node, or the first of several: it alone shows, saves and reports
};

#define ROW(...) VERB_ROW(struct train_options, __VA_ARGS__)

static const struct base_option options[] = {
    HEADING("What to train on what"),
    ROW("net", TEXT, config.net, "NAME", "the network; \"stannis models\" lists them", NO_LIMITS),
    ROW("data", TEXT, config.data.spec, "SPEC",
        "synthetic[:COUNT], fashion-mnist, idx:DIR, cifar10:DIR or folder:DIR "
        "(train/CLASS/*.jpg|png and val/…)",
        NO_LIMITS),
    ROW("classes", INT, config.data.classes, "N", "classes of synthetic data; 10 by default", 2,
        100000, NULL),
    ROW("image-size", INT, config.data.image_size, "N",
        "edge of the images in pixels; by default the data's own", STN_IMAGE_SIZE_MIN,
        STN_IMAGE_SIZE_MAX, NULL),
    ROW("augment", CHOICE, augment, NULL, "random changes of training images", 0, 0,
        report_augment_names),
    ROW("skip-bad", FLAG, config.skip_bad, NULL,
        "leave out images that cannot be read, and count them", NO_LIMITS),

    HEADING("How long and in which steps"),
    ROW("epochs", INT, config.epochs, "N", "passes over the data", 1, 1000000, NULL),
    ROW("steps", INT64, config.steps, "N",
        "end after N steps if that comes first; by default no limit", 0, INFINITY, NULL),
    ROW("batch", AUTO, config.batch, "N",
        "images a step; by default 128, or what --split or --plan says; auto: the smallest at "
        "which the nodes are efficient, with --lr scaled from 128 to it",
        1, 1000000, NULL),
    ROW("micro-batch", AUTO, config.micro_batch, "N",
        "images computed at once; memory and BatchNorm depend on it; by default the network's "
        "(on several nodes and without BatchNorm less, so that all get some); auto: the fastest, "
        "measured first",
        1, 4096, NULL),
    ROW("seed", SEED, config.seed, "N", "start of all randomness", NO_LIMITS),

    HEADING("How to learn"),
    ROW("lr", REAL, config.lr, "X", "learning rate after warm-up", 0, 1000, NULL),
    ROW("momentum", REAL, config.momentum, "X", "momentum of SGD", 0, 1, NULL),
    ROW("nesterov", FLAG, config.nesterov, NULL, "Nesterov's momentum", NO_LIMITS),
    ROW("weight-decay", REAL, config.weight_decay, "X", "of weights (not of BatchNorm and biases)",
        0, 1, NULL),
    ROW("warmup-epochs", REAL, config.warmup_epochs, "X", "linear warm-up", 0, 1000000, NULL),
    ROW("schedule", CHOICE, schedule, NULL, "how the learning rate falls", 0, 0,
        report_schedule_names),
    ROW("lr-step-epochs", REAL, config.lr_step_epochs, "X",
        "schedule step: epochs between two falls", 0, 1000000, NULL),
    ROW("lr-gamma", REAL, config.lr_gamma, "X", "schedule step: factor of a fall", 0, 1, NULL),
    ROW("label-smoothing", REAL, config.label_smoothing, "X",
        "share of the target spread over all classes", 0, 1, NULL),

    HEADING("On what to run"),
    ROW("threads", INT, config.threads, "N",
        "threads that compute; by default from CPU affinity and cgroup quota", 1, 1024, NULL),
    ROW("loader-threads", INT, config.loader_threads, "N",
        "threads that read and decode images; chosen by default", 1, 1024, NULL),
    ROW("memory", BYTES, config.memory, "SIZE",
        "refuse what does not fit, as 512M or 2G; by default the cgroup's limit or all there is",
        NO_LIMITS),
    ROW("backend", TEXT, config.backend, "NAME",
        "onednn or reference; by default the best one built in", NO_LIMITS),

    HEADING("On several nodes (or under mpirun or srun)"),
    ROW("emulate", TEXT, nodes.emulate, "NODES",
        "nodes of this machine with that many CPUs each, as host=1.0,csd*3=0.25", NO_LIMITS),
    ROW("hosts", TEXT, nodes.hosts, "LIST",
        "start on these hosts over ssh, as server:1,csd1,csd2 (HOST:NODES)", NO_LIMITS),
    ROW("cluster", TEXT, nodes.cluster, "FILE",
        "a YAML file of nodes: name, host, threads, cpus, memory, max_batch, private", NO_LIMITS),
    ROW("split", TEXT, config.split, "LIST",
        "micro-batches of a step for each node, as 12,4,4,4; by default as the policy says. "
        "Several splits, with ';' between, take turns",
        NO_LIMITS),
    ROW("plan", TEXT, config.plan, "FILE",
        "speeds and split from a plan that \"stannis tune --out FILE\" made; by default nodes are "
        "measured first",
        NO_LIMITS),
    ROW("tune", FLAG, tune, NULL,
        "do not measure nodes before the first step: guess their speeds from their CPUs; by "
        "default they are measured",
        NO_LIMITS),
    ROW("tune-seconds", REAL, config.tune_seconds, "X",
        "what measuring a node should take; disturbed ones take up to seven times as long", 0.01,
        3600, NULL),
    ROW("policy", CHOICE, policy, NULL,
        "who computes how much of a step; balanced (the default, or the plan's) and hypertune move "
        "work while training, unless there is a --split",
        0, 0, report_policy_names),
    ROW("efficiency", REAL, config.efficiency, "X", "--batch auto: of the sum of the nodes' speeds",
        0.01, 1, NULL),
    ROW("adjust", REAL, config.adjust, "SECONDS",
        "--policy stannis: C of Algorithm 1, the larger the finer its steps; by default twice the "
        "slowest node's step time",
        0, 1e6, NULL),
    ROW("margin", REAL, config.margin, "X",
        "--policy stannis: E of Algorithm 1: others may take 1/E longer than the slowest node", 0.1,
        1000, NULL),
    ROW("private", TEXT, config.private_dirs, "LIST",
        "NODE=DIR[,NODE=DIR…]: class folders that only this node reads; nothing of them is sent",
        NO_LIMITS),
    ROW("fill", CHOICE, fill, NULL,
        "where private sets differ in size: more public data for nodes with less, or repeat "
        "theirs",
        0, 0, report_fill_names),
    ROW("class-list", TEXT, config.class_list, "FILE",
        "names of all classes, one a line, where the public data do not have them all", NO_LIMITS),
    ROW("wire", CHOICE, wire, NULL, "how gradients travel; they are added up in fp32", 0, 0,
        report_wire_names),
    ROW("exact", FLAG, config.exact, NULL,
        "add up micro-batches in float (as --wire fp16 does too): saves 8 bytes a parameter, but "
        "then weights depend on the split in their last bits, and soon in more; by default exactly",
        NO_LIMITS),
    ROW("overlap", FLAG, config.overlap, NULL,
        "send gradients only once all are computed: to see what sending them earlier, the default, "
        "hides",
        NO_LIMITS),
    ROW("trade", FLAG, config.trade, NULL,
        "each node computes what the split gave it; by default those that are late in a step give "
        "some "
        "of it to those that are early (--policy balanced)",
        NO_LIMITS),
    ROW("timeout", REAL, config.timeout, "SECONDS",
        "a node that is silent for so long is lost, and the run ends", 1, 86400, NULL),
    ROW("interfere", TEXT, config.interfere, "LIST",
        "NODE@FROM-TO:LOAD[,…]: from step FROM to step TO other programs run in this node's share, "
        "gzip*K or busy*K of them. Beside T computing threads K take K/(K+T) of a confined share: "
        "with one thread busy*1 takes a half, busy*3 three quarters",
        NO_LIMITS),
    ROW("ssh", TEXT, nodes.ssh, "COMMAND", "what reaches other hosts instead of ssh", NO_LIMITS),
    ROW("dry-run", FLAG, nodes.dry_run, NULL, "print the mpirun line and do nothing", NO_LIMITS),

    HEADING("HyperTune: balanced and hypertune move work, unless there is a --split"),
    ROW("evidence", REAL, config.adapt.evidence, "X",
        "balanced: deviations of a node's noise that say its speed changed", 1, 1000, NULL),
    ROW("noise", REAL, config.adapt.noise, "X",
        "balanced: noise of step times that every node is granted", 1e-6, 1, NULL),
    ROW("move-cost", REAL, config.adapt.move_cost, "STEPS",
        "balanced: what moving work costs; the gain must be more", 0, 1000000, NULL),
    ROW("move-certainty", REAL, config.adapt.move_certainty, "X",
        "balanced: standard errors of the gain that it must exceed", 0, 1000, NULL),
    ROW("move-gain", REAL, config.adapt.move_gain, "X",
        "balanced: part of a step that it must exceed while speeds only drift (with --no-trade, "
        "0.03 is better)",
        0, 1, NULL),
    ROW("move-horizon", REAL, config.adapt.move_horizon, "STEPS",
        "balanced: the gain counts over so many steps at most", 1, 1000000, NULL),
    ROW("probe-steps", INT64, config.adapt.probe_steps, "N",
        "balanced: a node without work is tried after N steps, then 2N, …", 1, INFINITY, NULL),
    ROW("probe-budget", REAL, config.adapt.probe_budget, "X",
        "balanced: part of the run's time that trials may cost", 1e-6, 1, NULL),
    ROW("rebatch", CHOICE, config.adapt.rebatch, NULL,
        "hypertune: how a slow node's new batch is found", 0, 0, report_rebatch_names),
    ROW("lr-scale", CHOICE, config.adapt.lr_scale, NULL,
        "hypertune: does the learning rate follow the global batch", 0, 0, report_lr_scale_names),
    ROW("decline-weight", REAL, config.adapt.decline_weight, "X",
        "hypertune: w of the decline index", 0, 1, NULL),
    ROW("decline-margin", REAL, config.adapt.decline_margin, "X",
        "hypertune: a step with a larger index is flagged", 0, 1, NULL),
    ROW("decline-steps", INT, config.adapt.decline_steps, "N",
        "hypertune: so many flags in a row end the epoch", 1, 1000, NULL),
    ROW("batch-range", REAL, config.adapt.batch_range, "X",
        "hypertune: by what part of the first a node's batch may change", 0, 0.99, NULL),

    HEADING("What remains"),
    ROW("out", TEXT, config.out_dir, "DIR",
        "for last.safetensors, best.safetensors and report.json", NO_LIMITS),
    ROW("resume", TEXT, config.resume, "FILE",
        "continue from a checkpoint, with its settings, in its folder; \"last\" is "
        "DIR/last.safetensors",
        NO_LIMITS),
    ROW("overwrite", FLAG, overwrite, NULL, "start anew although DIR already holds a training",
        NO_LIMITS),
    ROW("audit", TEXT, config.audit_dir, "DIR",
        "each node writes DIR/NODE.csv on its own disk: which samples it trained with, and when",
        NO_LIMITS),
    ROW("checkpoint-steps", INT64, config.checkpoint_steps, "N",
        "save last.safetensors every N steps too; by default at the end of each epoch only", 0,
        INFINITY, NULL),

    HEADING("What you see"),
    ROW("progress", CHOICE, progress, NULL,
        "auto: a moving line on a terminal, else plain; plain: a line now and then; both on "
        "stderr. json: a JSON "
        "object a line on stdout; none",
        0, 0, watch_mode_names),
    ROW("report", TEXT, report, "FILE", "write the report (one JSON object) here too", NO_LIMITS),
    ROW("events", TEXT, events, "FILE", "a JSON object a line for every step and epoch", NO_LIMITS),
    {NULL, BASE_OPTION_FLAG, 0, NULL, NULL, NO_LIMITS},
};

static const struct base_command command = {
    "train", "Trains a network and saves it.", NULL,
    "Ctrl-C (or SIGTERM) finishes the step, saves and exits with 130; a second Ctrl-C exits at "
    "once.\n"
    "A resumed run gives bit for bit what an uninterrupted one gives with the same seed and "
    "threads.\n"
    "\n"
    "Examples\n"
    "  stannis train --net lenet --data fashion-mnist --epochs 3\n"
    "  stannis train --net mobilenet_v2 --data folder:photos --image-size 128 --epochs 30 "
    "--augment full\n"
    "  stannis train --resume last\n"
    "  stannis train --net mobilenet_v2 --data folder:photos --emulate host=1.0,csd*3=0.25\n"
    "  mpirun -np 4 stannis train --net lenet --data fashion-mnist --split 5,1,1,1\n"
    "  stannis train --net lenet --data synthetic:1000 --steps 20 --progress json --out /tmp/try",
    options};

// ---- checking ----------------------------------------------------------------------------------

// A checkpoint knows its network and its data.
static enum stn_status check_subject(const struct stn_train_config *config)
{
    enum stn_status status = STN_OK;
    if (!config->resume) {
        status = verb_require(&command, "net", config->net, "lenet");
        if (status == STN_OK) {
            status = verb_require(&command, "data", config->data.spec, "fashion-mnist");
        }
    }
    return status == STN_OK && config->net ? verb_check_net(config->net) : status;
}

static enum stn_status check_options(struct train_options *o, struct places *places)
{
    enum stn_status status = check_subject(&o->config);
    if (status == STN_OK && o->nodes.dry_run && !nodes_wanted(&o->nodes)) {
        status = stn_fail(STN_ERR_INVALID, "--dry-run needs --emulate, --hosts or --cluster");
    }
    if (status == STN_OK) {
        status = nodes_check_interfere(o->config.interfere);
    }
    if (status == STN_OK && o->leads) {
        status = places_settle(&o->config, default_out, o->overwrite, places);
    }
    if (status == STN_OK && o->report) {
        status = report_check_path(o->report);
    }
    return status;
}

// ---- the end -----------------------------------------------------------------------------------

static enum stn_status write_reports(const struct watch *w, const struct train_options *o,
                                     enum stn_status ended, const struct stn_train_result *result)
{
    char path[PATH_MAX];
    enum stn_status status = places_join(o->config.out_dir, "report.json", path, sizeof(path));
    if (status == STN_OK) {
        status = report_write(w->report, path, ended, result);
    }
    if (status == STN_OK && o->report) {
        status = report_write(w->report, o->report, ended, result);
    }
    return status;
}

static void print_summary(const struct train_options *o, enum stn_status ended,
                          const struct stn_train_result *r)
{
    struct report_text images, time, speed, best;
    printf("%s images in %s, %s img/s, waiting for data %.1f %%\n",
           report_count(&images, r->images), report_duration(&time, r->seconds),
           report_speed(&speed, r->images_per_second), 100 * r->wait_share);
    if (r->skipped > 0) {
        printf("left out %s bad images\n", report_count(&images, r->skipped));
    }
    if (ended == STN_ERR_INTERRUPTED) {
        printf("interrupted; continue with --resume %s/last.safetensors\n", o->config.out_dir);
    } else {
        printf("best validation accuracy %s: %s/best.safetensors\n",
               report_percent(&best, r->best_accuracy), o->config.out_dir);
    }
}

static enum stn_status train(struct train_options *o)
{
    struct watch watchers = {0};
    struct stn_session *session = NULL;
    o->config.stop_requested = stop_requested;
    o->config.stop_context = &o->stop_announced;
    o->stop_announced = !o->leads;
    enum stn_status status = STN_OK;
    if (o->leads) {
        status = watch_start(&watchers, (enum watch_mode)o->progress, o->events,
                             o->config.resume != NULL);
    }
    if (status != STN_OK) {
        goto out_stop;
    }
    stop_catch_signals();
    struct stn_train_observer observer = report_fanout_observer(&watchers.fanout);
    struct stn_train_result result = {0};
    status = verb_open_session(false, &session);
    if (status == STN_OK) {
        status = stn_train_run(session, &o->config, &observer, &result);
    }
    if (!o->leads || (status != STN_OK && status != STN_ERR_INTERRUPTED)) {
        goto out_stop;
    }
    enum stn_status written = write_reports(&watchers, o, status, &result);
    if (watchers.progress) {
        report_progress_clear(watchers.progress);
        print_summary(o, status, &result);
    }
    if (status == STN_OK) {
        status = written;
    }
out_stop:
    watch_stop(&watchers);
    stn_session_close(session);
    return status;
}

// This process is a node.
static enum stn_status train_as_node(struct train_options *o)
{
    char *text = NULL;
    enum stn_status status = o->leads ? nodes_text(&o->nodes, &text) : STN_OK;
    o->config.cluster = text;
    if (status == STN_OK && o->config.interfere) {
        status = rig_starter_begin(); // before MPI and threads are there
    }
    if (status == STN_OK) {
        status = train(o);
    }
    rig_starter_end();
    free(text);
    return status;
}

static struct train_options defaults(void)
{
    struct train_options o = {.config = stn_train_defaults(), .progress = WATCH_AUTO};
    o.config.out_dir = default_out;
    o.config.batch = 0; // told apart from what a user says
    o.policy = STN_POLICY_DEFAULT;
    o.tune = o.config.tune != STN_TUNE_NEVER;
    o.schedule = (int)o.config.schedule;
    o.augment = (int)o.config.augment;
    return o;
}

static void settle_choices(struct train_options *o)
{
    struct stn_train_config *config = &o->config;
    config->schedule = (enum stn_schedule)o->schedule;
    config->augment = (enum stn_augment)o->augment;
    config->fill = (enum stn_fill)o->fill;
    config->wire = (enum stn_wire)o->wire;
    config->policy = (enum stn_policy)o->policy;
    config->data.seed = config->seed;
    if (!o->tune) {
        config->tune = STN_TUNE_NEVER;
    }
    bool open = config->split || (config->plan && !config->resume); // they say the batch
    if (config->batch == 0 && !open) {
        config->batch = stn_train_defaults().batch;
    }
}

static enum stn_status run(int argc, char **argv)
{
    struct train_options o = defaults();
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
    settle_choices(&o);
    struct comm_launch launch = comm_launch_detect();
    o.leads = launch.rank == 0;
    struct places places;
    status = check_options(&o, &places);
    if (status == STN_OK) {
        bool start_nodes = !launch.launched && nodes_wanted(&o.nodes);
        status = start_nodes ? nodes_launch(&o.nodes, whole, o.config.timeout) : train_as_node(&o);
    }
out_arguments:
    free(whole);
    return status;
}

const struct verb verb_train = {&command, run, true};
