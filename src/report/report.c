// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "report/change.h"
#include "report/energy.h"
#include "report/json.h"
#include "report/nodes.h"
#include "settings/settings.h"
#include "stannis/stannis.h"

struct report {
    json_t *start;     // what held for the whole run
    json_t *epochs;    // array
    json_t *nodes;     // array; NULL: there was but one
    json_t *incidents; // array
    json_t *energy;    // of the whole run; NULL: not known
    int64_t moves;     // how often work moved
    struct report_crew crew;
    bool lost; // memory ran out while collecting
};

// ---- collecting --------------------------------------------------------------------------------

static json_t *describe_data(const struct stn_dataset_info *data)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:I, s:I}", "kind", data->kind, "classes", data->classes,
                     "image_size", data->image_size, "channels", data->channels, "train_images",
                     (json_int_t)data->count[STN_SUBSET_TRAIN], "val_images",
                     (json_int_t)data->count[STN_SUBSET_VAL]);
}

static json_t *describe_settings(const struct settings *s)
{
    return json_pack(
        "{s:o, s:o, s:i, s:I, s:i, s:f, s:f, s:f, s:b, s:f, s:s, s:f, s:f, s:f, s:s, s:b, s:o, "
        "s:o, s:I}",
        "net", report_json_text(s->net), "data", report_json_text(s->data), "epochs", s->epochs,
        "steps", (json_int_t)s->steps, "batch", s->batch, "lr", s->lr, "momentum", s->momentum,
        "weight_decay", s->weight_decay, "nesterov", s->nesterov, "warmup_epochs", s->warmup_epochs,
        "schedule", settings_schedule_names[s->schedule], "lr_step_epochs", s->lr_step_epochs,
        "lr_gamma", s->lr_gamma, "label_smoothing", s->label_smoothing, "augment",
        settings_augment_names[s->augment], "skip_bad", s->skip_bad, "out",
        report_json_text(s->out), "resume", report_json_text(s->resume), "checkpoint_steps",
        (json_int_t)s->checkpoint_steps);
}

static void on_start(void *context, const struct stn_train_start *start)
{
    struct report *report = context;
    json_decref(report->start);
    report->start = json_pack(
        "{s:s, s:o, s:o, s:i, s:i, s:f, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:o, s:o}", "net",
        start->net, "backend", report_json_text(start->backend_version), "data",
        describe_data(start->data), "threads", start->threads, "cpu_affinity", start->cpu_affinity,
        "cpu_quota", start->cpu_quota, "loader_threads", start->loader_threads, "batch",
        start->batch, "micro_batch", start->micro_batch, "parameters",
        (json_int_t)start->parameters, "macs", (json_int_t)start->macs, "planned_memory",
        (json_int_t)start->planned_bytes, "first_step", (json_int_t)start->first_step, "seed",
        report_json_seed(start->seed), "config", describe_settings(&start->settings->values));
    report->lost |= !report->start || !report_crew_start(&report->crew, start);
}

static void on_change(void *context, const struct stn_train_change *change)
{
    struct report *report = context;
    struct report_incident incident;
    report_crew_change(&report->crew, change);
    report->moves += change->kind == STN_CHANGE_SPLIT;
    if (report_incident_of(&report->crew, change, &incident)) {
        json_t *row = report_incident_json(&incident);
        report->lost |= !row || json_array_append_new(report->incidents, row) != 0;
    }
}

static void on_epoch(void *context, const struct stn_train_epoch *epoch)
{
    struct report *report = context;
    json_t *row = json_pack(
        "{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "epoch", epoch->epoch, "train_loss",
        report_json_real(epoch->train_loss), "train_accuracy",
        report_json_real(epoch->train_accuracy), "val_loss", report_json_real(epoch->val_loss),
        "val_accuracy", report_json_real(epoch->val_accuracy), "seconds",
        report_json_real(epoch->seconds), "eval_seconds", report_json_real(epoch->eval_seconds),
        "images_per_second", report_json_real(epoch->images_per_second), "best", epoch->best);
    report->lost |= !row || json_array_append_new(report->epochs, row) != 0;
}

static void on_nodes(void *context, const struct stn_train_node *nodes, int count)
{
    struct report *report = context;
    json_decref(report->nodes);
    report->nodes = report_nodes_json(nodes, count);
    report->lost |= !report->nodes;
}

// Of an epoch it stands beside what else is known of the epoch.
static void on_energy(void *context, const struct stn_train_energy *energy)
{
    struct report *report = context;
    json_t *object = report_energy_json(energy);
    size_t count = json_array_size(report->epochs);
    report->lost |= !object;
    if (energy->epoch == 0) {
        json_decref(report->energy);
        report->energy = object;
    } else if (count > 0) {
        json_t *epoch = json_array_get(report->epochs, count - 1);
        report->lost |= json_object_set_new(epoch, "energy", object) != 0;
    } else {
        json_decref(object);
    }
}

