// SPDX-License-Identifier: Apache-2.0
// Diagrams as SVG files that can stand in a paper: one pair of axes, lines, points with error bars,
// steps, shaded spans, a legend. Chooses round ticks. The same input gives the same bytes.
//
//     plot_create → { plot_add | plot_shade | plot_mark } … → plot_write → plot_destroy
#ifndef PLOT_PLOT_H
#define PLOT_PLOT_H

#include <stdbool.h>

#include "stannis/status.h"

struct plot_options {
    const char *title, *subtitle; // NULL: none
    const char *x_label, *y_label;
    bool x_log; // logarithmic; values must be > 0
    bool y_log;
    bool y_from_zero;
    int width, height; // pixels; 0: 720 × 440
};

enum plot_kind { PLOT_LINE, PLOT_POINTS, PLOT_LINE_AND_POINTS, PLOT_STEPS };

struct plot_series {
    const char *label; // in the legend; NULL: not there
    enum plot_kind kind;
    const double *x, *y;      // [count] copied; a y that is not finite is a gap
    const double *low, *high; // [count] error bars (points) or a band (lines); NULL: none
    int count;
    bool dashed;
    int colour; // which of the palette; −1: the next one
};

struct plot;

STN_MUST_CHECK enum stn_status plot_create(const struct plot_options *options, struct plot **out);
void plot_destroy(struct plot *plot); // NULL is fine
STN_MUST_CHECK enum stn_status plot_add(struct plot *plot, const struct plot_series *series);
// A span of x behind everything, as for a time under load, with a word at its top.
STN_MUST_CHECK enum stn_status plot_shade(struct plot *plot, double x_from, double x_to,
                                          const char *label);
// A horizontal line at y with a word, as for a limit.
STN_MUST_CHECK enum stn_status plot_mark(struct plot *plot, double y, const char *label);
// Replaces the file whole or not at all.
STN_MUST_CHECK enum stn_status plot_write(const struct plot *plot, const char *path);

#endif
