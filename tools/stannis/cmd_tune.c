// SPDX-License-Identifier: Apache-2.0
// stannis tune: measures the nodes of a cluster, and shows and keeps the plan that follows.
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "nodes.h"
#include "plan_view.h"
#include "report/plan.h"
#include "report/progress.h"
#include "report/report.h"
#include "stannis/stannis.h"
#include "stop.h"
#include "verb.h"

// Without data of the user's: made up, and so many that they set no limit to the batch.
static const char data_default[] = "synthetic:409600";

struct tune {
    struct stn_settings settings;
    bool stop_announced;
};

static const struct command command = {
    .verb = STN_VERB_TUNE,
    .summary = "Measures the nodes of a cluster and plans who computes how much.",
    .about = "Every node does training steps of a few sizes, with its own data, for some\n"
             "seconds; weights are thrown away. A line through the times gives its fixed time\n"
             "of a step and its time for a micro-batch; from these follows how much each gets\n"
             "so that all finish together. A node that is disturbed is measured again; if that\n"
             "does not help, the table says that it is unsure.",
    .examples = "  stannis tune --net lenet --emulate host=1.0,csd*3=0.25\n"
                "  stannis tune --net lenet --data fashion-mnist --cluster nodes.yaml \\\n"
                "      --batch auto --out plan.json\n"
                "  stannis train --net lenet --data fashion-mnist --cluster nodes.yaml \\\n"
                "      --plan plan.json",
};

static void print_line(void *context, const char *line)
{
    (void)context;
    puts(line);
}

static enum stn_status show(const struct tune *o, const struct stn_plan *plan)
{
    enum stn_status status = STN_OK;
    if (o->settings.values.json) {
        char *text;
        status = stn_plan_text(plan, &text);
        if (status == STN_OK) {
            puts(text);
            free(text);
        }
    } else {
        report_plan_print(plan, print_line, NULL);
    }
    if (status == STN_OK && o->settings.values.out) {
        status = stn_plan_write(plan, o->settings.values.out);
    }
    return status == STN_OK && o->settings.values.plot ? plan_plot(plan, o->settings.values.plot)
                                                       : status;
}

static enum stn_status tune(struct tune *o)
{
    const struct report_progress_options look = report_progress_detect(stderr);
    struct report_progress *progress = report_progress_create(&look);
    if (!progress) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the progress display");
    }
    struct stn_train_observer observer = report_progress_observer(progress);
    observer.tuned = NULL; // the table is a result, and goes to standard output
    observer.stop_requested = stop_requested;
    observer.stop_context = &o->stop_announced;
    o->stop_announced = true;
    stop_catch_signals();
    struct stn_plan *plan = NULL;
    struct stn_session *session;
    enum stn_status status = verb_open_session(false, &session);
    if (status == STN_OK) {
        status = stn_tune_run(session, &o->settings, &observer, &plan);
    }
    report_progress_destroy(progress);
    stn_session_close(session);
    if (status == STN_OK && plan) {
        status = show(o, plan);
    }
    stn_plan_destroy(plan);
    return status;
}

static enum stn_status tune_as_node(struct tune *o, bool leads)
{
    char *text = NULL;
    struct settings *settings = &o->settings.values;
    enum stn_status status = leads ? nodes_text(settings, &text) : STN_OK;
    settings->cluster_text = text;
    settings->cluster = NULL;
    if (status == STN_OK) {
        status = tune(o);
    }
    free(text);
    return status;
}

static enum stn_status check_options(const struct settings *settings)
{
    enum stn_status status = verb_require(&command, "net", settings->net, "mobilenet_v2");
    if (status == STN_OK) {
        status = verb_check_net(settings->net);
    }
    if (status == STN_OK && settings->cache && !settings->out) {
        status =
            stn_fail(STN_ERR_INVALID, "--cache: needs --out FILE, the plan that may be reused");
    }
    if (status == STN_OK && settings->dry_run && !nodes_wanted(settings)) {
        status = stn_fail(STN_ERR_INVALID, "--dry-run needs --emulate, --hosts or --cluster");
    }
    const char *const paths[] = {settings->out, settings->plot};
    for (int i = 0; i < 2 && status == STN_OK; i++) {
        status = paths[i] ? report_check_path(paths[i]) : STN_OK;
    }
    return status;
}

static void settle(struct settings *settings)
{
    if (!settings->data) {
        settings->data = data_default;
        if (settings->image_size == 0) {
            settings->image_size = stn_model_find(settings->net)->default_image_size;
        }
    }
    if (settings->cache) {
        settings->plan = settings->out;
    }
}

static enum stn_status run(const struct verb_call *call)
{
    struct tune o = {.settings = call->settings};
    struct settings *settings = &o.settings.values;
    enum stn_status status = check_options(settings);
    if (status != STN_OK) {
        return status;
    }
    settle(settings);
    struct comm_launch launch = comm_launch_detect();
    bool start_nodes = !launch.launched && nodes_wanted(settings);
    return start_nodes ? nodes_launch(settings, call->whole) : tune_as_node(&o, launch.rank == 0);
}

const struct verb verb_tune = {&command, run, true, NULL, NULL};
