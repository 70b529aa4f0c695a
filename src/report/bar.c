// SPDX-License-Identifier: Apache-2.0
#include "report/bar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/format.h"

enum { BAR_MAX = 30, BAR_MIN = 6, GAP = 2 };

struct writer {
    char *out;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(w->out + w->used, w->size - w->used, format, args);
    va_end(args);
    if (length > 0) {
        w->used += (size_t)length;
        w->used = w->used < w->size ? w->used : w->size - 1;
    }
}

static void put_bar(struct writer *w, const struct report_bar *bar, int columns)
{
    double share = bar->share < 0 ? 0 : bar->share > 1 ? 1 : bar->share;
    int halves = (int)(share * 2 * columns);
    int full = halves / 2;
    put(w, "%s", bar->colour ? "\033[32m" : "");
    for (int i = 0; i < full; i++) {
        put(w, "%s", bar->utf8 ? "━" : "#");
    }
    bool half = bar->utf8 && halves % 2 == 1;
    put(w, "%s%s", half ? "╸" : "", bar->colour ? "\033[0;2m" : "");
    for (int i = full + half; i < columns; i++) {
        put(w, "%s", bar->utf8 ? "─" : "-");
    }
    put(w, "%s", bar->colour ? "\033[0m" : "");
}

size_t report_bar_render(const struct report_bar *bar, int columns, char *out, size_t size)
{
    struct writer w = {out, size, 0};
    out[0] = '\0';
    int used = report_columns(bar->title);
    if (used > columns) {
        return 0;
    }
    int fields = 0;
    for (; fields < bar->field_count; fields++) {
        int width = GAP + report_columns(bar->fields[fields]);
        if (used + width > columns) {
            break;
        }
        used += width;
    }
    int room = columns - used - 1;
    int bar_columns = room > BAR_MAX ? BAR_MAX : room < BAR_MIN ? 0 : room;
    put(&w, "%s", bar->title);
    if (bar_columns > 0) {
        put(&w, " ");
        put_bar(&w, bar, bar_columns);
    }
    for (int i = 0; i < fields; i++) {
        put(&w, "%*s%s", GAP, "", bar->fields[i]);
    }
    return w.used;
}
