// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Every function writes into the caller's buffer and returns it, so
// that calls fit into printf arguments. Pure; any thread.
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report_text {
    char text[32];
};

const char *report_count(struct report_text *to, int64_t count);    // "60,000"
const char *report_magnitude(struct report_text *to, double value); // "3.50 M"
const char *report_bytes(struct report_text *to, size_t bytes);     // "12.4 MiB"
const char *report_duration(struct report_text *to,
                            double seconds); // "0:07", "1:02:03", "-:--" when unknown
const char *report_seconds(struct report_text *to, double seconds);  // "41.2 ms", "1.23 s"
const char *report_percent(struct report_text *to, double share);    // "89.3 %"
const char *report_speed(struct report_text *to, double per_second); // "3,210", "23.4"

// Text that grows until its buffer is full; what does not fit is left out. Begin with used = 0.
struct report_writer {
    char *out;
    size_t size, used;
};
void report_put(struct report_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// At most so many columns of a text, then … (or .. without UTF-8) in the last of them; padded with
// spaces if asked.
void report_put_clipped(struct report_writer *w, const char *text, int columns, bool utf8,
                        bool pad);
// A bar of so many columns, this share of it filled: in a colour of the terminal (31 … 37), or
// without if that is 0.
void report_put_bar(struct report_writer *w, double share, int columns, int colour, bool utf8);

// Columns that UTF-8 text takes on a screen (no wide or combining characters among ours).
int report_columns(const char *text);

#endif
