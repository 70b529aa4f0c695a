// SPDX-License-Identifier: Apache-2.0
// Text that grows, and what of SVG a diagram needs. A failed allocation is remembered, and told
// once at the end. One thread.
#ifndef PLOT_SVG_H
#define PLOT_SVG_H

#include <stdbool.h>
#include <stddef.h>

// Zero-initialise; `bytes` is to be freed.
struct plot_svg {
    char *bytes;
    size_t size, capacity;
    bool failed; // out of memory: what is there is not complete
};

void plot_svg_add(struct plot_svg *svg, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Whatever the text holds, the file stays well-formed: markup is escaped, what is no UTF-8 or no
// character of XML becomes U+FFFD.
void plot_svg_add_escaped(struct plot_svg *svg, const char *text);

// A text element of one line; `style` are further attributes.
void plot_svg_text(struct plot_svg *svg, double x, double y, double size, const char *style,
                   const char *text);
// Pixels that it takes, rather too many: the reader's font is not known.
double plot_text_width(const char *text, double size);

#endif
