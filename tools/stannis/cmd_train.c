// SPDX-License-Identifier: Apache-2.0
// stannis train: options to a configuration, observers around a run, a report after it.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "nodes.h"
#include "places.h"
#include "report/format.h"
#include "rig/starter.h"
#include "stannis/stannis.h"
#include "stop.h"
#include "verb.h"
#include "watch.h"

struct train {
    struct stn_settings settings;
    bool stop_announced;
    bool leads; // one node, or the first of several: it alone shows, saves and reports
};

static const struct command command = {
    .verb = STN_VERB_TRAIN,
    .summary = "Trains a network and saves it.",
    .about = "Ctrl-C (or SIGTERM) finishes the step, saves and exits with 130; a second\n"
             "Ctrl-C exits at once. A resumed run gives bit for bit what an uninterrupted one\n"
             "gives with the same seed and threads.",
    .examples = "  stannis train --net lenet --data fashion-mnist --epochs 3\n"
                "  stannis train --net mobilenet_v2 --data folder:photos --image-size 128\n"
                "  stannis train --resume last\n"
                "  stannis train --net mobilenet_v2 --data folder:photos \\\n"
                "      --emulate host=1.0,csd*3=0.25\n"
                "  mpirun -np 4 stannis train --net lenet --data fashion-mnist --split 5,1,1,1\n"
                "  stannis train --net lenet --data synthetic:1000 --steps 20 --progress json",
};

// ---- checking ----------------------------------------------------------------------------------

// A checkpoint knows its network and its data.
static enum stn_status check_subject(const struct settings *settings)
{
    enum stn_status status = STN_OK;
    if (!settings->resume) {
        status = verb_require(&command, "net", settings->net, "lenet");
        if (status == STN_OK) {
            status = verb_require(&command, "data", settings->data, "fashion-mnist");
        }
    }
    return status == STN_OK && settings->net ? verb_check_net(settings->net) : status;
}

static enum stn_status check_options(struct train *o, struct places *places)
{
    struct settings *settings = &o->settings.values;
    enum stn_status status = check_subject(settings);
    if (status == STN_OK && settings->dry_run && !nodes_wanted(settings)) {
        status = stn_fail(STN_ERR_INVALID, "--dry-run needs --emulate, --hosts or --cluster");
    }
    if (status == STN_OK) {
        status = nodes_check_interfere(settings->interfere);
    }
    if (status == STN_OK && o->leads) {
        status = places_settle(settings, places);
    }
    if (status == STN_OK && settings->report) {
        status = report_check_path(settings->report);
    }
    return status;
}

// ---- the end -----------------------------------------------------------------------------------

static enum stn_status write_reports(const struct watch *w, const struct train *o,
                                     enum stn_status ended, const struct stn_train_result *result)
{
    char path[PATH_MAX];
    enum stn_status status = places_join(o->settings.values.out, "report.json", path, sizeof(path));
    if (status == STN_OK) {
        status = report_write(w->report, path, ended, result);
    }
    if (status == STN_OK && o->settings.values.report) {
        status = report_write(w->report, o->settings.values.report, ended, result);
    }
    return status;
}

static void print_summary(const struct train *o, enum stn_status ended,
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
        printf("interrupted; continue with --resume %s/last.safetensors\n", o->settings.values.out);
    } else {
        printf("best validation accuracy %s: %s/best.safetensors\n",
               report_percent(&best, r->best_accuracy), o->settings.values.out);
    }
}

static enum stn_status train(struct train *o)
{
    const struct settings *settings = &o->settings.values;
    struct watch watchers = {0};
    struct stn_session *session = NULL;
    o->stop_announced = !o->leads;
    enum stn_status status = STN_OK;
    if (o->leads) {
        status = watch_start(&watchers, (enum watch_mode)settings->progress, settings->events,
                             settings->resume != NULL);
    }
    if (status != STN_OK) {
        goto out_stop;
    }
    stop_catch_signals();
    struct stn_train_observer observer = report_fanout_observer(&watchers.fanout);
    observer.stop_requested = stop_requested;
    observer.stop_context = &o->stop_announced;
    struct stn_train_result result = {0};
    status = verb_open_session(false, &session);
    if (status == STN_OK) {
        status = stn_train_run(session, &o->settings, &observer, &result);
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
static enum stn_status train_as_node(struct train *o)
{
    char *text = NULL;
    struct settings *settings = &o->settings.values;
    enum stn_status status = o->leads ? nodes_text(settings, &text) : STN_OK;
    settings->cluster_text = text;
    settings->cluster = NULL;
    if (status == STN_OK && settings->interfere) {
        status = rig_starter_begin(); // before MPI and threads are there
    }
    if (status == STN_OK) {
        status = train(o);
    }
    rig_starter_end();
    free(text);
    return status;
}

static enum stn_status run(const struct verb_call *call)
{
    struct comm_launch launch = comm_launch_detect();
    struct train o = {.settings = call->settings, .leads = launch.rank == 0};
    struct places places;
    const struct settings *settings = &o.settings.values;
    enum stn_status status = check_options(&o, &places);
    if (status != STN_OK) {
        return status;
    }
    bool start_nodes = !launch.launched && nodes_wanted(settings);
    return start_nodes ? nodes_launch(settings, call->whole) : train_as_node(&o);
}

const struct verb verb_train = {&command, run, true, NULL, NULL};
