// SPDX-License-Identifier: Apache-2.0
#include "paper_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "plot/plot.h"
#include "report/format.h"
#include "report/json.h"
#include "sim/paper.h"
#include "stannis/stannis.h"
#include "verb.h"

static const struct paper {
    const char *name;
    sim_paper_run *run, *figure;
} papers[] = {{"stannis", sim_paper_stannis, sim_paper_stannis_figure},
              {"hypertune", sim_paper_hypertune, sim_paper_hypertune_figure}};

static const struct {
    enum sim_paper_row_kind kind;
    const char *name, *heading, *last_column;
} sections[] = {
    {SIM_PAPER_INPUT, "input", "Calibrated on, so it must come out again", "error"},
    {SIM_PAPER_PREDICTED, "predicted", "Predicted, by the paper's own method", "error"},
    {SIM_PAPER_OURS, "ours", "Ours, where the paper reports its own", "change"},
};
enum { SECTIONS = sizeof(sections) / sizeof(*sections), EXPLANATIONS_MAX = 8 };

// Beyond it a prediction is off, and explained.
static const double error_most = 0.05;

// What there is to say about a row; NULL: nothing.
static const char *note_of(const struct sim_paper_row *row)
{
    bool fine = row->kind == SIM_PAPER_PREDICTED && !(fabs(sim_paper_error(row)) > error_most);
    return fine ? NULL : row->why;
}

// ---- the table ---------------------------------------------------------------------------------

// Explanations in the order they come; returns the number of this one, from 1.
static int explain(const char *explanations[EXPLANATIONS_MAX], int *count, const char *why)
{
    for (int i = 0; i < *count; i++) {
        if (explanations[i] == why) {
            return i + 1;
        }
    }
    if (*count == EXPLANATIONS_MAX) {
        return EXPLANATIONS_MAX;
    }
    explanations[(*count)++] = why;
    return *count;
}

// Pads by columns, which UTF-8 bytes are not.
static void print_left(const char *text, int columns)
{
    printf("%s%*s", text, columns > report_columns(text) ? columns - report_columns(text) : 0, "");
}

static void print_row(const struct sim_paper_row *row, int note)
{
    char paper[16] = "-", error[16] = "", mark[16] = "";
    if (!isnan(row->paper)) {
        snprintf(paper, sizeof(paper), "%.2f", row->paper);
        snprintf(error, sizeof(error), "%+.1f %%", 100.0 * sim_paper_error(row));
    }
    if (note > 0) {
        snprintf(mark, sizeof(mark), " [%d]", note);
    }
    printf("  %-9s", row->where);
    print_left(row->what, 58);
    printf("%8s %9.2f ", paper, row->simulated);
    print_left(row->unit, 9);
    printf("%8s%s\n", error, mark);
}

