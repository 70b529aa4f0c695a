// SPDX-License-Identifier: Apache-2.0
#include "report/rows.h"

#include <math.h>
#include <stdio.h>

#include "report/format.h"

enum { INDENT = 2, GAP = 2, NAME_MIN = 8, NAME_MAX = 16, SHARE = 11, SPEED = 7, SLOWER = 6 };
enum { BAR_MIN = 8, BAR_MAX = 24, PERCENT = 6, NEWS_MIN = 13, NEWS_WANTED = 50 };
enum { GREEN = 32, YELLOW = 33 };
static const int64_t fresh_steps = 5; // a move is marked that long
static const double slower_least = 1.1;

// ---- what fits ---------------------------------------------------------------------------------

static bool is_fresh(const struct report_crew *crew, const struct report_crew_node *node)
{
    return node->moved != 0 && crew->step - node->moved_step < fresh_steps;
}

enum { DULL, FRESH, SLOW, INTERESTS };

static int interest(const struct report_crew *crew, const struct report_crew_node *node)
{
    return node->slow ? SLOW : is_fresh(crew, node) ? FRESH : DULL;
}

// The most interesting `room` nodes, in the order of the cluster.
static void choose(struct report_rows *rows, int room)
{
    const struct report_crew *crew = rows->crew;
    int counts[INTERESTS] = {0};
    for (int i = 0; i < crew->count; i++) {
        counts[interest(crew, &crew->nodes[i])]++;
    }
    for (int level = INTERESTS - 1; level >= 0; level--) {
        counts[level] = counts[level] < room ? counts[level] : room;
        room -= counts[level];
    }
    for (int i = 0; i < crew->count; i++) {
        if (counts[interest(crew, &crew->nodes[i])]-- > 0) {
            rows->shown[rows->shown_count++] = i;
        }
    }
}

static bool take(int *room, int columns)
{
    bool fits = *room >= columns;
    *room -= fits ? columns : 0;
    return fits;
}

static void lay_out(struct report_rows *rows, int columns)
{
    int longest = NAME_MIN;
    for (int i = 0; i < rows->shown_count; i++) {
        int wide = report_columns(rows->crew->nodes[rows->shown[i]].name);
        longest = wide > longest ? wide : longest;
    }
    rows->name = longest < NAME_MAX ? longest : NAME_MAX;
    int room = columns - INDENT - rows->name - SHARE;
    rows->speed = take(&room, GAP + SPEED) ? SPEED : 0;
    rows->bar = take(&room, GAP + BAR_MIN + PERCENT) ? BAR_MIN : 0;
    rows->slower = take(&room, GAP + SLOWER) ? SLOWER : 0;
    rows->news = take(&room, GAP + NEWS_MIN) ? NEWS_MIN : 0;
    int wanted = rows->news ? NEWS_WANTED - NEWS_MIN : 0;
    wanted = wanted < room ? wanted : room;
    rows->news += wanted;
    room -= wanted;
    if (rows->bar) {
        rows->bar += room < BAR_MAX - BAR_MIN ? room : BAR_MAX - BAR_MIN;
    }
}

struct report_rows report_rows_plan(const struct report_crew *crew, int columns, int lines,
                                    bool colour, bool utf8)
{
    struct report_rows rows = {.crew = crew, .colour = colour, .utf8 = utf8};
    int room = lines - 1; // the header
    room = room < REPORT_ROWS_MAX ? room : REPORT_ROWS_MAX;
    if (crew->count == 0 || room < 1 || columns < INDENT + NAME_MIN + SHARE) {
        return rows;
    }
    bool all = crew->count <= room;
    choose(&rows, all ? crew->count : room - 1);
    lay_out(&rows, columns);
    rows.lines = 1 + rows.shown_count + !all;
    return rows;
}

// ---- a line ------------------------------------------------------------------------------------

static void put_header(const struct report_rows *rows, struct report_writer *w)
{
    report_put(w, "%s%*s%-*s%*s", rows->colour ? "\033[2m" : "", INDENT, "", rows->name, "node",
               SHARE - 1, "share");
    report_put(w, " ");
    if (rows->speed) {
        report_put(w, "%*s%*s", GAP, "", rows->speed, "img/s");
    }
    if (rows->bar) {
        report_put(w, "%*s%-*s", GAP, "", rows->bar + PERCENT, "computing");
    }
    if (rows->slower) {
        report_put(w, "%*s%*s", GAP, "", rows->slower, "slower");
    }
    if (rows->news) {
        report_put(w, "%*slast change", GAP, "");
    }
    report_put(w, "%s", rows->colour ? "\033[0m" : "");
}

