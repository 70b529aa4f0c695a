// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "csd/nvme/memory.h"

void nvme_memory_copy(const struct nvme_memory *memory, uint64_t offset, uint32_t bytes, void *out)
{
    memcpy(out, memory->base + offset, bytes);
}