// ---- writing -----------------------------------------------------------------------------------

static const char *ending(enum stn_status ended)
{
    return ended == STN_OK ? "completed" : stn_status_text(ended);
}

static bool add_nodes(const struct report *report, const struct stn_train_result *result,
                      json_t *whole)
{
    return json_object_set(whole, "nodes", report->nodes) == 0 &&
           json_object_set(whole, "incidents", report->incidents) == 0 &&
           json_object_set_new(whole, "moves", json_integer(report->moves)) == 0 &&
           json_object_set_new(whole, "lost", json_integer(result->lost)) == 0;
}

static json_t *compose(const struct report *report, enum stn_status ended,
                       const struct stn_train_result *result)
{
    json_t *start = report->start;
    json_t *versions = json_pack("{s:s, s:O?, s:s}", "stannis", STN_VERSION, "backend",
                                 json_object_get(start, "backend"), "jansson", JANSSON_VERSION);
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:i, s:o, s:O}", "status",
        ending(ended), "images", (json_int_t)result->images, "steps", (json_int_t)result->steps,
        "seconds", report_json_real(result->seconds), "images_per_second",
        report_json_real(result->images_per_second), "loss", report_json_real(result->loss),
        "accuracy", report_json_real(result->accuracy), "best_accuracy",
        report_json_real(result->best_accuracy), "wait_share", report_json_real(result->wait_share),
        "skipped", (json_int_t)result->skipped, "peak_memory", (json_int_t)base_memory_peak(),
        "threads", result->threads, "versions", versions, "epochs", report->epochs);
    // What was known at the start comes first; what the result says about the same key replaces it.
    json_t *whole = start ? json_copy(start) : json_object();
    bool ok = object && whole && json_object_update(whole, object) == 0;
    ok = ok && (!report->nodes || add_nodes(report, result, whole));
    ok = ok && (!report->energy || json_object_set(whole, "energy", report->energy) == 0);
    json_decref(object);
    if (!ok) {
        json_decref(whole);
        return NULL;
    }
    return whole;
}

static enum stn_status fail_write(const char *path, int error)
{
    return stn_fail(error == ENOSPC ? STN_ERR_NO_SPACE : STN_ERR_IO,
                    "%s: cannot write the report: %s", path, strerror(error));
}

// Returns 0 or an errno.
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

// /dev/stdout or a pipe cannot be replaced as a file can.
static enum stn_status write_in_place(const char *path, const char *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail_write(path, errno);
    }
    int error = write_all(fd, bytes, length);
    if (close(fd) != 0 && !error) {
        error = errno;
    }
    return error ? fail_write(path, error) : STN_OK;
}

static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

enum stn_status report_check_path(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = '\0'; // "/x" lies in "/"
    }
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return fail_write(path, EISDIR);
    }
    if (access(is_special(path) ? path : slash ? folder : ".", W_OK) != 0) {
        return fail_write(path, errno);
    }
    return STN_OK;
}

enum stn_status report_write(const struct report *report, const char *path, enum stn_status ended,
                             const struct stn_train_result *result)
{
    json_t *object = report->lost ? NULL : compose(report, ended, result);
    char *json = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (!json) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for the report", path);
    }
    size_t length = strlen(json);
    json[length] = '\n'; // in the place of the terminator: a text file ends with a newline
    enum stn_status status = is_special(path) ? write_in_place(path, json, length + 1)
                                              : atomic_file_store(path, json, length + 1);
    free(json);
    return status;
}

// ---- lifetime ----------------------------------------------------------------------------------

enum stn_status report_create(struct report **out)
{
    struct report *report = calloc(1, sizeof(*report));
    json_t *epochs = json_array(), *incidents = json_array();
    if (!report || !epochs || !incidents) {
        free(report);
        json_decref(epochs);
        json_decref(incidents);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the report");
    }
    report->epochs = epochs;
    report->incidents = incidents;
    *out = report;
    return STN_OK;
}

void report_destroy(struct report *report)
{
    if (report) {
        json_decref(report->start);
        json_decref(report->epochs);
        json_decref(report->nodes);
        json_decref(report->incidents);
        json_decref(report->energy);
        report_crew_fini(&report->crew);
        free(report);
    }
}

struct stn_train_observer report_observer(struct report *report)
{
    return (struct stn_train_observer){.context = report,
                                       .start = on_start,
                                       .epoch = on_epoch,
                                       .change = on_change,
                                       .nodes = on_nodes,
                                       .energy = on_energy};
}
