// SPDX-License-Identifier: Apache-2.0
// The IDX format of MNIST: big-endian magic 00 00 TYPE RANK, then RANK lengths of 32 bits, then the
// values.
#ifndef DATA_IDX_H
#define DATA_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

enum { DATA_IDX_RANK_MAX = 3 };

// Bytes in one (labels) or three (images) dimensions.
struct data_idx {
    int rank;
    uint32_t lengths[DATA_IDX_RANK_MAX];
    const uint8_t *values; // borrowed from what was parsed
    size_t count;          // of values: the product of the lengths
};

// Reads the header at the start of `bytes`; `out->values` is where values would begin, which may be
// past `size`. `name` is for messages.
STN_MUST_CHECK enum stn_status data_idx_parse_header(const char *name, const void *bytes,
                                                     size_t size, int rank, struct data_idx *out);
// A whole file in memory: header and exactly the values it promises.
STN_MUST_CHECK enum stn_status data_idx_parse(const char *name, const void *bytes, size_t size,
                                              int rank, struct data_idx *out);

#endif
