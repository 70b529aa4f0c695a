// SPDX-License-Identifier: Apache-2.0
// What a plot holds, for the files of this folder.
#ifndef PLOT_FIGURE_H
#define PLOT_FIGURE_H

#include "base/arena.h"
#include "plot/plot.h"
#include "plot/svg.h"

enum { PLOT_ITEMS_MAX = 256 };

struct plot_span {
    double from, to;
    const char *label; // NULL: none
};

struct plot_limit {
    double y;
    const char *label;
};

struct plot {
    struct base_arena arena; // keeps texts and values
    struct plot_options options;
    struct plot_series series[PLOT_ITEMS_MAX];
    struct plot_span spans[PLOT_ITEMS_MAX];
    struct plot_limit limits[PLOT_ITEMS_MAX];
    int series_count, span_count, limit_count;
    int next_colour;
};

// The whole file.
void plot_draw(const struct plot *plot, struct plot_svg *svg);

#endif
