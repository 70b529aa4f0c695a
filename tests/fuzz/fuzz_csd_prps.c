// SPDX-License-Identifier: Apache-2.0
// PRP entries and lists of any shape: what is resolved lies in the client's memory and has the
// right length.
#include <stdlib.h>
#include <string.h>

#include "csd/nvme/ring.h"
#include "csd_rig.h"
#include "target.h"

enum { HEAD_BYTES = 20, MEMORY_BYTES = 256 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nvme_data resolved;
    static uint8_t copy[NVME_TRANSFER_PAGES * NVME_PAGE_BYTES];
    uint64_t prp1, prp2;
    uint32_t bytes;
    if (size < HEAD_BYTES) {
        return 0;
    }
    memcpy(&prp1, data, 8);
    memcpy(&prp2, data + 8, 8);
    memcpy(&bytes, data + 16, 4);
    bytes %= NVME_TRANSFER_PAGES * NVME_PAGE_BYTES + 1;
    struct nvme_memory memory = {aligned_alloc(NVME_PAGE_BYTES, MEMORY_BYTES), MEMORY_BYTES};
    if (!memory.base) {
        abort();
    }
    memset(memory.base, 0, MEMORY_BYTES);
    // The rest of the input is what the client's memory begins with: its lists.
    size_t rest = size - HEAD_BYTES;
    size_t room = MEMORY_BYTES - RING_FREE_AT;
    memcpy(memory.base + RING_FREE_AT, data + HEAD_BYTES, rest < room ? rest : room);
    if (nvme_prp_resolve(&memory, prp1, prp2, bytes, &resolved) == NVME_SUCCESS) {
        uint64_t sum = 0;
        fuzz_check(resolved.count <= NVME_SEGMENTS_MAX && resolved.bytes == bytes);
        for (int i = 0; i < resolved.count; i++) {
            fuzz_check(nvme_memory_holds(&memory, resolved.segments[i].offset,
                                         resolved.segments[i].bytes));
            sum += resolved.segments[i].bytes;
        }
        fuzz_check(sum == bytes);
        nvme_data_gather(&memory, &resolved, 0, bytes, copy);
        nvme_data_scatter(&memory, &resolved, 0, bytes, copy);
    }
    free(memory.base);
    return 0;
}
