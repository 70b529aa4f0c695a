// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as --interfere: what is accepted must be sound.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/schedule.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    char *text = fuzz_text(data, size);
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
