// SPDX-License-Identifier: Apache-2.0
// Physical region pages: the first entry may begin within a page, all others name whole pages. More
// than two pages need a list, whose last entry names the next page of the list when it is full.
#include "csd/nvme/memory.h"

#include <string.h>

#include "csd/nvme/ring.h"

enum { PAGE_MASK = NVME_PAGE_BYTES - 1, ENTRY_BYTES = 8 };

bool nvme_memory_holds(const struct nvme_memory *memory, uint64_t offset, uint64_t bytes)
{
    return offset >= RING_FREE_AT && bytes <= memory->bytes && offset <= memory->bytes - bytes;
}

static enum nvme_status append(const struct nvme_memory *memory, uint64_t offset, uint32_t bytes,
                               struct nvme_data *data)
{
    if (!nvme_memory_holds(memory, offset, bytes)) {
        return NVME_DATA_TRANSFER;
    }
    struct nvme_segment *last = data->count > 0 ? &data->segments[data->count - 1] : NULL;
    if (last && last->offset + last->bytes == offset) {
        last->bytes += bytes;
    } else {
        data->segments[data->count++] = (struct nvme_segment){offset, bytes};
    }
    data->bytes += bytes;
    return NVME_SUCCESS;
}

static uint32_t within_page(uint32_t bytes)
{
    return bytes < NVME_PAGE_BYTES ? bytes : NVME_PAGE_BYTES;
}

// Entries from `list` on, for the `left` bytes behind the first page.
static enum nvme_status resolve_list(const struct nvme_memory *memory, uint64_t list, uint32_t left,
                                     struct nvme_data *data)
{
    if (list % ENTRY_BYTES != 0) {
        return NVME_PRP_OFFSET;
    }
    while (left > 0) {
        uint64_t entries[NVME_PAGE_BYTES / ENTRY_BYTES];
        uint32_t room = (uint32_t)(NVME_PAGE_BYTES - (list & PAGE_MASK)) / ENTRY_BYTES;
        uint32_t pages = (left + PAGE_MASK) / NVME_PAGE_BYTES;
        uint32_t here = pages <= room ? pages : room;
        if (!nvme_memory_holds(memory, list, here * ENTRY_BYTES)) {
            return NVME_DATA_TRANSFER;
        }
        nvme_memory_copy(memory, list, here * ENTRY_BYTES, entries);
        uint32_t named = pages <= room ? here : here - 1;
        for (uint32_t i = 0; i < here; i++) {
            if ((entries[i] & PAGE_MASK) != 0) {
                return NVME_PRP_OFFSET;
            }
        }
        for (uint32_t i = 0; i < named; i++) {
            enum nvme_status status = append(memory, entries[i], within_page(left), data);
            if (status) {
                return status;
            }
            left -= within_page(left);
        }
        // A list that begins at the last entry of its page names nothing but the next one, whose
        // first entry names data: every turn but one gets on.
        list = entries[here - 1];
    }
    return NVME_SUCCESS;
}

enum nvme_status nvme_prp_resolve(const struct nvme_memory *memory, uint64_t prp1, uint64_t prp2,
                                  uint32_t bytes, struct nvme_data *out)
{
    out->count = 0;
    out->bytes = 0;
    if (bytes == 0) {
        return NVME_SUCCESS;
    }
    if (prp1 % 4 != 0) {
        return NVME_PRP_OFFSET;
    }
    uint32_t room = (uint32_t)(NVME_PAGE_BYTES - (prp1 & PAGE_MASK));
    uint32_t first = bytes < room ? bytes : room, left = bytes - first;
    enum nvme_status status = append(memory, prp1, first, out);
    if (status || left == 0) {
        return status;
    }
    if (left > NVME_PAGE_BYTES) {
        return resolve_list(memory, prp2, left, out);
    }
    return (prp2 & PAGE_MASK) != 0 ? NVME_PRP_OFFSET : append(memory, prp2, left, out);
}

// Copies [from, from + bytes) of the place to `out`, or, if that is NULL, from `in`.
static void walk(const struct nvme_memory *memory, const struct nvme_data *data, uint32_t from,
                 uint32_t bytes, uint8_t *out, const uint8_t *in)
{
    for (int i = 0; i < data->count && bytes > 0; i++) {
        const struct nvme_segment *s = &data->segments[i];
        if (from >= s->bytes) {
            from -= s->bytes;
            continue;
        }
        uint32_t piece = s->bytes - from < bytes ? s->bytes - from : bytes;
        if (out) {
            nvme_memory_copy(memory, s->offset + from, piece, out);
            out += piece;
        } else {
            memcpy(memory->base + s->offset + from, in, piece);
            in += piece;
        }
        bytes -= piece;
        from = 0;
    }
}

void nvme_data_gather(const struct nvme_memory *memory, const struct nvme_data *data, uint32_t from,
                      uint32_t bytes, void *out)
{
    walk(memory, data, from, bytes, out, NULL);
}

void nvme_data_scatter(const struct nvme_memory *memory, const struct nvme_data *data,
                       uint32_t from, uint32_t bytes, const void *in)
{
    walk(memory, data, from, bytes, NULL, in);
}
