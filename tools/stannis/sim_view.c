// SPDX-License-Identifier: Apache-2.0
#include "sim_view.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report/bar.h"
#include "report/format.h"
#include "sim/energy.h"
#include "stannis/stannis.h"

// Real seconds: before anything is shown, and between two lines on a terminal and elsewhere.
static const double patience_s = 1.0, redraw_s = 0.1, line_s = 10.0;

// ---- progress ----------------------------------------------------------------------------------

struct sim_view_progress sim_view_progress_start(void)
{
    double now_s = base_clock_seconds();
    return (struct sim_view_progress){
        .options = report_progress_detect(stderr),
        .begin_s = now_s,
        .shown_s = now_s - line_s + patience_s,
    };
}

// Of the run, by steps or by samples, whichever ends it first.
static double share_done(const struct sim_config *config, const struct sim_step *step)
{
    double by_steps = config->steps > 0 ? (double)step->step / (double)config->steps : 0.0;
    double epoch = (double)step->epoch_position / (double)step->epoch_samples;
    double by_epochs = config->epochs > 0 ? (step->epoch - 1 + epoch) / config->epochs : 0.0;
    return by_steps > by_epochs ? by_steps : by_epochs;
}

void sim_view_progress_step(struct sim_view_progress *progress, const struct sim_config *config,
                            const struct sim_step *step)
{
    double now_s = base_clock_seconds();
    bool on_terminal = progress->options.style == REPORT_TERMINAL;
    if (now_s - progress->begin_s < patience_s ||
        now_s - progress->shown_s < (on_terminal ? redraw_s : line_s)) {
        return;
    }
    char line[512], steps[48], virtual_time[64];
    struct report_text count, duration;
    snprintf(steps, sizeof(steps), "step %s", report_count(&count, step->step));
    snprintf(virtual_time, sizeof(virtual_time), "virtual time %s",
             report_duration(&duration, step->begin_s + step->seconds));
    const struct report_bar bar = {.title = "simulating",
                                   .share = share_done(config, step),
                                   .fields = {steps, virtual_time},
                                   .field_count = 2,
                                   .colour = progress->options.colour,
                                   .utf8 = progress->options.utf8};
    int columns = progress->options.columns > 0 ? progress->options.columns : 79;
    size_t length = report_bar_render(&bar, columns, line, sizeof(line));
    fprintf(stderr, "%s%.*s%s", on_terminal ? "\r" : "", (int)length, line,
            on_terminal ? "\033[K" : "\n");
    fflush(stderr);
    progress->shown_s = now_s;
    progress->drawn = on_terminal;
}

