// SPDX-License-Identifier: Apache-2.0
// Puts a plot on paper. From top to bottom: title, subtitle, legend, words of shaded spans, the
// plot itself, ticks, the x axis's label; words of marks stand to the right. So no word ever lies
// on data.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot/axis.h"
#include "plot/figure.h"

static const double title_size = 16.0, text_size = 12.0, small_size = 11.0;
static const double margin = 14.0, row = 18.0;
static const char dark[] = "fill=\"#222\"", grey[] = "fill=\"#666\"";

// Okabe and Ito's, which most colour-blind people can tell apart, without yellow, which paper
// cannot.
static const char *const palette[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000"};
enum { COLOURS = sizeof(palette) / sizeof(*palette) };

struct page {
    const struct plot *plot;
    struct plot_svg *svg;
    struct plot_axis x, y;
    double left, right, top, bottom; // of the plot itself
    double legend_y, words_y;
};

static const char *colour_of(const struct plot_series *series)
{
    return palette[series->colour % COLOURS];
}

static bool has_points(const struct plot_series *series)
{
    return series->kind == PLOT_POINTS || series->kind == PLOT_LINE_AND_POINTS;
}

// ---- ranges ------------------------------------------------------------------------------------

static void include_series(struct page *page, const struct plot_series *series)
{
    for (int i = 0; i < series->count; i++) {
        plot_axis_include(&page->x, series->x[i]);
        if (!isfinite(series->y[i])) {
            continue;
        }
        plot_axis_include(&page->y, series->y[i]);
        if (series->low != NULL && series->high != NULL) {
            plot_axis_include(&page->y, series->low[i]);
            plot_axis_include(&page->y, series->high[i]);
        }
    }
}

static void choose_ranges(struct page *page)
{
    const struct plot *plot = page->plot;
    page->x = plot_axis_empty(plot->options.x_log);
    page->y = plot_axis_empty(plot->options.y_log);
    bool points = false;
    for (int i = 0; i < plot->series_count; i++) {
        include_series(page, &plot->series[i]);
        points = points || has_points(&plot->series[i]);
    }
    for (int i = 0; i < plot->span_count; i++) {
        plot_axis_include(&page->x, plot->spans[i].from);
        plot_axis_include(&page->x, plot->spans[i].to);
    }
    for (int i = 0; i < plot->limit_count; i++) {
        plot_axis_include(&page->y, plot->limits[i].y);
    }
    if (plot->options.y_from_zero && !page->y.log) {
        plot_axis_include(&page->y, 0.0);
    }
    bool from_zero = page->y.low == 0.0 && !page->y.log;
    plot_axis_widen(&page->x, points ? 0.02 : 0.0, points ? 0.02 : 0.0);
    plot_axis_widen(&page->y, from_zero ? 0.0 : 0.05, 0.05);
}

// ---- room --------------------------------------------------------------------------------------

// Both are walked twice: once to know how much room they take, once to draw.
static double legend_walk(const struct page *page, double y, bool draws);
static int words_walk(const struct page *page, bool draws);

static double widest_tick(const struct plot_axis *axis)
{
    double widest = 0.0;
    for (int i = 0; i < axis->tick_count; i++) {
        widest = fmax(widest, plot_text_width(axis->ticks[i].text, small_size));
    }
    return widest;
}

static double widest_mark(const struct plot *plot)
{
    double widest = 0.0;
    for (int i = 0; i < plot->limit_count; i++) {
        if (plot->limits[i].label != NULL) {
            widest = fmax(widest, plot_text_width(plot->limits[i].label, small_size) + 6.0);
        }
    }
    return widest;
}

static void lay_out(struct page *page)
{
    const struct plot_options *o = &page->plot->options;
    double y = margin;
    y += o->title != NULL ? title_size + 4.0 : 0.0;
    y += o->subtitle != NULL ? text_size + 6.0 : 0.0;
    page->bottom = o->height - margin - 20.0 - (o->x_label != NULL ? row : 0.0);
    plot_axis_choose_ticks(&page->y, (int)((page->bottom - y) / 55.0));
    page->left = margin + widest_tick(&page->y) + 8.0 + (o->y_label != NULL ? row : 0.0);
    page->right = fmax(o->width - margin - widest_mark(page->plot), page->left + 40.0);
    page->legend_y = y;
    y = legend_walk(page, y, false);
    plot_axis_choose_ticks(&page->x, (int)((page->right - page->left) / 80.0));
    page->x.pixel_low = page->left;
    page->x.pixel_high = page->right;
    page->words_y = y;
    page->top = fmin(y + row * words_walk(page, false) + 8.0, page->bottom - 40.0);
    page->y.pixel_low = page->bottom;
    page->y.pixel_high = page->top;
}

// ---- frame -------------------------------------------------------------------------------------

static void line(const struct page *page, double x1, double y1, double x2, double y2,
                 const char *style)
{
    plot_svg_add(page->svg, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" %s/>\n", x1, y1,
                 x2, y2, style);
}

// Made smaller if it does not fit into the width.
static void heading(const struct page *page, double y, double size, const char *style,
                    const char *text)
{
    double room = page->plot->options.width - 2.0 * margin;
    double fitting = size * room / plot_text_width(text, size);
    plot_svg_text(page->svg, margin, y, fmin(size, fmax(fitting, 6.0)), style, text);
}

static void draw_headings(const struct page *page)
{
    const struct plot_options *o = &page->plot->options;
    double y = margin;
    if (o->title != NULL) {
        y += title_size;
        heading(page, y - 2.0, title_size, "fill=\"#222\" font-weight=\"bold\"", o->title);
        y += 4.0;
    }
    if (o->subtitle != NULL) {
        heading(page, y + text_size - 2.0, text_size, grey, o->subtitle);
    }
}

static void draw_x_ticks(const struct page *page)
{
    double free_from = -INFINITY;
    for (int i = 0; i < page->x.tick_count; i++) {
        const struct plot_tick *tick = &page->x.ticks[i];
        double x = plot_axis_pixel(&page->x, tick->value);
        double half = plot_text_width(tick->text, small_size) / 2.0;
        line(page, x, page->bottom, x, page->bottom + (*tick->text ? 5.0 : 3.0), "stroke=\"#444\"");
        if (*tick->text && x - half > free_from) {
            plot_svg_text(page->svg, x, page->bottom + 18.0, small_size,
                          "fill=\"#444\" text-anchor=\"middle\"", tick->text);
            free_from = x + half + 4.0;
        }
    }
}

static void draw_y_ticks(const struct page *page)
{
    for (int i = 0; i < page->y.tick_count; i++) {
        const struct plot_tick *tick = &page->y.ticks[i];
        double y = plot_axis_pixel(&page->y, tick->value);
        if (!*tick->text) {
            line(page, page->left - 3.0, y, page->left, y, "stroke=\"#999\"");
            continue;
        }
        line(page, page->left, y, page->right, y, "stroke=\"#e4e4e4\"");
        plot_svg_text(page->svg, page->left - 7.0, y + 4.0, small_size,
                      "fill=\"#444\" text-anchor=\"end\"", tick->text);
    }
}

static void draw_axes(const struct page *page)
{
    const struct plot_options *o = &page->plot->options;
    draw_y_ticks(page);
    line(page, page->left, page->bottom, page->right, page->bottom, "stroke=\"#444\"");
    draw_x_ticks(page);
    if (o->x_label != NULL) {
        plot_svg_text(page->svg, (page->left + page->right) / 2.0, o->height - margin + 2.0,
                      text_size, "fill=\"#222\" text-anchor=\"middle\"", o->x_label);
    }
    if (o->y_label != NULL) {
        double x = margin + text_size - 4.0, y = (page->top + page->bottom) / 2.0;
        char style[128];
        snprintf(style, sizeof(style),
                 "fill=\"#222\" text-anchor=\"middle\" transform=\"rotate(-90 %.2f %.2f)\"", x, y);
        plot_svg_text(page->svg, x, y, text_size, style, o->y_label);
    }
}

// ---- spans and marks ---------------------------------------------------------------------------

// Words above their spans, each in the first row where it has room. Returns how many rows.
static int words_walk(const struct page *page, bool draws)
{
    enum { ROWS_MAX = 4 };
    double free_from[ROWS_MAX] = {0};
    int rows = 0;
    for (int i = 0; i < page->plot->span_count; i++) {
        const struct plot_span *span = &page->plot->spans[i];
        if (span->label == NULL || *span->label == '\0') {
            continue;
        }
        double width = plot_text_width(span->label, small_size);
        double x = plot_axis_pixel(&page->x, span->from);
        x = fmax(fmin(x, page->right - width), page->left);
        int at = 0;
        while (at < ROWS_MAX && x < free_from[at]) {
            at++;
        }
        if (at == ROWS_MAX) {
            continue; // no room for any more words
        }
        free_from[at] = x + width + 8.0;
        rows = at + 1 > rows ? at + 1 : rows;
        if (draws) {
            plot_svg_text(page->svg, x, page->words_y + row * at + small_size + 1.0, small_size,
                          grey, span->label);
        }
    }
    return rows;
}

static void draw_spans(const struct page *page)
{
    for (int i = 0; i < page->plot->span_count; i++) {
        const struct plot_span *span = &page->plot->spans[i];
        double from = plot_axis_pixel(&page->x, span->from);
        double width = fmax(plot_axis_pixel(&page->x, span->to) - from, 1.0);
        plot_svg_add(page->svg,
                     "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#000\" "
                     "fill-opacity=\"0.07\"/>\n",
                     from, page->top, width, page->bottom - page->top);
    }
    words_walk(page, true);
}

// Words of marks from the lowest line up, each at its line or pushed up by the one below.
static void draw_marks(const struct page *page)
{
    const struct plot *plot = page->plot;
    bool done[PLOT_ITEMS_MAX] = {false};
    double free_until = INFINITY;
    for (int k = 0; k < plot->limit_count; k++) {
        int lowest = 0;
        while (done[lowest]) {
            lowest++;
        }
        for (int i = lowest + 1; i < plot->limit_count; i++) {
            if (!done[i] && plot->limits[i].y < plot->limits[lowest].y) {
                lowest = i;
            }
        }
        done[lowest] = true;
        const struct plot_limit *limit = &plot->limits[lowest];
        double y = plot_axis_pixel(&page->y, limit->y);
        line(page, page->left, y, page->right, y, "stroke=\"#666\" stroke-dasharray=\"2 3\"");
        if (limit->label != NULL) {
            double word_y = fmin(y + 4.0, free_until);
            plot_svg_text(page->svg, page->right + 5.0, word_y, small_size, grey, limit->label);
            free_until = word_y - small_size - 2.0;
        }
    }
}

// ---- series ------------------------------------------------------------------------------------

// A different mark for each colour: paper is often black and white.
static void draw_point(const struct page *page, int shape, double x, double y, const char *colour)
{
    struct plot_svg *svg = page->svg;
    switch (shape % 4) {
    case 0:
        plot_svg_add(svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\"/>\n", x, y,
                     colour);
        break;
    case 1:
        plot_svg_add(svg, "<path d=\"M%.2f %.2fh6.4v6.4h-6.4z\" fill=\"%s\"/>\n", x - 3.2, y - 3.2,
                     colour);
        break;
    case 2:
        plot_svg_add(svg, "<path d=\"M%.2f %.2fl4.2 7.2h-8.4z\" fill=\"%s\"/>\n", x, y - 4.6,
                     colour);
        break;
    default:
        plot_svg_add(svg, "<path d=\"M%.2f %.2fl4.4 4.4l-4.4 4.4l-4.4 -4.4z\" fill=\"%s\"/>\n", x,
                     y - 4.4, colour);
    }
}

static void draw_points(const struct page *page, const struct plot_series *series)
{
    for (int i = 0; i < series->count; i++) {
        if (!isfinite(series->y[i])) {
            continue;
        }
        double x = plot_axis_pixel(&page->x, series->x[i]);
        if (series->low != NULL && series->high != NULL) {
            double low = plot_axis_pixel(&page->y, series->low[i]);
            double high = plot_axis_pixel(&page->y, series->high[i]);
            plot_svg_add(
                page->svg,
                "<path d=\"M%.2f %.2fh6m-3 0V%.2fm-3 0h6\" stroke=\"%s\" fill=\"none\"/>\n",
                x - 3.0, low, high, colour_of(series));
        }
        draw_point(page, series->colour, x, plot_axis_pixel(&page->y, series->y[i]),
                   colour_of(series));
    }
}

static void draw_line(const struct page *page, const struct plot_series *series)
{
    plot_svg_add(page->svg,
                 "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-linejoin=\"round\" "
                 "stroke-linecap=\"round\"%s d=\"",
                 colour_of(series), series->dashed ? " stroke-dasharray=\"6 5\"" : "");
    bool pen_down = false;
    for (int i = 0; i < series->count; i++) {
        if (!isfinite(series->y[i])) {
            pen_down = false;
            continue;
        }
        double x = plot_axis_pixel(&page->x, series->x[i]);
        double y = plot_axis_pixel(&page->y, series->y[i]);
        if (!pen_down) {
            plot_svg_add(page->svg, "M%.2f %.2fh0", x, y); // a value between gaps is a dot
        } else if (series->kind == PLOT_STEPS) {
            plot_svg_add(page->svg, "H%.2fV%.2f", x, y);
        } else {
            plot_svg_add(page->svg, "L%.2f %.2f", x, y);
        }
        pen_down = true;
    }
    plot_svg_add(page->svg, "\"/>\n");
}

// From `first` up to the next gap; returns where that is.
static int draw_band(const struct page *page, const struct plot_series *series, int first)
{
    int end = first;
    while (end < series->count && isfinite(series->y[end])) {
        end++;
    }
    plot_svg_add(page->svg, "<path fill=\"%s\" fill-opacity=\"0.18\" d=\"", colour_of(series));
    for (int i = first; i < end; i++) {
        plot_svg_add(page->svg, "%c%.2f %.2f", i == first ? 'M' : 'L',
                     plot_axis_pixel(&page->x, series->x[i]),
                     plot_axis_pixel(&page->y, series->high[i]));
    }
    for (int i = end - 1; i >= first; i--) {
        plot_svg_add(page->svg, "L%.2f %.2f", plot_axis_pixel(&page->x, series->x[i]),
                     plot_axis_pixel(&page->y, series->low[i]));
    }
    plot_svg_add(page->svg, "z\"/>\n");
    return end;
}

static void draw_series(const struct page *page, const struct plot_series *series)
{
    bool banded = !has_points(series) && series->low != NULL && series->high != NULL;
    for (int i = 0; banded && i < series->count; i++) {
        if (isfinite(series->y[i])) {
            i = draw_band(page, series, i);
        }
    }
    if (series->kind != PLOT_POINTS) {
        draw_line(page, series);
    }
    if (has_points(series)) {
        draw_points(page, series);
    }
}

// ---- legend ------------------------------------------------------------------------------------

static void draw_key(const struct page *page, const struct plot_series *series, double x, double y)
{
    if (series->kind != PLOT_POINTS) {
        plot_svg_add(page->svg,
                     "<path d=\"M%.2f %.2fh22\" stroke=\"%s\" stroke-width=\"1.8\"%s/>\n", x, y,
                     colour_of(series), series->dashed ? " stroke-dasharray=\"6 5\"" : "");
    }
    if (has_points(series)) {
        draw_point(page, series->colour, x + 11.0, y, colour_of(series));
    }
    plot_svg_text(page->svg, x + 28.0, y + 4.0, text_size, dark, series->label);
}

// Keys one beside the other, in as many rows as it takes. Returns where the next thing can begin.
static double legend_walk(const struct page *page, double y, bool draws)
{
    double x = page->left;
    bool any = false;
    for (int i = 0; i < page->plot->series_count; i++) {
        const struct plot_series *series = &page->plot->series[i];
        if (series->label == NULL) {
            continue;
        }
        double width = 28.0 + plot_text_width(series->label, text_size) + 16.0;
        if (x > page->left && x + width > page->plot->options.width) {
            x = page->left;
            y += row;
        }
        if (draws) {
            draw_key(page, series, x, y + row / 2.0);
        }
        x += width;
        any = true;
    }
    return any ? y + row + 2.0 : y;
}

// ---- all of it ---------------------------------------------------------------------------------

void plot_draw(const struct plot *plot, struct plot_svg *svg)
{
    struct page page = {.plot = plot, .svg = svg};
    choose_ranges(&page);
    lay_out(&page);
    int width = plot->options.width, height = plot->options.height;
    plot_svg_add(svg,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" "
                 "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, "
                 "DejaVu Sans, sans-serif\">\n",
                 width, height, width, height);
    if (plot->options.title != NULL) {
        plot_svg_add(svg, "<title>");
        plot_svg_add_escaped(svg, plot->options.title);
        plot_svg_add(svg, "</title>\n");
    }
    plot_svg_add(svg, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height);
    draw_spans(&page);
    draw_headings(&page);
    draw_axes(&page);
    draw_marks(&page);
    for (int i = 0; i < plot->series_count; i++) {
        draw_series(&page, &plot->series[i]);
    }
    legend_walk(&page, page.legend_y, true);
    plot_svg_add(svg, "</svg>\n");
}
