// SPDX-License-Identifier: Apache-2.0
#include "report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

const char *report_count(struct report_text *to, int64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, count);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        int left = length - i;
        if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') {
            to->text[used++] = ',';
        }
        to->text[used++] = digits[i];
    }
    to->text[used] = '\0';
    return to->text;
}

// Three significant digits, so that columns stay narrow.
static int decimals_of(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

const char *report_magnitude(struct report_text *to, double value)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    snprintf(to->text, sizeof(to->text), "%.*f%s", unit ? decimals_of(value) : 0, value,
             units[unit]);
    return to->text;
}

const char *report_bytes(struct report_text *to, size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    snprintf(to->text, sizeof(to->text), "%.*f %s", unit ? decimals_of(value) : 0, value,
             units[unit]);
    return to->text;
}

const char *report_duration(struct report_text *to, double seconds)
{
    if (!(seconds >= 0 && seconds < 1e8)) { // also NaN
        snprintf(to->text, sizeof(to->text), "-:--");
        return to->text;
    }
    int64_t whole = (int64_t)(seconds + 0.5);
    int64_t hours = whole / 3600;
    int minutes = (int)(whole / 60 % 60), rest = (int)(whole % 60);
    if (hours > 0) {
        snprintf(to->text, sizeof(to->text), "%" PRId64 ":%02d:%02d", hours, minutes, rest);
    } else {
        snprintf(to->text, sizeof(to->text), "%d:%02d", minutes, rest);
    }
    return to->text;
}

const char *report_seconds(struct report_text *to, double seconds)
{
    bool whole = seconds >= 1.0;
    double value = whole ? seconds : 1e3 * seconds;
    int digits = value < 10.0 ? 2 : value < 100.0 ? 1 : 0;
    snprintf(to->text, sizeof(to->text), "%.*f %s", digits, value, whole ? "s" : "ms");
    return to->text;
}

const char *report_percent(struct report_text *to, double share)
{
    snprintf(to->text, sizeof(to->text), "%.1f %%", 100 * share);
    return to->text;
}

const char *report_speed(struct report_text *to, double per_second)
{
    if (per_second >= 99.95 && per_second < 1e15) {
        return report_count(to, llround(per_second));
    }
    snprintf(to->text, sizeof(to->text), "%.*f", decimals_of(per_second), per_second);
    return to->text;
}

int report_columns(const char *text)
{
    int columns = 0;
    for (; *text; text++) {
        columns +=
            ((unsigned char)*text & 0xc0) != 0x80; // bytes that continue a character take no room
    }
    return columns;
}

void report_put(struct report_writer *w, const char *format, ...)
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

// Bytes of the first `columns` characters.
static int bytes_of(const char *text, int columns)
{
    int bytes = 0;
    for (; text[bytes]; bytes++) {
        bool begins = ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (begins && columns-- == 0) {
            break;
        }
    }
    return bytes;
}

void report_put_clipped(struct report_writer *w, const char *text, int columns, bool utf8, bool pad)
{
    const char *dots = utf8 ? "…" : "..";
    int wide = report_columns(text), room = columns - report_columns(dots);
    if (wide > columns && room > 0) {
        report_put(w, "%.*s%s", bytes_of(text, room), text, dots);
    } else {
        report_put(w, "%.*s", bytes_of(text, columns), text);
        report_put(w, "%*s", pad && wide < columns ? columns - wide : 0, "");
    }
}

void report_put_bar(struct report_writer *w, double share, int columns, int colour, bool utf8)
{
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    int halves = (int)(share * 2 * columns);
    int full = halves / 2;
    bool half = utf8 && halves % 2 == 1;
    if (colour) {
        report_put(w, "\033[%dm", colour);
    }
    for (int i = 0; i < full; i++) {
        report_put(w, "%s", utf8 ? "━" : "#");
    }
    report_put(w, "%s%s", half ? "╸" : "", colour ? "\033[0;2m" : "");
    for (int i = full + half; i < columns; i++) {
        report_put(w, "%s", utf8 ? "─" : "-");
    }
    report_put(w, "%s", colour ? "\033[0m" : "");
}
