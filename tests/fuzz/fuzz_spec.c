// SPDX-License-Identifier: Apache-2.0
// The parser of data set specs on arbitrary text: what it accepts must be complete.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/spec.h"
#include "stannis/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void log_nothing(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    stn_log_set_sink(log_nothing, NULL);
    struct data_spec spec;
    if (data_spec_parse(text, &spec) == STN_OK) {
        bool dir_ok = !spec.dir || (*spec.dir && spec.dir > text && spec.dir <= text + size);
        if (!spec.kind || !dir_ok || spec.count < 0 || spec.count > DATA_SPEC_COUNT_MAX) {
            abort();
        }
    }
    free(text);
    return 0;
}
