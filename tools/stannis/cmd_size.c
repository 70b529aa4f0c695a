// SPDX-License-Identifier: Apache-2.0
// stannis size: what a host would do with so many CSDs, before they are bought.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "front_view.h"
#include "objective.h"
#include "plot/plot.h"
#include "report/json.h"
#include "sim/sizing.h"
#include "stannis/stannis.h"
#include "verb.h"

static const struct command command = {
    .verb = STN_VERB_SIZE,
    .summary = "Says what a host with CSDs would do: speed, energy, the use of more.",
    .about = "Simulated from device profiles: xeon-4108, newport and laguna are those of the\n"
             "papers (docs/papers.md); others come from a file. Watts and joules are modelled,\n"
             "not measured. FLOPS count the multiplications and additions of forward and\n"
             "backward pass.",
    .examples =
        "  stannis size --host xeon-4108 --csd newport --count 0..36 --net mobilenet_v2\n"
        "  stannis size --host xeon-4108 --csd laguna --count 36 --net mobilenet_v2 \\\n"
        "      --batch 720 --json\n"
        "  stannis size --host xeon-4108 --csd newport --count 0..36 --net mobilenet_v2 \\\n"
        "      --objective energy --min-speed 60 --pareto front.svg",
};

// ---- what is asked -----------------------------------------------------------------------------

static bool parse_number(const char *text, int *out)
{
    int64_t number;
    if (base_parse_int64(text, &number) != 0 || number < 0 || number > SIM_SIZING_CSDS_MAX) {
        return false;
    }
    *out = (int)number;
    return true;
}

// "0..36" or "24".
static enum stn_status parse_count(const char *text, int *least, int *most)
{
    char first[16];
    const char *dots = strstr(text, "..");
    int length = dots ? (int)(dots - text) : (int)strlen(text);
    snprintf(first, sizeof(first), "%.*s", length, text);
    if (!parse_number(first, least) || !parse_number(dots ? dots + 2 : first, most) ||
        *most < *least) {
        return stn_fail(STN_ERR_INVALID,
                        "--count %s: expected a number or a range as 0..36, up to %d", text,
                        SIM_SIZING_CSDS_MAX);
    }
    return STN_OK;
}

// What the network costs: gradients to exchange, operations of an image.
static enum stn_status measure_net(const struct settings *s, struct sim_sizing_config *config)
{
    const struct stn_model_info *model = stn_model_find(s->net);
    struct stn_model_shape shape = {
        .image_size = model->default_image_size, .channels = 3, .classes = 1000};
    struct stn_model_cost cost;
    enum stn_status status = stn_model_measure(model, shape, 1, &cost);
    if (status == STN_OK) {
        config->gradient_bytes = (double)sizeof(float) * (double)cost.parameters;
        config->flops_per_image = 3.0 * 2.0 * (double)cost.macs;
        config->micro_batch = s->micro_batch ? s->micro_batch : model->default_micro_batch;
    }
    return status;
}

static enum stn_status check(const struct settings *s, struct sim_sizing_config *config)
{
    const struct {
        const char *name, *value, *example;
    } needed[] = {{"host", s->host, "xeon-4108"},
                  {"csd", s->csd, "newport"},
                  {"count", s->count, "0..36"},
                  {"net", s->net, "mobilenet_v2"}};
    enum stn_status status = STN_OK;
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed) && status == STN_OK; i++) {
        status = verb_require(&command, needed[i].name, needed[i].value, needed[i].example);
    }
    if (status == STN_OK) {
        status = verb_check_net(s->net);
    }
    if (status == STN_OK) {
        status = parse_count(s->count, &config->least, &config->most);
    }
    if (status == STN_OK) {
        status = measure_net(s, config);
    }
    if (status == STN_OK && s->batch % config->micro_batch != 0) {
        status = stn_fail(STN_ERR_INVALID, "--batch %d: must be a multiple of the micro-batch, %d",
                          s->batch, config->micro_batch);
    }
    config->policy = hypertune_policy_of(s->policy);
    config->net = s->net;
    config->batch = s->batch;
    config->knee = s->knee / 100.0;
    return status;
}

// ---- what is shown -----------------------------------------------------------------------------

struct number {
    char text[24];
};

