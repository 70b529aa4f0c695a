// SPDX-License-Identifier: Apache-2.0
#include "launch/tee.h"

#include <stdio.h>

#include "launch/supervise.h"

static void flush(struct launch_tee *tee)
{
    char text[LAUNCH_TEE_BYTES + 128];
    int length = snprintf(text, sizeof(text), "%s: ", tee->name);
    for (size_t i = 0; i < tee->bytes; i++) {
        text[(size_t)length + i] = tee->line[i];
    }
    launch_write(tee->to, text, (size_t)length + tee->bytes);
    tee->bytes = 0;
}

void launch_tee_feed(struct launch_tee *tee, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        tee->line[tee->bytes++] = data[i];
        // One byte stays free for the end that launch_tee_end adds.
        if (data[i] == '\n' || data[i] == '\r' || tee->bytes == LAUNCH_TEE_BYTES - 1) {
            flush(tee);
        }
    }
}

void launch_tee_end(struct launch_tee *tee)
{
    if (tee->bytes > 0) {
        tee->line[tee->bytes++] = '\n';
        flush(tee);
    }
}
