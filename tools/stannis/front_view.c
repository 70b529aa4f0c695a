// SPDX-License-Identifier: Apache-2.0
#include "front_view.h"

#include <stdlib.h>

#include "plot/plot.h"

// All points, or the best alone.
static enum stn_status add_points(struct plot *plot, const struct sim_front *front, bool best)
{
    double *x = calloc((size_t)front->count, sizeof(*x));
    double *y = calloc((size_t)front->count, sizeof(*y));
    enum stn_status status = STN_OK;
    int count = 0;
    if (!x || !y) {
        status = stn_fail(STN_ERR_NO_MEMORY, "no memory to draw %d points", front->count);
        goto out_free;
    }
    for (int i = 0; i < front->count; i++) {
        if (front->points[i].best || !best) {
            x[count] = front->points[i].images_per_s;
            y[count++] = front->points[i].joules_per_image;
        }
    }
    struct plot_series series = {.label = best ? "nothing is better in both" : "all plans",
                                 .kind = best ? PLOT_LINE_AND_POINTS : PLOT_POINTS,
                                 .x = x,
                                 .y = y,
                                 .count = count,
                                 .colour = best ? 1 : 0};
    status = plot_add(plot, &series);
out_free:
    free(x);
    free(y);
    return status;
}

enum stn_status front_view_draw(const struct sim_front *front, const char *subtitle,
                                const char *path)
{
    const struct plot_options options = {.title = "Speed against energy, modelled",
                                         .subtitle = subtitle,
                                         .x_label = "images a second",
                                         .y_label = "joules an image",
                                         .y_from_zero = true};
    struct plot *plot;
    enum stn_status status = plot_create(&options, &plot);
    if (status != STN_OK) {
        return status;
    }
    status = add_points(plot, front, false);
    if (status == STN_OK) {
        status = add_points(plot, front, true);
    }
    if (status == STN_OK) {
        status = plot_write(plot, path);
    }
    plot_destroy(plot);
    return status;
}

json_t *front_view_json(const struct sim_front *front)
{
    json_t *rows = json_array();
    for (int i = 0; i < front->count; i++) {
        const struct sim_front_point *point = &front->points[i];
        if (point->best) {
            json_array_append_new(
                rows, json_pack("{s:i, s:i, s:f, s:f, s:f}", "csds", point->csds, "working_csds",
                                point->working, "energy_weight", point->eta, "images_per_second",
                                point->images_per_s, "joules_per_image", point->joules_per_image));
        }
    }
    return rows;
}
