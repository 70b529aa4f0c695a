// SPDX-License-Identifier: Apache-2.0
#include "plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "plot/figure.h"

enum { SIZE_LEAST = 160, SIZE_MOST = 20000 };

static enum stn_status fail_memory(void)
{
    return stn_fail(STN_ERR_NO_MEMORY, "no memory for a plot");
}

static enum stn_status fail_many(const char *what)
{
    return stn_fail(STN_ERR_INVALID, "a plot has at most %d %s", PLOT_ITEMS_MAX, what);
}

// NULL stays NULL; false: no memory.
static bool text_keep(struct plot *plot, const char **text)
{
    if (*text == NULL) {
        return true;
    }
    *text = base_arena_strdup(&plot->arena, *text);
    return *text != NULL;
}

static bool values_keep(struct plot *plot, const double **values, int count)
{
    if (*values == NULL || count == 0) {
        return true;
    }
    size_t bytes = (size_t)count * sizeof(**values);
    double *copy = base_arena_alloc(&plot->arena, bytes);
    if (copy != NULL) {
        memcpy(copy, *values, bytes);
    }
    *values = copy;
    return copy != NULL;
}

static bool is_size(int pixels)
{
    return pixels == 0 || (pixels >= SIZE_LEAST && pixels <= SIZE_MOST);
}

enum stn_status plot_create(const struct plot_options *options, struct plot **out)
{
    if (!is_size(options->width) || !is_size(options->height)) {
        return stn_fail(STN_ERR_INVALID, "a plot of %d × %d pixels: expected %d to %d each",
                        options->width, options->height, SIZE_LEAST, SIZE_MOST);
    }
    struct plot *plot = calloc(1, sizeof(*plot));
    if (plot == NULL) {
        return fail_memory();
    }
    struct plot_options *o = &plot->options;
    *o = *options;
    o->width = o->width > 0 ? o->width : 720;
    o->height = o->height > 0 ? o->height : 440;
    if (!text_keep(plot, &o->title) || !text_keep(plot, &o->subtitle) ||
        !text_keep(plot, &o->x_label) || !text_keep(plot, &o->y_label)) {
        plot_destroy(plot);
        return fail_memory();
    }
    *out = plot;
    return STN_OK;
}

void plot_destroy(struct plot *plot)
{
    if (plot != NULL) {
        base_arena_fini(&plot->arena);
        free(plot);
    }
}

// ---- what is added -----------------------------------------------------------------------------

static bool fits(double value, bool is_log)
{
    return isfinite(value) && (!is_log || value > 0.0);
}

static enum stn_status check_values(const struct plot *plot, const struct plot_series *series)
{
    const struct plot_options *o = &plot->options;
    for (int i = 0; i < series->count; i++) {
        bool gap = !isfinite(series->y[i]);
        bool bars = series->low != NULL && series->high != NULL && !gap;
        if (!fits(series->x[i], o->x_log) || (!gap && !fits(series->y[i], o->y_log)) ||
            (bars && (!fits(series->low[i], o->y_log) || !fits(series->high[i], o->y_log)))) {
            return stn_fail(STN_ERR_INVALID,
                            "plot, series '%s': value %d (%g, %g) cannot be shown%s",
                            series->label ? series->label : "", i, series->x[i], series->y[i],
                            o->x_log || o->y_log ? " on logarithmic axes" : "");
        }
    }
    return STN_OK;
}

enum stn_status plot_add(struct plot *plot, const struct plot_series *series)
{
    enum stn_status status = check_values(plot, series);
    if (status != STN_OK) {
        return status;
    }
    if (plot->series_count == PLOT_ITEMS_MAX) {
        return fail_many("series");
    }
    struct plot_series *added = &plot->series[plot->series_count];
    *added = *series;
    if (!text_keep(plot, &added->label) || !values_keep(plot, &added->x, added->count) ||
        !values_keep(plot, &added->y, added->count) ||
        !values_keep(plot, &added->low, added->count) ||
        !values_keep(plot, &added->high, added->count)) {
        return fail_memory();
    }
    if (added->colour < 0) {
        added->colour = plot->next_colour++;
    }
    plot->series_count++;
    return STN_OK;
}

enum stn_status plot_shade(struct plot *plot, double x_from, double x_to, const char *label)
{
    if (!fits(x_from, plot->options.x_log) || !fits(x_to, plot->options.x_log) || x_from > x_to) {
        return stn_fail(STN_ERR_INVALID, "plot: nothing can be shaded from %g to %g", x_from, x_to);
    }
    if (plot->span_count == PLOT_ITEMS_MAX) {
        return fail_many("shaded spans");
    }
    struct plot_span span = {x_from, x_to, label};
    if (!text_keep(plot, &span.label)) {
        return fail_memory();
    }
    int at = plot->span_count++; // from left to right, so that their words fit into few rows
    for (; at > 0 && plot->spans[at - 1].from > x_from; at--) {
        plot->spans[at] = plot->spans[at - 1];
    }
    plot->spans[at] = span;
    return STN_OK;
}

enum stn_status plot_mark(struct plot *plot, double y, const char *label)
{
    if (!fits(y, plot->options.y_log)) {
        return stn_fail(STN_ERR_INVALID, "plot: %g cannot be marked", y);
    }
    if (plot->limit_count == PLOT_ITEMS_MAX) {
        return fail_many("marks");
    }
    struct plot_limit *limit = &plot->limits[plot->limit_count];
    *limit = (struct plot_limit){y, label};
    if (!text_keep(plot, &limit->label)) {
        return fail_memory();
    }
    plot->limit_count++;
    return STN_OK;
}

// ---- the file ----------------------------------------------------------------------------------

enum stn_status plot_write(const struct plot *plot, const char *path)
{
    struct plot_svg svg = {0};
    plot_draw(plot, &svg);
    enum stn_status status =
        svg.failed ? fail_memory() : atomic_file_store(path, svg.bytes, svg.size);
    free(svg.bytes);
    return status;
}
