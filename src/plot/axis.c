// SPDX-License-Identifier: Apache-2.0
#include "plot/axis.h"

#include <math.h>
#include <stdio.h>

// Rounding must not lose a tick at the very end of the range.
static const double slack = 1e-9;

struct plot_axis plot_axis_empty(bool log)
{
    return (struct plot_axis){.log = log, .low = INFINITY, .high = -INFINITY};
}

void plot_axis_include(struct plot_axis *axis, double value)
{
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

static double scaled(const struct plot_axis *axis, double value)
{
    return axis->log ? log10(value) : value;
}

static double unscaled(const struct plot_axis *axis, double value)
{
    return axis->log ? pow(10.0, value) : value;
}

void plot_axis_widen(struct plot_axis *axis, double below, double above)
{
    if (axis->low > axis->high) { // nothing to show
        axis->low = axis->log ? 1.0 : 0.0;
        axis->high = axis->log ? 10.0 : 1.0;
        return;
    }
    double low = scaled(axis, axis->low), high = scaled(axis, axis->high);
    double extent = high - low;
    if (extent <= fabs(high) * 1e-12) {
        extent = axis->log ? 0.5 : fmax(fabs(high) * 0.1, 1e-6);
        below = fmax(below, 0.5);
        above = fmax(above, 0.5);
    }
    axis->low = unscaled(axis, low - below * extent);
    axis->high = unscaled(axis, high + above * extent);
}

double plot_axis_pixel(const struct plot_axis *axis, double value)
{
    double low = scaled(axis, axis->low), high = scaled(axis, axis->high);
    double part = (scaled(axis, value) - low) / (high - low);
    return axis->pixel_low + part * (axis->pixel_high - axis->pixel_low);
}

// ---- ticks -------------------------------------------------------------------------------------

static void tick_add(struct plot_axis *axis, double value, const char *text)
{
    if (axis->tick_count < PLOT_TICKS_MAX) {
        struct plot_tick *tick = &axis->ticks[axis->tick_count++];
        tick->value = value;
        snprintf(tick->text, sizeof(tick->text), "%s", text);
    }
}

// 10,000 and more as 10k, 10M, 10G: all ticks have the unit that the largest one needs.
static double unit_of(double largest, const char **suffix)
{
    static const struct {
        double from, unit;
        const char *suffix;
    } units[] = {{1e13, 1e12, "T"}, {1e10, 1e9, "G"}, {1e7, 1e6, "M"}, {1e4, 1e3, "k"}};
    for (int i = 0; i < 4; i++) {
        if (largest >= units[i].from && largest < units[i].from * 1e6) {
            *suffix = units[i].suffix;
            return units[i].unit;
        }
    }
    *suffix = "";
    return 1.0;
}

static void tick_format(char text[PLOT_TICK_TEXT], double value, double step, double largest)
{
    const char *suffix;
    double unit = unit_of(largest, &suffix);
    if (largest >= 1e15 || step < 1e-5) {
        snprintf(text, PLOT_TICK_TEXT, "%.4g", value);
        return;
    }
    int digits = 0;
    for (double s = step / unit; digits < 6 && fabs(s - round(s)) > s * 1e-6; digits++) {
        s *= 10.0;
    }
    double shown = fabs(value) < step * slack ? 0.0 : value / unit; // no "-0"
    snprintf(text, PLOT_TICK_TEXT, "%.*f%s", digits, shown, shown == 0.0 ? "" : suffix);
}

// The round number next above: 1, 2, 2.5 or 5 times a power of ten.
static double round_step(double least)
{
    static const double steps[] = {1.0, 2.0, 2.5, 5.0, 10.0};
    double power = pow(10.0, floor(log10(least)));
    int i = 0;
    while (steps[i] * power < least * (1.0 - slack)) {
        i++;
    }
    return steps[i] * power;
}

static void ticks_linear(struct plot_axis *axis, int wanted)
{
    double step = round_step((axis->high - axis->low) / wanted);
    double largest = fmax(fabs(axis->low), fabs(axis->high));
    double first = ceil(axis->low / step - slack), last = floor(axis->high / step + slack);
    for (int i = 0; i <= (int)(last - first); i++) {
        char text[PLOT_TICK_TEXT];
        double value = (first + i) * step;
        tick_format(text, value, step, largest);
        tick_add(axis, value, text);
    }
}

static bool in_range(const struct plot_axis *axis, double value)
{
    return value >= axis->low * (1.0 - slack) && value <= axis->high * (1.0 + slack);
}

// Decades, or every so many of them; where there are few, 2 and 5 too; others are small.
static void ticks_log(struct plot_axis *axis, int wanted)
{
    double decades = log10(axis->high) - log10(axis->low);
    int every = (int)fmax(1.0, ceil(decades / wanted));
    int first = (int)floor(log10(axis->low)), last = (int)ceil(log10(axis->high));
    bool few = decades < 2.0;
    for (int decade = first; decade <= last; decade++) {
        double power = pow(10.0, decade);
        for (int k = 1; k <= (decades < 4.0 ? 9 : 1); k++) {
            bool named = k == 1 ? decade % every == 0 : few && (k == 2 || k == 5);
            if (in_range(axis, k * power)) {
                char text[PLOT_TICK_TEXT] = "";
                if (named) {
                    tick_format(text, k * power, power, 10.0 * k * power); // 1k and 1M
                }
                tick_add(axis, k * power, text);
            }
        }
    }
}

static int named_count(const struct plot_axis *axis)
{
    int count = 0;
    for (int i = 0; i < axis->tick_count; i++) {
        count += axis->ticks[i].text[0] != '\0';
    }
    return count;
}

void plot_axis_choose_ticks(struct plot_axis *axis, int wanted)
{
    axis->tick_count = 0;
    wanted = wanted < 2 ? 2 : wanted > 12 ? 12 : wanted;
    if (axis->log) {
        ticks_log(axis, wanted);
    }
    if (named_count(axis) < 2) { // or a piece of a decade
        axis->tick_count = 0;
        ticks_linear(axis, wanted);
    }
}
