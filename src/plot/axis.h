// SPDX-License-Identifier: Apache-2.0
// One axis: a range of values, where round ones lie, what they are called, and which pixel a value
// has. Pure.
#ifndef PLOT_AXIS_H
#define PLOT_AXIS_H

#include <stdbool.h>

enum { PLOT_TICKS_MAX = 48, PLOT_TICK_TEXT = 24 };

struct plot_tick {
    double value;
    char text[PLOT_TICK_TEXT]; // "": a small one without a number
};

// Empty: low > high.
struct plot_axis {
    bool log;
    double low, high;
    double pixel_low, pixel_high; // where they are; the high one may be the smaller pixel
    struct plot_tick ticks[PLOT_TICKS_MAX];
    int tick_count;
};

struct plot_axis plot_axis_empty(bool log);
void plot_axis_include(struct plot_axis *axis, double value);
// Room around what was included, as a part of the range; a range without extent gets some.
void plot_axis_widen(struct plot_axis *axis, double below, double above);
// Round values within the range, about so many.
void plot_axis_choose_ticks(struct plot_axis *axis, int wanted);
double plot_axis_pixel(const struct plot_axis *axis, double value);

#endif