// "-" for what is not known.
static const char *format_real(struct number *to, const char *format, double value)
    __attribute__((format(printf, 2, 0)));
static const char *format_real(struct number *to, const char *format, double value)
{
    snprintf(to->text, sizeof(to->text), "-");
    if (!isnan(value)) {
        snprintf(to->text, sizeof(to->text), format, value);
    }
    return to->text;
}

static void print_row(const struct sim_sizing *sizing, const struct sim_sizing_row *row)
{
    struct number added, watts, energy, saved, flops;
    double known = row > sizing->rows ? 100.0 * row->added : NAN;
    printf("%4d %8.1f %7.2f× %7s %6s %7s %7s %9s %7d\n", row->csds, row->images_per_s,
           row->images_per_s / sizing->alone.images_per_s, format_real(&added, "%.1f %%", known),
           format_real(&watts, "%.0f", row->watts),
           format_real(&energy, "%.2f", row->joules_per_image),
           format_real(&saved, "%.0f %%", 100.0 * row->saved),
           format_real(&flops, "%.1f", 1e-6 * row->flops_per_watt), row->batch);
}

static void print_human(const struct settings *s, const struct sim_sizing *sizing)
{
    printf("%s with %s, %s, %s; watts and joules are modelled\n\n", s->host, s->csd, s->net,
           settings_policy_names[s->policy]);
    printf("CSDs    img/s  speedup   added      W   J/img   saved  MFLOPS/W   batch\n");
    for (int i = 0; i < sizing->count; i++) {
        print_row(sizing, &sizing->rows[i]);
    }
    if (sizing->knee >= 0) {
        printf("\nknee: %d CSDs; more of them add less than %g %% each\n", sizing->knee, s->knee);
    } else if (sizing->count > 1) {
        printf("\nknee: none; up to the last, CSDs add %g %% or more\n", s->knee);
    }
}

static json_t *describe_row(const struct sim_sizing *sizing, const struct sim_sizing_row *row)
{
    return json_pack("{s:i, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:i}", "csds", row->csds,
                     "images_per_second", row->images_per_s, "ceiling", row->ceiling, "speedup",
                     row->images_per_s / sizing->alone.images_per_s, "added", row->added, "watts",
                     report_json_real(row->watts), "joules_per_image",
                     report_json_real(row->joules_per_image), "energy_saved",
                     report_json_real(row->saved), "flops_per_watt",
                     report_json_real(row->flops_per_watt), "batch", row->batch);
}

static json_t *describe(const struct settings *s, const struct sim_sizing *sizing)
{
    json_t *rows = json_array();
    for (int i = 0; i < sizing->count; i++) {
        json_array_append_new(rows, describe_row(sizing, &sizing->rows[i]));
    }
    json_t *knee = sizing->knee >= 0 ? json_integer(sizing->knee) : json_null();
    return json_pack("{s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:[s,s,s,s], s:s}", "host", s->host,
                     "csd", s->csd, "net", s->net, "policy", settings_policy_names[s->policy],
                     "knee_percent", s->knee, "knee", knee, "rows", rows, "modelled", "watts",
                     "joules_per_image", "energy_saved", "flops_per_watt", "version", STN_VERSION);
}

struct drawing {
    const char *path, *title, *y_label;
    double (*value)(const struct sim_sizing_row *row);
    double (*limit)(const struct sim_sizing_row *row); // NULL: none
};

static double speed(const struct sim_sizing_row *row)
{
    return row->images_per_s;
}

static double ceiling(const struct sim_sizing_row *row)
{
    return row->ceiling;
}

static double joules(const struct sim_sizing_row *row)
{
    return row->joules_per_image;
}

static enum stn_status add_series(struct plot *plot, const struct sim_sizing *sizing,
                                  double (*value)(const struct sim_sizing_row *row),
                                  const char *label, bool dashed)
{
    double *x = calloc((size_t)sizing->count, sizeof(*x));
    double *y = calloc((size_t)sizing->count, sizeof(*y));
    enum stn_status status = STN_OK;
    if (!x || !y) {
        status = stn_fail(STN_ERR_NO_MEMORY, "no memory to draw %d points", sizing->count);
        goto out_free;
    }
    for (int i = 0; i < sizing->count; i++) {
        x[i] = sizing->rows[i].csds;
        y[i] = value(&sizing->rows[i]);
    }
    struct plot_series series = {.label = label,
                                 .kind = dashed ? PLOT_LINE : PLOT_LINE_AND_POINTS,
                                 .x = x,
                                 .y = y,
                                 .count = sizing->count,
                                 .dashed = dashed,
                                 .colour = -1};
    status = plot_add(plot, &series);
out_free:
    free(x);
    free(y);
    return status;
}

