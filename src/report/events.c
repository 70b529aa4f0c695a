// SPDX-License-Identifier: Apache-2.0
#include "report/events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/change.h"
#include "report/energy.h"
#include "report/json.h"
#include "report/nodes.h"
#include "stannis/log.h"

enum { LINE_BYTES = 1024 };

// Columns of a step's nodes that are numbers, beside their split.
static const struct {
    const char *name;
    size_t offset;
} columns[] = {
    {"compute_s", offsetof(struct stn_train_node_step, compute_seconds)},
    {"wait_s", offsetof(struct stn_train_node_step, wait_seconds)},
    {"data_s", offsetof(struct stn_train_node_step, data_seconds)},
    {"queue_s", offsetof(struct stn_train_node_step, queue_seconds)},
    {"throttled_s", offsetof(struct stn_train_node_step, throttled_seconds)},
    {"cpu_s", offsetof(struct stn_train_node_step, cpu_seconds)},
    {"share_cpu_s", offsetof(struct stn_train_node_step, share_cpu_seconds)},
    {"slowdown", offsetof(struct stn_train_node_step, slowdown)},
};

// JSON knows no NaN and no infinity; null says "no number".
struct number {
    char text[32];
};

static struct number number_of(double value)
{
    struct number number = {"null"};
    if (isfinite(value)) {
        snprintf(number.text, sizeof(number.text), "%.9g", value);
    }
    return number;
}

static void put(struct report_events *events, const char *text, size_t length)
{
    if (!events->failed && !ferror(events->stream)) {
        errno = 0;
        fwrite(text, 1, length, events->stream); // what failed shows at the end of the line
    }
}

static void end_line(struct report_events *events)
{
    if (events->failed) {
        return;
    }
    put(events, "\n", 1);
    if (fflush(events->stream) != 0 || ferror(events->stream)) {
        events->failed = true;
        stn_log(STN_LOG_WARN, "%s: cannot write events: %s; going on without them", events->name,
                strerror(errno));
    }
}

static void emit(struct report_events *events, const char *line, size_t length)
{
    put(events, line, length);
    end_line(events);
}

// ---- steps -------------------------------------------------------------------------------------

static void put_array(struct report_events *events, const char *name,
                      const struct stn_train_step *step, size_t offset)
{
    char text[64];
    put(events, text, (size_t)snprintf(text, sizeof(text), ",\"%s\":[", name));
    for (int i = 0; i < step->nodes; i++) {
        double value;
        memcpy(&value, (const char *)&step->node[i] + offset, sizeof(value));
        int length = snprintf(text, sizeof(text), "%s%s", i ? "," : "", number_of(value).text);
        put(events, text, (size_t)length);
    }
    put(events, "]", 1);
}

static void put_counts(struct report_events *events, const char *name,
                       const struct stn_train_step *step, size_t offset)
{
    char text[64];
    put(events, text, (size_t)snprintf(text, sizeof(text), ",\"%s\":[", name));
    for (int i = 0; i < step->nodes; i++) {
        int value;
        memcpy(&value, (const char *)&step->node[i] + offset, sizeof(value));
        put(events, text, (size_t)snprintf(text, sizeof(text), "%s%d", i ? "," : "", value));
    }
    put(events, "]", 1);
}

// What a simulator needs to live through the run again, and a person to see which node waited for
// which.
static void put_nodes(struct report_events *events, const struct stn_train_step *step)
{
    put_counts(events, "split", step, offsetof(struct stn_train_node_step, micro_batches));
    put_counts(events, "planned", step, offsetof(struct stn_train_node_step, planned));
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        put_array(events, columns[i].name, step, columns[i].offset);
    }
}

static void on_step(void *context, const struct stn_train_step *step)
{
    struct report_events *events = context;
    events->last_step = step->step;
    events->eval_percent = -1;
    char line[LINE_BYTES];
    int length = snprintf(
        line, sizeof(line),
        "{\"event\":\"step\",\"step\":%" PRId64
        ",\"epoch\":%d,\"loss\":%s,\"accuracy\":%s,\"lr\":%s,"
        "\"images\":%d,\"images_per_second\":%s,\"seconds\":%s,\"wait_seconds\":%s,"
        "\"elapsed_seconds\":%s,\"eta_seconds\":%s",
        step->step, step->epoch, number_of(step->loss).text, number_of(step->accuracy).text,
        number_of(step->lr).text, step->images, number_of(step->images_per_second).text,
        number_of(step->seconds).text, number_of(step->wait_seconds).text,
        number_of(step->elapsed_seconds).text, number_of(step->eta_seconds).text);
    put(events, line, (size_t)length);
    if (step->node) {
        put_nodes(events, step);
    }
    emit(events, "}", 1);
}

