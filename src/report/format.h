// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Every function writes into the caller's buffer and returns it, so that calls fit into
// printf arguments. Pure; any thread.
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

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

// Columns that UTF-8 text takes on a screen (no wide or combining characters among ours).
int report_columns(const char *text);

#endif
