// SPDX-License-Identifier: Apache-2.0
// Capsules that change while they are read: after every copy that the device makes of the client's
// memory, the bytes that were copied are others. What was checked must be what is used.
#include <string.h>

#include "csd_rig.h"
#include "target.h"

enum { COMMANDS_MAX = 32 };

static const uint8_t *changes;
static size_t change_count, change_at;

// In place of the one of csd/nvme: the linker takes this one, and leaves that out.
void nvme_memory_copy(const struct nvme_memory *memory, uint64_t offset, uint32_t bytes, void *out)
{
    memcpy(out, memory->base + offset, bytes);
    for (uint32_t i = 0; i < bytes && change_count > 0; i += 3) {
        memory->base[offset + i] ^= changes[change_at++ % change_count];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    changes = data;
    change_count = size;
    change_at = 0;
    struct csd_rig *rig = csd_rig_begin();
    struct nvme_sqe sqe;
    int queue;
    for (int i = 0; i < COMMANDS_MAX && csd_rig_next(&data, &size, &queue, &sqe); i++) {
        sqe.prp1 = RING_FREE_AT + sqe.prp1 % (CSD_RIG_BYTES - RING_FREE_AT) / 4 * 4;
        sqe.prp2 = RING_FREE_AT + sqe.prp2 % (CSD_RIG_BYTES - RING_FREE_AT) / 8 * 8;
        if (queue == 1 || sqe.opcode != NVME_ADMIN_NAMESPACE_ATTACHMENT) {
            csd_rig_submit(rig, queue, &sqe);
        }
        csd_rig_run(rig);
    }
    csd_rig_end(rig);
    return 0;
}
