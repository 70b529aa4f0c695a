// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as --interfere: what is accepted must be sound.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/schedule.h"
#include "stannis/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *context, enum stn_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stn_log_set_sink(ignore, NULL);
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    struct emulate_schedule schedule;
    if (emulate_schedule_parse(text, &schedule) == STN_OK) {
        for (int i = 0; i < schedule.count; i++) {
            const struct emulate_load *load = &schedule.loads[i];
            if (!*load->node || strpbrk(load->node, "@,") || load->from < 1 ||
                load->to < load->from || !(load->processes > 0) ||
                load->processes > EMULATE_PROCESSES_MAX ||
                (load->kind == EMULATE_LOAD_GZIP && fmod(load->processes, 1) != 0)) {
                abort();
            }
        }
        emulate_schedule_fini(&schedule);
    }
    free(text);
    return 0;
}
