// SPDX-License-Identifier: Apache-2.0
#include "plan_view.h"

#include <math.h>
#include <stdio.h>

#include "plot/plot.h"

enum { POINTS = 64 };

static double seconds_of(const struct stn_plan_node *node, double micro_batches)
{
    return node->fixed_seconds + node->each_seconds * micro_batches;
}

// Speeds up to twice the largest share, so that saturation shows.
static double most_micro_batches(const struct stn_plan *plan)
{
    double most = 2.0;
    for (int i = 0; i < stn_plan_info(plan)->nodes; i++) {
        most = fmax(most, 2.0 * stn_plan_node(plan, i)->micro_batches);
    }
    return most;
}

// The line's error carries over to the speed; the two errors are taken as independent.
static double error_of(const struct stn_plan_node *node, double micro_batches)
{
    return hypot(node->fixed_error, node->each_error * micro_batches);
}

static enum stn_status add_curve(struct plot *plot, const struct stn_plan *plan, int i, double most)
{
    const struct stn_plan_node *node = stn_plan_node(plan, i);
    const int micro_batch = stn_plan_info(plan)->micro_batch;
    double x[POINTS], y[POINTS], low[POINTS], high[POINTS];
    for (int p = 0; p < POINTS; p++) {
        double m = 1.0 + (most - 1.0) * p / (POINTS - 1), images = m * micro_batch;
        double seconds = seconds_of(node, m), error = fmin(error_of(node, m), 0.5 * seconds);
        x[p] = images;
        y[p] = images / seconds;
        low[p] = images / (seconds + error);
        high[p] = images / (seconds - error);
    }
    const struct plot_series curve = {.label = node->name,
                                      .kind = PLOT_LINE,
                                      .x = x,
                                      .y = y,
                                      .low = low,
                                      .high = high,
                                      .count = POINTS,
                                      .dashed = node->doubt != NULL,
                                      .colour = i};
    enum stn_status status = plot_add(plot, &curve);
    if (status != STN_OK || node->micro_batches == 0) {
        return status;
    }
    double at = (double)node->micro_batches * micro_batch;
    double speed = at / seconds_of(node, node->micro_batches);
    const struct plot_series share = {
        .kind = PLOT_POINTS, .x = &at, .y = &speed, .count = 1, .colour = i};
    return plot_add(plot, &share);
}

enum stn_status plan_plot(const struct stn_plan *plan, const char *path)
{
    const struct stn_plan_info *info = stn_plan_info(plan);
    char title[128], subtitle[160];
    snprintf(title, sizeof(title), "%.40s, %d pixels: speed of a node by its batch", info->net,
             info->image_size);
    snprintf(subtitle, sizeof(subtitle),
             "points: shares of a step of %d images; together %.4g img/s predicted", info->batch,
             info->images_per_second);
    const struct plot_options options = {.title = title,
                                         .subtitle = subtitle,
                                         .x_label = "images a step on this node",
                                         .y_label = "images a second",
                                         .y_from_zero = true};
    struct plot *plot;
    enum stn_status status = plot_create(&options, &plot);
    if (status != STN_OK) {
        return status;
    }
    double most = most_micro_batches(plan);
    for (int i = 0; i < info->nodes && status == STN_OK; i++) {
        status = add_curve(plot, plan, i, most);
    }
    if (status == STN_OK) {
        status = plot_write(plot, path);
    }
    plot_destroy(plot);
    return status;
}
