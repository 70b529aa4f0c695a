// SPDX-License-Identifier: Apache-2.0
#include "report/bar.h"

#include "report/format.h"

enum { BAR_MAX = 30, BAR_MIN = 6, GAP = 2, GREEN = 32 };

size_t report_bar_render(const struct report_bar *bar, int columns, char *out, size_t size)
{
    struct report_writer w = {out, size, 0};
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
    report_put(&w, "%s", bar->title);
    if (bar_columns > 0) {
        report_put(&w, " ");
        report_put_bar(&w, bar->share, bar_columns, bar->colour ? GREEN : 0, bar->utf8);
    }
    for (int i = 0; i < fields; i++) {
        report_put(&w, "%*s%s", GAP, "", bar->fields[i]);
    }
    return w.used;
}
