// SPDX-License-Identifier: Apache-2.0
#include "report/events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/json.h"
#include "report/nodes.h"
#include "stannis/log.h"

enum { LINE_BYTES = 1024 };

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

static void emit(struct report_events *events, const char *line, size_t length)
{
    if (events->failed) {
        return;
    }
    errno = 0;
    bool ok = fwrite(line, 1, length, events->stream) == length && fflush(events->stream) == 0;
    if (!ok) {
        events->failed = true;
        stn_log(STN_LOG_WARN, "%s: cannot write events: %s; going on without them", events->name,
                strerror(errno));
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
        "\"elapsed_seconds\":%s,\"eta_seconds\":%s}\n",
        step->step, step->epoch, number_of(step->loss).text, number_of(step->accuracy).text,
        number_of(step->lr).text, step->images, number_of(step->images_per_second).text,
        number_of(step->seconds).text, number_of(step->wait_seconds).text,
        number_of(step->elapsed_seconds).text, number_of(step->eta_seconds).text);
    emit(events, line, (size_t)length);
}

static void on_epoch(void *context, const struct stn_train_epoch *epoch)
{
    struct report_events *events = context;
    char line[LINE_BYTES];
    int length = snprintf(
        line, sizeof(line),
        "{\"event\":\"epoch\",\"step\":%" PRId64 ",\"epoch\":%d,\"loss\":%s,\"accuracy\":%s,"
        "\"train_loss\":%s,\"train_accuracy\":%s,\"val_loss\":%s,\"val_accuracy\":%s,"
        "\"images_per_second\":%s,\"seconds\":%s,\"eval_seconds\":%s,\"best\":%s}\n",
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
    emit(events, "\n", 1);
    free(line);
}

static void on_start(void *context, const struct stn_train_start *start)
{
    emit_object(context,
                json_pack("{s:s, s:s?, s:s?, s:s?, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I}",
                          "event", "start", "net", start->net, "data",
                          start->data ? start->data->kind : NULL, "backend", start->backend_version,
                          "classes", start->data ? start->data->classes : 0, "epochs",
                          start->epochs, "batch", start->batch, "micro_batch", start->micro_batch,
                          "threads", start->threads, "parameters", (json_int_t)start->parameters,
                          "steps", (json_int_t)start->steps_total, "first_step",
                          (json_int_t)start->first_step));
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
                 "{\"event\":\"eval\",\"done\":%" PRId64 ",\"total\":%" PRId64 "}\n", done, total);
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
        fclose(events->stream); // every line was flushed: nothing can fail that was not said
    }
    events->stream = NULL;
}

struct stn_train_observer report_events_observer(struct report_events *events)
{
    struct stn_train_observer observer = {
        .context = events, .step = on_step, .epoch = on_epoch, .nodes = on_nodes};
    if (events->all) {
        observer.start = on_start;
        observer.eval = on_eval;
        observer.saved = on_saved;
    }
    return observer;
}
