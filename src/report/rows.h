// SPDX-License-Identifier: Apache-2.0
// The nodes of a running training as rows under its moving line: share, speed, how much of the time
// it computes, how much slower it is than it was, what happened last. Fits any width and height:
// columns go one by one, and of many nodes those are shown that something happened to, the rest in
// one row. Pure.
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include <stdbool.h>

#include "report/crew.h"

enum { REPORT_ROWS_MAX = 64, REPORT_ROW_BYTES = 1024 };

struct report_rows {
    const struct report_crew *crew;
    bool colour, utf8;
    int shown[REPORT_ROWS_MAX]; // nodes
    int shown_count;
    int lines; // all in all: a header, the nodes, and the rest if there is one
    // Columns of the screen; 0: no room
    int name, speed, bar, slower, news;
};

// What to show in a window of that size, of which `lines` are free for it. No lines: it is too
// small.
struct report_rows report_rows_plan(const struct report_crew *crew, int columns, int lines,
                                    bool colour, bool utf8);
void report_rows_line(const struct report_rows *rows, int line, char out[REPORT_ROW_BYTES]);

#endif
