// SPDX-License-Identifier: Apache-2.0
// The safetensors file format, read and written by the rules of its Python library:
//
//     u64 little-endian   length of the header, at most 100 MB
//     JSON object         {"__metadata__": {text: text},
//                          NAME: {"dtype": …, "shape": […], "data_offsets": [begin, end]}, …},
//                         padded with spaces so that the data begins at a multiple of 8
//     data                the tensors' bytes, little-endian; no holes, no overlaps, no rest
//
// What Stannis writes carries a CRC-32 of the whole file in the metadata (its own eight digits
// taken as zeros); reading checks it where it is present, so a flipped bit anywhere is noticed.
// Files of other programs read the same way.
//
// Lifetime: everything a reader hands out is borrowed from it. Threads: an open reader is
// read-only.
#ifndef CHECKPOINT_SAFETENSORS_H
#define CHECKPOINT_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

#define SAFETENSORS_CHECKSUM_KEY "stannis.crc32"

enum { SAFETENSORS_RANK_MAX = 8 };

// clang-format off
//    name     bytes an element
#define SAFETENSORS_DTYPE_MAP(X) \
    X(BOOL,    1)                \
    X(U8,      1)                \
    X(I8,      1)                \
    X(F8_E5M2, 1)                \
    X(F8_E4M3, 1)                \
    X(I16,     2)                \
    X(U16,     2)                \
    X(F16,     2)                \
    X(BF16,    2)                \
    X(I32,     4)                \
    X(U32,     4)                \
    X(F32,     4)                \
    X(I64,     8)                \
    X(U64,     8)                \
    X(F64,     8)
// clang-format on

enum safetensors_dtype {
#define X(name, bytes) SAFETENSORS_##name,
    SAFETENSORS_DTYPE_MAP(X)
#undef X
};

struct safetensors_tensor {
    const char *name;
    enum safetensors_dtype dtype;
    int rank;
    uint64_t dims[SAFETENSORS_RANK_MAX];
    size_t bytes;
    const void *data; // maybe not aligned: copy out
};

struct safetensors_pair {
    const char *key, *value;
};

struct safetensors;

// `label` names the bytes in messages. `bytes` is borrowed until close.
STN_MUST_CHECK enum stn_status safetensors_parse(const void *bytes, size_t size, const char *label,
                                                 struct safetensors **out);
STN_MUST_CHECK enum stn_status safetensors_read(const char *path, struct safetensors **out);
void safetensors_close(struct safetensors *file);

// In the order of their data.
int safetensors_count(const struct safetensors *file);
const struct safetensors_tensor *safetensors_at(const struct safetensors *file, int index);
// NULL when there is none.
const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name);
const char *safetensors_metadata(const struct safetensors *file, const char *key);

// Replaces `path` in one go, or leaves it as it was. The checksum is added to the metadata.
STN_MUST_CHECK enum stn_status safetensors_write(const char *path,
                                                 const struct safetensors_pair *metadata, int pairs,
                                                 const struct safetensors_tensor *tensors,
                                                 int count);

// "F32" and 4.
const char *safetensors_dtype_name(enum safetensors_dtype dtype);
size_t safetensors_dtype_bytes(enum safetensors_dtype dtype);

// The CRC-32 of a file given in its pieces, the digits of the checksum taken as zeros. `digits`:
// where they are in the header, NULL when there are none.
uint32_t safetensors_checksum(const void *head, size_t head_bytes, const char *digits,
                              const struct safetensors_tensor *tensors, int count);
// The eight digits in a header's text, or NULL.
const char *safetensors_find_digits(const char *header, size_t bytes);

#endif