// The values of a row; the last row sums up all nodes that are not shown.
struct row {
    const char *name, *mark, *news;
    int micro_batches;
    double speed, busy, slowdown;
    bool slow;
};

static void put_row(const struct report_rows *rows, const struct row *row, struct report_writer *w)
{
    struct report_text speed;
    char share[32];
    int batch = row->micro_batches * rows->crew->micro_batch;
    bool colour = rows->colour;
    report_put(w, "%*s%s", INDENT, "", colour && row->slow ? "\033[33m" : "");
    report_put_clipped(w, row->name, rows->name, rows->utf8, true);
    snprintf(share, sizeof(share), "%d (%d)", row->micro_batches, batch);
    report_put(w, "%s%*s%s", colour && row->slow ? "\033[0m" : "", SHARE - 1, share, row->mark);
    if (rows->speed) {
        report_put(w, "%*s%*s", GAP, "", rows->speed,
                   row->speed > 0 ? report_speed(&speed, row->speed) : "-");
    }
    if (rows->bar) {
        report_put(w, "%*s", GAP, "");
        double halves = round(row->busy * 2 * rows->bar);
        report_put_bar(w, halves / (2 * rows->bar), rows->bar,
                       !colour     ? 0
                       : row->slow ? YELLOW
                                   : GREEN,
                       rows->utf8);
        report_put(w, " %3.0f %%", 100 * row->busy);
    }
    if (rows->slower && row->slowdown >= slower_least) {
        report_put(w, "%*s%s%4.1f %s%s", GAP, "", colour ? "\033[33m" : "", row->slowdown,
                   rows->utf8 ? "×" : "x", colour ? "\033[0m" : "");
    } else if (rows->slower && rows->news && *row->news) {
        report_put(w, "%*s", GAP + rows->slower, "");
    }
    if (rows->news && *row->news) {
        report_put(w, "%*s", GAP, "");
        report_put_clipped(w, row->news, rows->news, rows->utf8, false);
    }
}

static void put_node(const struct report_rows *rows, int index, struct report_writer *w)
{
    const struct report_crew_node *node = &rows->crew->nodes[index];
    char news[160];
    report_crew_news(rows->crew, index, news, sizeof(news));
    const char *up = rows->utf8 ? "▲" : "+", *down = rows->utf8 ? "▼" : "-";
    put_row(rows,
            &(struct row){.name = node->name,
                          .mark = !is_fresh(rows->crew, node) ? " "
                                  : node->moved > 0           ? up
                                                              : down,
                          .news = news,
                          .micro_batches = node->micro_batches,
                          .speed = report_crew_speed(rows->crew, index),
                          .busy = report_crew_busy(rows->crew, index),
                          .slowdown = node->slow ? node->slowdown : 0,
                          .slow = node->slow},
            w);
}

static void put_rest(const struct report_rows *rows, struct report_writer *w)
{
    const struct report_crew *crew = rows->crew;
    char name[32];
    int left = crew->count - rows->shown_count, next = 0;
    struct row row = {.name = name, .mark = " ", .news = ""};
    snprintf(name, sizeof(name), "%d more", left);
    for (int i = 0; i < crew->count; i++) {
        if (next < rows->shown_count && rows->shown[next] == i) {
            next++;
            continue;
        }
        row.micro_batches += crew->nodes[i].micro_batches;
        row.speed += report_crew_speed(crew, i);
        row.busy += report_crew_busy(crew, i) / left;
    }
    put_row(rows, &row, w);
}

void report_rows_line(const struct report_rows *rows, int line, char out[REPORT_ROW_BYTES])
{
    struct report_writer w = {out, REPORT_ROW_BYTES, 0};
    out[0] = '\0';
    if (line == 0) {
        put_header(rows, &w);
    } else if (line <= rows->shown_count) {
        put_node(rows, rows->shown[line - 1], &w);
    } else {
        put_rest(rows, &w);
    }
}
