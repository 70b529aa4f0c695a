// SPDX-License-Identifier: Apache-2.0
// --trace: slowdowns that were recorded, as CSV or as the events of a training. Steps that say
// nothing about a node have what it had before; before its first and after its last it is
// undisturbed.
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/setting_mark.h"
#include "sim/scene.h"

enum { STEPS_MAX = 10000000, FILE_BYTES_MAX = 1 << 30 };
static const double slowdown_most = 1e6, slowdown_least = 1e-3;
static const char heading[] = "step,node,slowdown";

struct record {
    int64_t step;
    int node;
    double slowdown;
};

struct trace {
    struct sim_scene *scene;
    const char *label;
    int line;
    struct record *records;
    size_t count, capacity;
};

static enum stn_status fail_memory(const struct trace *trace)
{
    return stn_fail(STN_ERR_NO_MEMORY, "%s: no memory for what was recorded", trace->label);
}

static enum stn_status record_add(struct trace *trace, int64_t step, int node, double slowdown)
{
    if (step < 1 || step > STEPS_MAX) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: step %lld: expected 1 to %d", trace->label,
                        trace->line, (long long)step, STEPS_MAX);
    }
    if (!(slowdown >= slowdown_least && slowdown <= slowdown_most)) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: slowdown %g of %s: expected a factor as 1.5",
                        trace->label, trace->line, slowdown, trace->scene->nodes[node].name);
    }
    if (trace->count == trace->capacity) {
        size_t capacity = trace->capacity > 0 ? 2 * trace->capacity : 1024;
        struct record *records = realloc(trace->records, capacity * sizeof(*records));
        if (records == NULL) {
            return fail_memory(trace);
        }
        trace->records = records;
        trace->capacity = capacity;
    }
    trace->records[trace->count++] = (struct record){step, node, slowdown};
    return STN_OK;
}

// ---- lines -------------------------------------------------------------------------------------

static enum stn_status read_csv_line(struct trace *trace, char *line)
{
    char *rest = line, *step_text = strsep(&rest, ","), *name = strsep(&rest, ",");
    char *slowdown_text = strsep(&rest, ",");
    int64_t step;
    double slowdown;
    if (slowdown_text == NULL || rest != NULL || base_parse_int64(step_text, &step) != 0 ||
        base_parse_real(slowdown_text, &slowdown) != 0) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: expected %s, as 12,csd.0,1.5", trace->label,
                        trace->line, heading);
    }
    int node = sim_scene_find(trace->scene, name);
    if (node < 0) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: there is no node '%.80s'; the first is %s",
                        trace->label, trace->line, name, trace->scene->nodes[0].name);
    }
    return record_add(trace, step, node, slowdown);
}

static enum stn_status read_step_event(struct trace *trace, const json_t *event)
{
    const json_t *step = json_object_get(event, "step");
    const json_t *split = json_object_get(event, "split");
    const json_t *compute = json_object_get(event, "compute_s");
    size_t nodes = (size_t)trace->scene->count;
    if (!json_is_integer(step) || json_array_size(split) != nodes ||
        json_array_size(compute) != nodes) {
        return stn_fail(STN_ERR_INVALID,
                        "%s:%d: expected step, split and compute_s of %zu nodes, as a training on "
                        "as many writes them",
                        trace->label, trace->line, nodes);
    }
    enum stn_status status = STN_OK;
    for (size_t i = 0; i < nodes && status == STN_OK; i++) {
        json_int_t m = json_integer_value(json_array_get(split, i));
        double seconds = json_number_value(json_array_get(compute, i));
        if (m >= 1 && m <= STEPS_MAX && seconds > 0.0) {
            const struct plan_line *line = &trace->scene->nodes[i].curve.line;
            status = record_add(trace, json_integer_value(step), (int)i,
                                seconds / plan_line_seconds(line, (int)m));
        }
    }
    return status;
}

static enum stn_status read_event(struct trace *trace, const char *line)
{
    json_error_t error;
    json_t *event = json_loads(line, 0, &error);
    if (event == NULL) {
        return stn_fail(STN_ERR_INVALID, "%s:%d: not JSON: %s", trace->label, trace->line,
                        error.text);
    }
    const char *kind = json_string_value(json_object_get(event, "event"));
    bool is_step = kind != NULL && strcmp(kind, "step") == 0;
    enum stn_status status = is_step ? read_step_event(trace, event) : STN_OK;
    json_decref(event);
    return status;
}

