// SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include "data/idx.h"

enum { TYPE_BYTE = 0x08, EDGE_MAX = 4096 };

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

enum stn_status data_idx_parse_header(const char *name, const void *bytes, size_t size, int rank,
                                      struct data_idx *out)
{
    const uint8_t *head = bytes;
    size_t head_bytes = 4 + 4 * (size_t)rank;
    if (size < head_bytes) {
        return stn_fail(STN_ERR_CORRUPT, "%s: too short for an IDX file", name);
    }
    if (head[0] != 0 || head[1] != 0 || head[2] != TYPE_BYTE || head[3] != rank) {
        return stn_fail(
            STN_ERR_CORRUPT,
            "%s: not an IDX file of bytes in %d dimension%s (it begins %02x %02x %02x %02x)", name,
            rank, rank == 1 ? "" : "s", head[0], head[1], head[2], head[3]);
    }
    *out = (struct data_idx){.rank = rank, .values = head + head_bytes, .count = 1};
    for (int i = 0; i < rank; i++) {
        uint32_t length = big_endian(head + 4 + 4 * i);
        uint32_t most = i == 0 ? INT32_MAX : EDGE_MAX;
        if (length < 1 || length > most) {
            return stn_fail(STN_ERR_CORRUPT, "%s: length %u in dimension %d; expected 1 to %u",
                            name, length, i + 1, most);
        }
        out->lengths[i] = length;
        out->count *= length; // below 2^55
    }
    return STN_OK;
}

enum stn_status data_idx_parse(const char *name, const void *bytes, size_t size, int rank,
                               struct data_idx *out)
{
    enum stn_status status = data_idx_parse_header(name, bytes, size, rank, out);
    if (status != STN_OK) {
        return status;
    }
    size_t there = size - (size_t)(out->values - (const uint8_t *)bytes);
    if (there != out->count) {
        return stn_fail(STN_ERR_CORRUPT, "%s: %s: its header promises %zu values, there are %s%zu",
                        name, there < out->count ? "truncated" : "foreign bytes at the end",
                        out->count, there > out->count ? "at least " : "", there);
    }
    return STN_OK;
}