static void print_table(const struct sim_paper_report *report)
{
    const char *explanations[EXPLANATIONS_MAX];
    int count = 0;
    printf("%s on virtual nodes; energy is modelled\n", report->title);
    for (int s = 0; s < SECTIONS; s++) {
        printf("\n%s\n  %-67s%8s %9s %17s\n", sections[s].heading, "", "paper", "simulated",
               sections[s].last_column);
        for (int i = 0; i < report->row_count; i++) {
            const struct sim_paper_row *row = &report->rows[i];
            if (row->kind == sections[s].kind) {
                const char *note = note_of(row);
                print_row(row, note ? explain(explanations, &count, note) : 0);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        printf("%s[%d] %s\n", i == 0 ? "\n" : "", i + 1, explanations[i]);
    }
}

// ---- JSON --------------------------------------------------------------------------------------

static json_t *describe_row(const struct sim_paper_row *row)
{
    const char *kind = "";
    for (int s = 0; s < SECTIONS; s++) {
        kind = sections[s].kind == row->kind ? sections[s].name : kind;
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "kind", kind, "where", row->where,
                     "what", row->what, "unit", row->unit, "paper", report_json_real(row->paper),
                     "simulated", report_json_real(row->simulated), "error",
                     report_json_real(sim_paper_error(row)), "why", report_json_text(note_of(row)));
}

static json_t *describe_curve(const struct sim_paper_curve *curve)
{
    json_t *points = json_array();
    for (int i = 0; i < curve->count; i++) {
        json_array_append_new(points, json_pack("[f, f]", curve->x[i], curve->y[i]));
    }
    return json_pack("{s:s, s:o}", "label", curve->label, "points", points);
}

static json_t *describe(const struct sim_paper_report *report)
{
    json_t *rows = json_array(), *curves = json_array();
    for (int i = 0; i < report->row_count; i++) {
        json_array_append_new(rows, describe_row(&report->rows[i]));
    }
    for (int i = 0; i < report->curve_count; i++) {
        json_array_append_new(curves, describe_curve(&report->curves[i]));
    }
    return json_pack("{s:s, s:o, s:s, s:o, s:s}", "paper", report->title, "rows", rows, "figure",
                     report->figure, "curves", curves, "version", STN_VERSION);
}

// ---- files -------------------------------------------------------------------------------------

static enum stn_status draw(const struct sim_paper_report *report, const char *path)
{
    const struct plot_options options = {.title = report->figure,
                                         .x_label = "CSDs",
                                         .y_label = report->y_label,
                                         .y_from_zero = true};
    struct plot *plot;
    enum stn_status status = plot_create(&options, &plot);
    if (status != STN_OK) {
        return status;
    }
    for (int i = 0; i < report->curve_count && status == STN_OK; i++) {
        const struct sim_paper_curve *curve = &report->curves[i];
        const struct plot_series series = {.label = curve->label,
                                           .kind = PLOT_LINE_AND_POINTS,
                                           .x = curve->x,
                                           .y = curve->y,
                                           .count = curve->count,
                                           .dashed = curve->ours,
                                           .colour = -1};
        status = plot_add(plot, &series);
    }
    if (status == STN_OK) {
        status = plot_write(plot, path);
    }
    plot_destroy(plot);
    return status;
}

static enum stn_status write_json(const struct sim_paper_report *report, const char *path)
{
    json_t *object = describe(report);
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (!text) {
        return stn_fail(STN_ERR_INTERNAL, "%s: cannot make JSON of the result", path);
    }
    enum stn_status status = atomic_file_store_line(path, text);
    free(text);
    return status;
}

// ---- the run -----------------------------------------------------------------------------------

static enum stn_status find_paper(const char *name, const struct paper **out)
{
    for (size_t i = 0; i < sizeof(papers) / sizeof(*papers); i++) {
        if (strcmp(papers[i].name, name) == 0) {
            *out = &papers[i];
            return STN_OK;
        }
    }
    return stn_fail(STN_ERR_INVALID, "--paper %s: must be stannis or hypertune", name);
}

static enum stn_status simulate(const struct paper_options *o, struct sim_paper_report *report)
{
    struct sim_devices devices = {0};
    const struct paper *paper = NULL;
    enum stn_status status = find_paper(o->paper, &paper);
    if (status == STN_OK) {
        status = sim_devices_add_builtin(&devices);
    }
    if (status == STN_OK) {
        status = paper->run(&devices, &sim_paper_inputs, report);
    }
    if (status == STN_OK && (o->json || o->report || o->plot)) {
        status = paper->figure(&devices, &sim_paper_inputs, report);
    }
    sim_devices_fini(&devices);
    return status;
}

enum stn_status paper_run(const struct paper_options *o)
{
    struct sim_paper_report *report = malloc(sizeof(*report));
    if (!report) {
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for the report");
    }
    enum stn_status status = simulate(o, report);
    if (status == STN_OK && o->json) {
        status = verb_print_json(describe(report));
    } else if (status == STN_OK) {
        print_table(report);
    }
    if (status == STN_OK && o->report) {
        status = write_json(report, o->report);
    }
    if (status == STN_OK && o->plot) {
        status = draw(report, o->plot);
    }
    free(report);
    return status;
}
