// SPDX-License-Identifier: Apache-2.0
// A stream of submission queue entries, admin and I/O, any bytes. Those that may attach a shared
// namespace to the host are left out, so that whatever is not the host's must stay untouched.
#include <string.h>

#include "csd_rig.h"
#include "target.h"

enum { COMMANDS_MAX = 64 };

// An input's PRPs rarely point into the memory: most are put there.
static void aim(struct nvme_sqe *sqe)
{
    if (sqe->prp1 & 1) {
        sqe->prp1 = RING_FREE_AT + (sqe->prp1 % (CSD_RIG_BYTES - RING_FREE_AT)) / 4 * 4;
    }
    if (sqe->prp2 & 1) {
        sqe->prp2 = RING_FREE_AT + (sqe->prp2 % (CSD_RIG_BYTES - RING_FREE_AT)) / 8 * 8;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    struct csd_rig *rig = csd_rig_begin();
    struct nvme_sqe sqe;
    int queue;
    for (int i = 0; i < COMMANDS_MAX && csd_rig_next(&data, &size, &queue, &sqe); i++) {
        aim(&sqe);
        if (queue == 1 || sqe.opcode != NVME_ADMIN_NAMESPACE_ATTACHMENT || sqe.nsid != 4) {
            csd_rig_submit(rig, queue, &sqe);
        }
        csd_rig_run(rig);
        // Completions are taken: the heads follow what was posted, as far as a client can see.
        for (int q = 0; q < 2; q++) {
            struct ring_doorbells *bell = ring_doorbells(rig->memory, q);
            RING_STORE(bell->cq_head, bell->sq_tail);
        }
    }
    csd_rig_end(rig);
    return 0;
}
