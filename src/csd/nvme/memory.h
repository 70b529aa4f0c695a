// SPDX-License-Identifier: Apache-2.0
// The client's memory as the device sees it: every access names an offset that the client chose and
// is checked, and what is read is copied once, since the client may change it at any time.
#ifndef CSD_NVME_MEMORY_H
#define CSD_NVME_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "csd/nvme/spec.h"
#include "csd/nvme/status.h"

struct nvme_memory {
    uint8_t *base;
    uint64_t bytes;
};

// A piece of the client's memory that lies within it.
struct nvme_segment {
    uint64_t offset;
    uint32_t bytes;
};

enum { NVME_SEGMENTS_MAX = NVME_TRANSFER_PAGES + 1 };

struct nvme_data {
    int count;
    uint32_t bytes; // of all segments
    struct nvme_segment segments[NVME_SEGMENTS_MAX];
};

// Does [offset, offset + bytes) lie behind the pages that are the device's?
bool nvme_memory_holds(const struct nvme_memory *memory, uint64_t offset, uint64_t bytes);
// Copies out of the shared memory, once. In a file of its own: the fuzzing programs replace it by
// one that changes the bytes as soon as they were read.
void nvme_memory_copy(const struct nvme_memory *memory, uint64_t offset, uint32_t bytes, void *out);

// Where a command's `bytes` lie, by its PRP entries: NVME_SUCCESS, or the status to complete with.
// Neighbouring pages become one segment.
enum nvme_status nvme_prp_resolve(const struct nvme_memory *memory, uint64_t prp1, uint64_t prp2,
                                  uint32_t bytes, struct nvme_data *out);
// Between a resolved place and memory of our own: up to `bytes`, from byte `from` of the place.
void nvme_data_gather(const struct nvme_memory *memory, const struct nvme_data *data, uint32_t from,
                      uint32_t bytes, void *out);
void nvme_data_scatter(const struct nvme_memory *memory, const struct nvme_data *data,
                       uint32_t from, uint32_t bytes, const void *in);

#endif
