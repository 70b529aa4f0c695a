// SPDX-License-Identifier: Apache-2.0
// A line of labelled fields and a bar that fits a given width: the bar shrinks first, then fields
// go from the right. Pure; any thread.
#ifndef REPORT_BAR_H
#define REPORT_BAR_H

#include <stdbool.h>
#include <stddef.h>

enum { REPORT_BAR_FIELDS_MAX = 8 };

struct report_bar {
    const char *title;                         // before the bar: "epoch 2/5"
    double share;                              // done, 0 … 1
    const char *fields[REPORT_BAR_FIELDS_MAX]; // after it, most important first
    int field_count;
    bool colour, utf8;
};

// Renders into `out` at most `columns` wide, escape sequences apart; returns the bytes written.
size_t report_bar_render(const struct report_bar *bar, int columns, char *out, size_t size);

#endif