static void on_epoch(void *context, const struct stn_train_epoch *epoch)
{
    struct report_events *events = context;
    char line[LINE_BYTES];
    int length = snprintf(
        line, sizeof(line),
        "{\"event\":\"epoch\",\"step\":%" PRId64 ",\"epoch\":%d,\"loss\":%s,\"accuracy\":%s,"
        "\"train_loss\":%s,\"train_accuracy\":%s,\"val_loss\":%s,\"val_accuracy\":%s,"
        "\"images_per_second\":%s,\"seconds\":%s,\"eval_seconds\":%s,\"best\":%s}",
        events->last_step, epoch->epoch, number_of(epoch->train_loss).text,
        number_of(epoch->val_accuracy).text, number_of(epoch->train_loss).text,
        number_of(epoch->train_accuracy).text, number_of(epoch->val_loss).text,
        number_of(epoch->val_accuracy).text, number_of(epoch->images_per_second).text,
        number_of(epoch->seconds).text, number_of(epoch->eval_seconds).text,
        epoch->best ? "true" : "false");
    emit(events, line, (size_t)length);
}

// Keeps nothing of `object`. Not for the step path: it allocates.
static void emit_object(struct report_events *events, json_t *object)
{
    char *line = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (!line) {
        return;
    }
    emit(events, line, strlen(line));
    free(line);
}

static json_t *names_json(const struct report_crew *crew)
{
    json_t *array = json_array();
    for (int i = 0; i < crew->count && array; i++) {
        if (json_array_append_new(array, report_json_text(crew->nodes[i].name)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static void on_start(void *context, const struct stn_train_start *start)
{
    struct report_events *events = context;
    if (!report_crew_start(&events->crew, start)) {
        stn_log(STN_LOG_WARN, "%s: no memory for the names of %d nodes; events go without",
                events->name, start->nodes);
    }
    if (!events->all && start->nodes <= 1) {
        return;
    }
    emit_object(context,
                json_pack("{s:s, s:s?, s:s?, s:s?, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:o}",
                          "event", "start", "net", start->net, "data",
                          start->data ? start->data->kind : NULL, "backend", start->backend_version,
                          "classes", start->data ? start->data->classes : 0, "epochs",
                          start->epochs, "batch", start->batch, "micro_batch", start->micro_batch,
                          "threads", start->threads, "parameters", (json_int_t)start->parameters,
                          "steps", (json_int_t)start->steps_total, "first_step",
                          (json_int_t)start->first_step, "nodes", names_json(&events->crew)));
}

static void on_change(void *context, const struct stn_train_change *change)
{
    struct report_events *events = context;
    report_crew_change(&events->crew, change);
    emit_object(events, report_change_json(&events->crew, change));
}

static void on_eval(void *context, int64_t done, int64_t total)
{
    struct report_events *events = context;
    int percent = total > 0 ? (int)(done * 100 / total) : 100;
    if (percent / 10 == events->eval_percent / 10 && events->eval_percent >= 0) {
        return;
    }
    events->eval_percent = percent;
    char line[LINE_BYTES];
    int length =
        snprintf(line, sizeof(line),
                 "{\"event\":\"eval\",\"done\":%" PRId64 ",\"total\":%" PRId64 "}", done, total);
    emit(events, line, (size_t)length);
}

static void on_saved(void *context, const char *path)
{
    emit_object(context, json_pack("{s:s, s:o}", "event", "saved", "path", report_json_text(path)));
}

static void on_nodes(void *context, const struct stn_train_node *nodes, int count)
{
    emit_object(context, json_pack("{s:s, s:o}", "event", "nodes", "nodes",
                                   report_nodes_json(nodes, count)));
}

static void on_energy(void *context, const struct stn_train_energy *energy)
{
    json_t *object = report_energy_json(energy);
    if (object) {
        json_object_set_new(object, "event", json_string("energy"));
    }
    emit_object(context, object);
}

static enum stn_status use_stream(struct report_events *events, FILE *stream)
{
    if (!stream) {
        return stn_fail(STN_ERR_IO, "%s: cannot open for events: %s", events->name,
                        strerror(errno));
    }
    events->stream = stream;
    setvbuf(stream, events->buffer, _IOFBF, sizeof(events->buffer));
    return STN_OK;
}

enum stn_status report_events_open(struct report_events *events, const char *path, bool append)
{
    *events = (struct report_events){.name = path, .eval_percent = -1};
    return use_stream(events, fopen(path, append ? "ae" : "we"));
}

enum stn_status report_events_attach(struct report_events *events, int fd, const char *name)
{
    *events = (struct report_events){.name = name, .all = true, .eval_percent = -1};
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *stream = copy >= 0 ? fdopen(copy, "w") : NULL;
    enum stn_status status = use_stream(events, stream);
    if (!stream && copy >= 0) {
        close(copy);
    }
    return status;
}

void report_events_close(struct report_events *events)
{
    if (events->stream) {
        fclose(events->stream); // every line was flushed: a failure was reported when it happened
    }
    events->stream = NULL;
    report_crew_fini(&events->crew);
}

struct stn_train_observer report_events_observer(struct report_events *events)
{
    struct stn_train_observer observer = {.context = events,
                                          .start = on_start,
                                          .step = on_step,
                                          .epoch = on_epoch,
                                          .change = on_change,
                                          .nodes = on_nodes,
                                          .energy = on_energy};
    if (events->all) {
        observer.eval = on_eval;
        observer.saved = on_saved;
    }
    return observer;
}
