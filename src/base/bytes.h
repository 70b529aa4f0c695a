// SPDX-License-Identifier: Apache-2.0
// Numbers in files and on the wire: little-endian, at any address. Pure; any thread.
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdint.h>

static inline void base_put_le(void *to, uint64_t value, int bytes)
{
    uint8_t *p = to;
    for (int i = 0; i < bytes; i++) {
        p[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline uint64_t base_get_le(const void *from, int bytes)
{
    const uint8_t *p = from;
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) {
        value |= (uint64_t)p[i] << (8 * i);
    }
    return value;
}

#endif