static enum stn_status read_lines(struct trace *trace, char *text)
{
    enum stn_status status = STN_OK;
    bool is_csv = false;
    for (char *line; status == STN_OK && (line = strsep(&text, "\n")) != NULL;) {
        trace->line++;
        line[strcspn(line, "\r")] = '\0';
        if (trace->line == 1 && strcmp(line, heading) == 0) {
            is_csv = true;
        } else if (*line != '\0' && is_csv) {
            status = read_csv_line(trace, line);
        } else if (*line == '{') {
            status = read_event(trace, line);
        } else if (*line != '\0') {
            status = stn_fail(STN_ERR_INVALID,
                              "%s:%d: expected the heading %s, or events as " BASE_SETTING
                              "events writes them",
                              trace->label, trace->line, heading);
        }
    }
    if (status == STN_OK && trace->count == 0) {
        status = stn_fail(STN_ERR_INVALID, "%s: nothing is recorded in it", trace->label);
    }
    return status;
}

// ---- loads -------------------------------------------------------------------------------------

static int compare_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    return a->node != b->node   ? (a->node > b->node) - (a->node < b->node)
           : a->step != b->step ? (a->step > b->step) - (a->step < b->step)
                                : 0;
}

// One node's, sorted by step.
static enum stn_status add_load(struct trace *trace, const struct record *records, size_t count)
{
    int64_t from = records[0].step, to = records[count - 1].step;
    double *slowdowns =
        base_arena_alloc(&trace->scene->arena, (size_t)(to - from + 1) * sizeof(*slowdowns));
    if (slowdowns == NULL) {
        return fail_memory(trace);
    }
    size_t at = 0;
    for (int64_t step = from; step <= to; step++) {
        while (at + 1 < count && records[at + 1].step <= step) {
            at++;
        }
        slowdowns[step - from] = records[at].slowdown;
    }
    const struct sim_load load = {.node = records[0].node,
                                  .shape = SIM_LOAD_RECORDED,
                                  .from = from,
                                  .to = to,
                                  .recorded = slowdowns};
    return sim_scene_add_load(trace->scene, &load);
}

static enum stn_status add_loads(struct trace *trace)
{
    enum stn_status status = STN_OK;
    qsort(trace->records, trace->count, sizeof(*trace->records), compare_records);
    for (size_t first = 0, end; first < trace->count && status == STN_OK; first = end) {
        end = first + 1;
        while (end < trace->count && trace->records[end].node == trace->records[first].node) {
            end++;
        }
        status = add_load(trace, &trace->records[first], end - first);
    }
    return status;
}

enum stn_status sim_scene_trace_text(struct sim_scene *scene, char *text, size_t bytes,
                                     const char *label)
{
    struct trace trace = {.scene = scene, .label = label};
    if (strlen(text) != bytes) {
        return stn_fail(STN_ERR_INVALID, "%s: not a text", label);
    }
    enum stn_status status = read_lines(&trace, text);
    if (status == STN_OK) {
        status = add_loads(&trace);
    }
    free(trace.records);
    return status;
}

// ---- the file ----------------------------------------------------------------------------------

// The whole file with a terminator, to be freed.
static enum stn_status load_text(const char *path, char **text, size_t *bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return stn_fail(STN_ERR_NOT_FOUND, "%s: cannot read the trace: %s", path, strerror(errno));
    }
    size_t capacity = 0;
    ssize_t size = getdelim(text, &capacity, '\0', file); // a text has no other terminator
    int error = ferror(file) ? errno : 0;
    bool more = size >= 0 && fgetc(file) != EOF;
    fclose(file);
    if (size < 0 || error != 0 || more || size > FILE_BYTES_MAX) {
        free(*text);
        *text = NULL;
        return stn_fail(error ? STN_ERR_IO : STN_ERR_INVALID, "%s: cannot read the trace: %s", path,
                        error       ? strerror(error)
                        : size <= 0 ? "it is empty"
                                    : "not a text, or larger than 1 GiB");
    }
    *bytes = (size_t)size;
    return STN_OK;
}

enum stn_status sim_scene_trace(struct sim_scene *scene, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    enum stn_status status = load_text(path, &text, &bytes);
    if (status == STN_OK) {
        status = sim_scene_trace_text(scene, text, bytes, path);
    }
    free(text);
    return status;
}
