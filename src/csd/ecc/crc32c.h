// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), by libisal at the speed of memory. Pure; any thread.
#ifndef CSD_ECC_CRC32C_H
#define CSD_ECC_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// Begin with 0; the result of one call continues with the next.
uint32_t ecc_crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