void sim_view_progress_end(struct sim_view_progress *progress)
{
    if (progress->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

// ---- table -------------------------------------------------------------------------------------

// Nodes in a row that are alike: name.0 … name.n.
struct group {
    int first, end;
    double busy_s, idle_s;
    int64_t images, private_images;
    int first_low, first_high, last_low, last_high; // micro-batches
};

static size_t stem_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

static bool is_alike(const struct sim_node *a, const struct sim_node *b)
{
    size_t stem = stem_of(a->name);
    return a->kind == b->kind && stem == stem_of(b->name) && strncmp(a->name, b->name, stem) == 0;
}

static void widen(int value, bool first, int *low, int *high)
{
    *low = first || value < *low ? value : *low;
    *high = first || value > *high ? value : *high;
}

static struct group group_from(const struct sim_view *view, int first)
{
    struct group group = {.first = first, .end = first};
    const struct sim_node *nodes = view->scene->nodes;
    while (group.end < view->scene->count && is_alike(&nodes[first], &nodes[group.end])) {
        const struct sim_node_result *node = &view->result->nodes[group.end];
        bool is_first = group.end == first;
        group.busy_s += node->busy_s;
        group.idle_s += node->idle_s;
        group.images += node->images;
        group.private_images += node->private_images;
        widen(node->split_first, is_first, &group.first_low, &group.first_high);
        widen(node->split_last, is_first, &group.last_low, &group.last_high);
        group.end++;
    }
    return group;
}

static const char *range_text(struct report_text *to, int low, int high)
{
    if (low == high) {
        snprintf(to->text, sizeof(to->text), "%d", low);
    } else {
        snprintf(to->text, sizeof(to->text), "%d-%d", low, high);
    }
    return to->text;
}

static double share_of(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

static void print_group(const struct sim_view *view, const struct group *group)
{
    char name[80];
    const struct sim_node *nodes = view->scene->nodes;
    int count = group->end - group->first;
    snprintf(name, sizeof(name), "%s", nodes[group->first].name);
    if (count > 1) {
        snprintf(name, sizeof(name), "%.*s × %d", (int)stem_of(name), nodes[group->first].name,
                 count);
    }
    struct report_text first, last, busy, images;
    int pad = 24 + (int)strlen(name) - report_columns(name);
    printf("%-*s %9s %9s %8s %14s", pad, name,
           range_text(&first, group->first_low, group->first_high),
           range_text(&last, group->last_low, group->last_high),
           report_percent(&busy, share_of(group->busy_s, group->busy_s + group->idle_s)),
           report_count(&images, group->images));
    if (group->private_images > 0) {
        printf("  %s of them private", report_count(&images, group->private_images));
    }
    putchar('\n');
}

static void print_nodes(const struct sim_view *view)
{
    enum { ROWS_MAX = 40 };
    printf("%-24s %9s %9s %8s %14s\n", "node", "at first", "at last", "busy", "images");
    int rows = 0;
    for (int i = 0; i < view->scene->count; rows++) {
        if (rows == ROWS_MAX) {
            printf("… and %d nodes more (--report has all)\n", view->scene->count - i);
            return;
        }
        struct group group = group_from(view, i);
        print_group(view, &group);
        i = group.end;
    }
}

static void print_phases(const struct sim_view *view)
{
    const struct sim_result *result = view->result;
    if (result->phase_count < 2) {
        return;
    }
    printf("\n%-24s %9s %14s\n", "steps", "img/s", "virtual time");
    for (int i = 0; i < result->phase_count; i++) {
        const struct sim_phase *phase = &result->phases[i];
        char steps[64];
        struct report_text speed, duration;
        snprintf(steps, sizeof(steps), "%lld to %lld", (long long)phase->first_step,
                 (long long)phase->last_step);
        printf("%-24s %9s %14s\n", steps, report_speed(&speed, phase->images_per_s),
               report_duration(&duration, phase->seconds));
    }
}

static void print_losses(const struct sim_view *view)
{
    const struct sim_result *result = view->result;
    struct report_text count;
    if (result->lost_node >= 0) {
        printf("lost      %s in step %lld; %s\n", view->scene->nodes[result->lost_node].name,
               (long long)result->lost_step,
               result->stopped ? "the run ended there, as a real one does"
                               : "the others went on from the last checkpoint");
    }
    if (result->repeated > 0) {
        printf("repeated  %s images\n", report_count(&count, result->repeated));
    }
    if (result->lost > 0) {
        printf("lost      %s private samples with their nodes\n",
               report_count(&count, result->lost));
    }
    if (result->unreached > 0) {
        printf("unreached %s samples of epochs that the policy ended early\n",
               report_count(&count, result->unreached));
    }
}

// False: of some nodes it is not known.
static bool energy_of(const struct sim_view *view, struct sim_energy *out)
{
    for (int i = 0; i < view->scene->count; i++) {
        if (view->scene->powers[i] == NULL) {
            return false;
        }
    }
    *out = sim_energy_of(view->result, view->scene->powers, SIM_WAITING_SLEEPS);
    return true;
}

static void print_energy(const struct sim_view *view)
{
    struct sim_energy energy;
    if (view->result->images > 0 && energy_of(view, &energy)) {
        printf("energy    %.3g J an image, %.4g W (modelled)\n", energy.joules_per_image,
               energy.watts);
    }
}

void sim_view_print(const struct sim_view *view)
{
    const struct sim_result *result = view->result;
    struct report_text nodes, batch, images, duration, speed, ceiling, share, exposed;
    printf("%s, simulated: %s nodes, policy %s, batch %s in micro-batches of %d\n\n", view->net,
           report_count(&nodes, view->scene->count), view->config->policy->name,
           report_count(&batch, (int64_t)result->micro_batches * view->config->micro_batch),
           view->config->micro_batch);
    print_nodes(view);
    print_phases(view);
    printf("\nspeed     %s img/s, %s of the sum of the nodes' speeds (%s)\n",
           report_speed(&speed, result->images_per_s),
           report_percent(&share, share_of(result->images_per_s, result->ceiling)),
           report_speed(&ceiling, result->ceiling));
    printf("time      %s for %s images, %s of it exchange that was seen\n",
           report_duration(&duration, result->seconds), report_count(&images, result->images),
           report_percent(&exposed, share_of(result->exposed_s, result->seconds)));
    printf("plan      changed %lld times, %lld probes\n", (long long)result->replans,
           (long long)result->probes);
    print_energy(view);
    print_losses(view);
    if (view->cpu_s > 0.0) {
        printf("timing    %.3g s of CPU time, %.0f ns a node and step; decisions took %.3g s, "
               "at most %.2g %% of a virtual step\n",
               view->cpu_s, 1e9 * view->cpu_s / view->scene->count / (double)result->steps,
               result->decide_s, 100.0 * result->decide_most);
    }
}

// ---- JSON --------------------------------------------------------------------------------------

static json_t *describe_nodes(const struct sim_view *view)
{
    json_t *list = json_array();
    for (int i = 0; i < view->scene->count; i++) {
        const struct sim_node_result *node = &view->result->nodes[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:I, s:i, s:i, s:f, s:f}", "name", view->scene->nodes[i].name,
                      "images", (json_int_t)node->images, "private_images",
                      (json_int_t)node->private_images, "micro_batches_first", node->split_first,
                      "micro_batches_last", node->split_last, "busy_seconds", node->busy_s,
                      "idle_seconds", node->idle_s));
    }
    return list;
}

static json_t *describe_phases(const struct sim_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->phase_count; i++) {
        const struct sim_phase *phase = &result->phases[i];
        json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:f, s:f}", "first_step",
                                              (json_int_t)phase->first_step, "last_step",
                                              (json_int_t)phase->last_step, "images",
                                              (json_int_t)phase->images, "seconds", phase->seconds,
                                              "images_per_second", phase->images_per_s));
    }
    return list;
}

