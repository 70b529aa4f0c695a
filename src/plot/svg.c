// SPDX-License-Identifier: Apache-2.0
#include "plot/svg.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; // U+FFFD
// Of a character, in units of the size: DejaVu Sans, the widest of the usual ones, has 0.6.
static const double character_width = 0.6;

static bool reserve(struct plot_svg *svg, size_t more)
{
    if (svg->failed) {
        return false;
    }
    size_t needed = svg->size + more + 1;
    if (needed > svg->capacity) {
        size_t capacity = needed > 2 * svg->capacity ? needed : 2 * svg->capacity;
        char *bytes = realloc(svg->bytes, capacity);
        if (bytes == NULL) {
            svg->failed = true;
            return false;
        }
        svg->bytes = bytes;
        svg->capacity = capacity;
    }
    return true;
}

static void append(struct plot_svg *svg, const char *bytes, size_t count)
{
    if (reserve(svg, count)) {
        memcpy(svg->bytes + svg->size, bytes, count);
        svg->size += count;
        svg->bytes[svg->size] = '\0';
    }
}

void plot_svg_add(struct plot_svg *svg, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && reserve(svg, (size_t)length)) {
        vsnprintf(svg->bytes + svg->size, (size_t)length + 1, format, again);
        svg->size += (size_t)length;
    }
    va_end(again);
}

// ---- characters --------------------------------------------------------------------------------

// Bytes of the character that begins here, or 0: none that XML allows.
static size_t character_bytes(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {
        {0x80, 0x00, 0x20}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t more = 0; more < 4; more++) {
        if ((*text & forms[more].mask) != forms[more].lead) {
            continue;
        }
        uint32_t code = *text & (unsigned char)~forms[more].mask;
        for (size_t i = 1; i <= more; i++) {
            if ((text[i] & 0xc0) != 0x80) { // the terminator is no such character either
                return 0;
            }
            code = code << 6 | (text[i] & 0x3f);
        }
        bool is_surrogate = code >= 0xd800 && code < 0xe000;
        bool is_allowed = code >= forms[more].least && code <= 0x10ffff && code != 0x7f &&
                          code != 0xfffe && code != 0xffff && !is_surrogate;
        return is_allowed ? more + 1 : 0;
    }
    return 0;
}

static const char *entity_of(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void plot_svg_add_escaped(struct plot_svg *svg, const char *text)
{
    while (*text != '\0') {
        size_t bytes = character_bytes((const unsigned char *)text);
        const char *entity = entity_of(*text);
        if (entity != NULL) {
            append(svg, entity, strlen(entity));
        } else if (bytes > 0) {
            append(svg, text, bytes);
        } else {
            append(svg, replacement, sizeof(replacement) - 1);
        }
        text += bytes > 0 ? bytes : 1;
    }
}

void plot_svg_text(struct plot_svg *svg, double x, double y, double size, const char *style,
                   const char *text)
{
    plot_svg_add(svg, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.4g\" %s>", x, y, size, style);
    plot_svg_add_escaped(svg, text);
    plot_svg_add(svg, "</text>\n");
}

double plot_text_width(const char *text, double size)
{
    int characters = 0;
    for (; *text != '\0'; characters++) {
        size_t bytes = character_bytes((const unsigned char *)text);
        text += bytes > 0 ? bytes : 1;
    }
    return characters * size * character_width;
}
