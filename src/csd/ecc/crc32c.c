// SPDX-License-Identifier: Apache-2.0
#include "csd/ecc/crc32c.h"

#include <isa-l/crc.h>

uint32_t ecc_crc32c(uint32_t crc, const void *bytes, size_t size)
{
    // libisal does not write through its pointer, although its prototype lacks the const.
    union {
        const void *constant;
        unsigned char *plain;
    } at = {.constant = bytes};
    return ~crc32_iscsi(at.plain, (int)size, ~crc);
}
