// SPDX-License-Identifier: Apache-2.0
// Speed over the steps of a simulated run, with the times under load shaded.
#include <math.h>
#include <stdio.h>

#include "plot/plot.h"
#include "sim_view.h"

enum { SPANS_MAX = 24 };

// Nodes that are loaded from the same step to the same step.
struct span {
    int64_t from, to;
    int nodes;
    const struct sim_load *load; // the first
};

static int spans_of(const struct sim_scene *scene, struct span spans[SPANS_MAX])
{
    int count = 0;
    for (int i = 0; i < scene->load_count; i++) {
        const struct sim_load *load = &scene->loads[i];
        int at = 0;
        while (at < count && (spans[at].from != load->from || spans[at].to != load->to)) {
            at++;
        }
        if (load->shape == SIM_LOAD_RECORDED || at == SPANS_MAX) {
            continue; // always there, or too many to tell apart
        }
        if (at == count) {
            spans[count++] = (struct span){.from = load->from, .to = load->to, .load = load};
        }
        spans[at].nodes++;
    }
    return count;
}

static enum stn_status shade(struct plot *plot, const struct sim_view *view)
{
    struct span spans[SPANS_MAX];
    int count = spans_of(view->scene, spans);
    enum stn_status status = STN_OK;
    for (int i = 0; i < count && status == STN_OK; i++) {
        char label[128];
        double last = (double)view->result->steps;
        const char *name = view->scene->nodes[spans[i].load->node].name;
        if (spans[i].nodes == 1) {
            snprintf(label, sizeof(label), "%s: %.3g× slower", name, spans[i].load->slowdown);
        } else {
            snprintf(label, sizeof(label), "%d nodes loaded", spans[i].nodes);
        }
        if ((double)spans[i].from <= last) {
            status = plot_shade(plot, (double)spans[i].from - 0.5,
                                fmin((double)spans[i].to, last) + 0.5, label);
        }
    }
    return status;
}

static enum stn_status draw(struct plot *plot, const struct sim_view *view)
{
    double steps[SIM_HISTORY_MOST], speeds[SIM_HISTORY_MOST];
    sim_history_speeds(view->history, steps, speeds);
    const struct plot_series series = {.label = view->config->policy->name,
                                       .kind = PLOT_LINE,
                                       .x = steps,
                                       .y = speeds,
                                       .count = view->history->count,
                                       .colour = -1};
    enum stn_status status = plot_add(plot, &series);
    if (status == STN_OK) {
        status = plot_mark(plot, view->result->ceiling, "sum of speeds");
    }
    return status == STN_OK ? shade(plot, view) : status;
}

enum stn_status sim_view_plot(const struct sim_view *view, const char *path)
{
    char title[160], subtitle[160];
    snprintf(title, sizeof(title), "%s on %d virtual nodes", view->net, view->scene->count);
    snprintf(subtitle, sizeof(subtitle), "simulated, batch %d in micro-batches of %d",
             view->result->micro_batches * view->config->micro_batch, view->config->micro_batch);
    const struct plot_options options = {.title = title,
                                         .subtitle = subtitle,
                                         .x_label = "step",
                                         .y_label = "images per second",
                                         .y_from_zero = true};
    struct plot *plot;
    enum stn_status status = plot_create(&options, &plot);
    if (status != STN_OK) {
        return status;
    }
    status = draw(plot, view);
    if (status == STN_OK) {
        status = plot_write(plot, path);
    }
    plot_destroy(plot);
    return status;
}