static enum stn_status draw(const struct settings *s, const struct sim_sizing *sizing,
                            const struct drawing *drawing)
{
    char subtitle[256];
    snprintf(subtitle, sizeof(subtitle), "%s with %s, %s; simulated", s->host, s->csd, s->net);
    const struct plot_options options_of_plot = {.title = drawing->title,
                                                 .subtitle = subtitle,
                                                 .x_label = "CSDs",
                                                 .y_label = drawing->y_label,
                                                 .y_from_zero = true};
    struct plot *plot;
    enum stn_status status = plot_create(&options_of_plot, &plot);
    if (status != STN_OK) {
        return status;
    }
    status = add_series(plot, sizing, drawing->value, settings_policy_names[s->policy], false);
    if (status == STN_OK && drawing->limit) {
        status = add_series(plot, sizing, drawing->limit, "sum of all nodes", true);
    }
    if (status == STN_OK) {
        status = plot_write(plot, drawing->path);
    }
    plot_destroy(plot);
    return status;
}

static enum stn_status show(const struct settings *s, const struct sim_sizing *sizing)
{
    const struct drawing speeds = {s->plot, "Speed", "images a second", speed, ceiling};
    const struct drawing energy = {s->plot_energy, "Energy, modelled", "joules an image", joules,
                                   NULL};
    enum stn_status status = STN_OK;
    if (s->json) {
        status = verb_print_json(describe(s, sizing));
    } else {
        print_human(s, sizing);
    }
    if (status == STN_OK && s->plot) {
        status = draw(s, sizing, &speeds);
    }
    if (status == STN_OK && s->plot_energy) {
        status = draw(s, sizing, &energy);
    }
    return status;
}

static enum stn_status draw_front(const struct settings *s, const struct sim_sizing_config *config)
{
    char subtitle[256];
    struct sim_front front;
    snprintf(subtitle, sizeof(subtitle), "%s with %s %s, %s; simulated", s->host, s->count, s->csd,
             s->net);
    enum stn_status status = sim_front_run(config, &front);
    if (status == STN_OK) {
        status = front_view_draw(&front, subtitle, s->pareto);
        sim_front_fini(&front);
    }
    return status;
}

static enum stn_status run_with_devices(const struct settings *s, const struct sim_devices *devices)
{
    struct sim_sizing_config config = {0};
    struct plan_objective objective;
    struct sim_sizing sizing;
    struct sim_device *host, *csd;
    enum stn_status status = check(s, &config);
    if (status == STN_OK) {
        status = sim_devices_require(devices, s->host, "--host", &host);
    }
    if (status == STN_OK) {
        status = sim_devices_require(devices, s->csd, "--csd", &csd);
    }
    if (status != STN_OK) {
        return status;
    }
    if (s->plot_energy && !(host->power.busy_w > 0.0)) {
        return stn_fail(STN_ERR_INVALID, "--plot-energy: device %s has no power in its profile",
                        s->host);
    }
    config.host = host;
    config.csd = csd;
    status = objective_of(s, &objective, &config.objective);
    if (status == STN_OK) {
        status = sim_sizing_run(&config, &sizing);
    }
    if (status == STN_OK) {
        status = show(s, &sizing);
        sim_sizing_fini(&sizing);
    }
    return status == STN_OK && s->pareto ? draw_front(s, &config) : status;
}

static enum stn_status run(const struct verb_call *call)
{
    const struct settings *s = &call->settings.values;
    struct sim_devices devices = {0};
    enum stn_status status = sim_devices_add_builtin(&devices);
    if (status == STN_OK && s->devices) {
        status = sim_devices_add_file(&devices, s->devices);
    }
    if (status == STN_OK) {
        status = run_with_devices(s, &devices);
    }
    sim_devices_fini(&devices);
    return status;
}

const struct verb verb_size = {&command, run, false, NULL, NULL};