static json_t *describe_lost(const struct sim_view *view)
{
    const struct sim_result *result = view->result;
    if (result->lost_node < 0) {
        return json_null();
    }
    return json_pack("{s:s, s:I, s:I, s:I}", "node", view->scene->nodes[result->lost_node].name,
                     "step", (json_int_t)result->lost_step, "repeated_images",
                     (json_int_t)result->repeated, "lost_samples", (json_int_t)result->lost);
}

static json_t *describe_timing(const struct sim_view *view)
{
    return json_pack("{s:f, s:f, s:f}", "cpu_seconds", view->cpu_s, "decide_seconds",
                     view->result->decide_s, "decide_share_most", view->result->decide_most);
}

json_t *sim_view_json(const struct sim_view *view)
{
    const struct sim_result *r = view->result;
    json_t *object = json_pack(
        "{s:b, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:i, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I, "
        "s:b, s:o, s:o, s:o, s:s}",
        "simulated", true, "net", view->net, "policy", view->config->policy->name, "nodes_count",
        view->scene->count, "batch", r->micro_batches * view->config->micro_batch, "micro_batch",
        view->config->micro_batch, "seed", (json_int_t)view->config->seed, "steps",
        (json_int_t)r->steps, "epochs", r->epochs, "images", (json_int_t)r->images, "seconds",
        r->seconds, "images_per_second", r->images_per_s, "ceiling_images_per_second", r->ceiling,
        "exposed_exchange_seconds", r->exposed_s, "replans", (json_int_t)r->replans, "probes",
        (json_int_t)r->probes, "unreached_samples", (json_int_t)r->unreached, "stopped", r->stopped,
        "lost", describe_lost(view), "phases", describe_phases(r), "nodes", describe_nodes(view),
        "version", STN_VERSION);
    struct sim_energy energy;
    if (object != NULL && view->result->images > 0 && energy_of(view, &energy)) {
        json_object_set_new(object, "energy_modelled",
                            json_pack("{s:f, s:f, s:f}", "joules", energy.joules, "watts",
                                      energy.watts, "joules_per_image", energy.joules_per_image));
    }
    if (object != NULL && view->cpu_s > 0.0) {
        json_object_set_new(object, "timing", describe_timing(view));
    }
    return object;
}
