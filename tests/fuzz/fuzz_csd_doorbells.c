// SPDX-License-Identifier: Apache-2.0
// Any values in doorbells, sleep words and registers, and any bytes anywhere in the shared memory,
// between turns of the device.
#include <string.h>

#include "csd_rig.h"
#include "target.h"

enum { STEPS_MAX = 200, STEP_BYTES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    struct csd_rig *rig = csd_rig_begin();
    for (int i = 0; i < STEPS_MAX && size >= STEP_BYTES; i++) {
        uint32_t value, at;
        memcpy(&value, data, sizeof(value));
        memcpy(&at, data + 4, sizeof(at));
        data += STEP_BYTES;
        size -= STEP_BYTES;
        switch (at & 3) {
        case 0: RING_STORE(ring_doorbells(rig->memory, at >> 2 & 15)->sq_tail, value); break;
        case 1: RING_STORE(ring_doorbells(rig->memory, at >> 2 & 15)->cq_head, value); break;
        case 2: RING_STORE(ring_doorbells(rig->memory, at >> 2 & 1)->sq_tail, value % 64); break;
        default: memcpy(rig->memory + (at >> 2) % (CSD_RIG_BYTES - 4), &value, sizeof(value));
        }
        csd_rig_run(rig);
    }
    csd_rig_end(rig);
    return 0;
}
