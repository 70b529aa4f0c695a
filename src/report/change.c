// SPDX-License-Identifier: Apache-2.0
#include "report/change.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/format.h"
#include "report/json.h"

enum { MOVES_SHOWN = 6 };

static const char *const kinds[] = {
    [STN_CHANGE_SPLIT] = "split",
    [STN_CHANGE_SLOWED] = "slowed",
    [STN_CHANGE_RECOVERED] = "recovered",
    [STN_CHANGE_LASTING] = "lasting",
};

static const char *name_of(const struct report_crew *crew, int node)
{
    return node >= 0 && node < crew->count ? crew->nodes[node].name : NULL;
}

// ---- in words ----------------------------------------------------------------------------------

// What follows the name of the node.
static void put_incident(const struct report_incident *incident, struct report_writer *w)
{
    report_put(w, "up to %.1f × slower ", incident->slowdown);
    if (incident->until_step >= 0) {
        report_put(w, "in steps %" PRId64 "–%" PRId64, incident->since_step,
                   incident->until_step - 1);
    } else {
        report_put(w, "from step %" PRId64 " to the end", incident->since_step);
    }
    report_put(w, " (%s), ", incident->cause);
    if (incident->least < incident->before) {
        report_put(w, "%d instead of %d micro-batches", incident->least, incident->before);
    } else {
        report_put(w, "kept its %d micro-batches", incident->before);
    }
    report_put(w, ", cost %.1f s", incident->cost_seconds);
}

// "host 14 → 16, csd.1 3 → 1": the first few, then how many more.
static void put_moves(const struct report_crew *crew, const struct stn_train_change *change,
                      struct report_writer *w)
{
    int moves = 0;
    for (int i = 0; i < crew->count; i++) {
        if (change->before[i] == change->after[i]) {
            continue;
        }
        if (moves++ < MOVES_SHOWN) {
            report_put(w, "%s%.24s %d → %d", moves > 1 ? ", " : "", crew->nodes[i].name,
                       change->before[i], change->after[i]);
        }
    }
    if (moves > MOVES_SHOWN) {
        report_put(w, ", and %d more", moves - MOVES_SHOWN);
    }
}

static void put_split(const struct report_crew *crew, const struct stn_train_change *change,
                      struct report_writer *w)
{
    struct report_text count;
    report_put(w, "work moved: ");
    put_moves(crew, change, w);
    if (change->gain > 0) {
        report_put(w, "; steps %.0f %% shorter", 100 * change->gain);
    }
    if (change->batch > 0) {
        report_put(w, "; batch %d from now on", change->batch);
    }
    if (change->lost_samples > 0) {
        report_put(w, "; the epoch ends, %s of its images untrained",
                   report_count(&count, change->lost_samples));
    }
}

void report_change_text(const struct report_crew *crew, const struct stn_train_change *change,
                        char out[REPORT_CHANGE_BYTES])
{
    struct report_writer w = {out, REPORT_CHANGE_BYTES, 0};
    const char *name = name_of(crew, change->node);
    struct report_incident incident;
    report_put(&w, "step %" PRId64 ": ", change->step);
    if (change->kind == STN_CHANGE_SPLIT) {
        put_split(crew, change, &w);
    } else if (report_incident_of(crew, change, &incident)) {
        report_put(&w, "%s is %s: ", incident.name,
                   incident.until_step < 0 ? "still slow" : "as fast as before again");
        put_incident(&incident, &w);
    } else {
        report_put(&w, "%s is %.1f × slower, from step %" PRId64 " on: %s", name ? name : "?",
                   change->slowdown, change->since_step, change->cause ? change->cause : "unknown");
    }
}

// ---- as JSON -----------------------------------------------------------------------------------

static json_t *split_json(const int *split, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count && array; i++) {
        if (json_array_append_new(array, json_integer(split[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

json_t *report_change_json(const struct report_crew *crew, const struct stn_train_change *change)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:o, s:o, s:o}", "event", "change", "kind", kinds[change->kind], "step",
        (json_int_t)change->step, "node", report_json_text(name_of(crew, change->node)), "before",
        split_json(change->before, crew->count), "after", split_json(change->after, crew->count));
    json_t *more =
        change->kind == STN_CHANGE_SPLIT
            ? json_pack("{s:o, s:i, s:I}", "gain", report_json_real(change->gain), "batch",
                        change->batch > 0 ? change->batch : crew->batch, "lost_samples",
                        (json_int_t)change->lost_samples)
            : json_pack("{s:I, s:o, s:o, s:o}", "since_step", (json_int_t)change->since_step,
                        "slowdown", report_json_real(change->slowdown), "cause",
                        report_json_text(change->cause), "cost_seconds",
                        change->kind == STN_CHANGE_SLOWED ? json_null()
                                                          : report_json_real(change->cost_seconds));
    bool ok = object && more && json_object_update(object, more) == 0;
    json_decref(more);
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

// ---- incidents ---------------------------------------------------------------------------------

bool report_incident_of(const struct report_crew *crew, const struct stn_train_change *change,
                        struct report_incident *out)
{
    bool over = change->kind == STN_CHANGE_RECOVERED || change->kind == STN_CHANGE_LASTING;
    if (!over || !name_of(crew, change->node)) {
        return false;
    }
    const struct report_crew_node *node = &crew->nodes[change->node];
    *out = (struct report_incident){
        .name = node->name,
        .since_step = change->since_step,
        .until_step = change->kind == STN_CHANGE_RECOVERED ? change->step : -1,
        .slowdown = change->slowdown,
        .cost_seconds = change->cost_seconds,
        .before = node->before,
        .least = node->least,
    };
    snprintf(out->cause, sizeof(out->cause), "%s", change->cause ? change->cause : node->cause);
    return true;
}

void report_incident_text(const struct report_incident *incident, char out[REPORT_CHANGE_BYTES])
{
    struct report_writer w = {out, REPORT_CHANGE_BYTES, 0};
    report_put(&w, "%.32s: ", incident->name);
    put_incident(incident, &w);
}

json_t *report_incident_json(const struct report_incident *incident)
{
    return json_pack("{s:s, s:I, s:o, s:o, s:s, s:o, s:i, s:i}", "node", incident->name,
                     "since_step", (json_int_t)incident->since_step, "until_step",
                     incident->until_step >= 0 ? json_integer(incident->until_step) : json_null(),
                     "slowdown", report_json_real(incident->slowdown), "cause", incident->cause,
                     "cost_seconds", report_json_real(incident->cost_seconds),
                     "micro_batches_before", incident->before, "micro_batches_least",
                     incident->least);
}
