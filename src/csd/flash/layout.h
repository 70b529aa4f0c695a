// SPDX-License-Identifier: Apache-2.0
// How units lie in raw pages. A raw unit is 4096 bytes of data, its out-of-band metadata and, with
// BCH, parity; a page is `units` raw units one after another, so that reading one is one access.
#ifndef CSD_FLASH_LAYOUT_H
#define CSD_FLASH_LAYOUT_H

#include "csd/flash/flash.h"

enum {
    LAYOUT_META_BYTES = 48,    // the last four are a CRC32C of data and metadata
    LAYOUT_PARITY_BYTES = 280, // 40 bits a KiB over GF(2^14)
    LAYOUT_RAW_CRC = 4160,     // 4096 + 48, up to a multiple of 64
    LAYOUT_RAW_BCH = 4480,     // 4096 + 48 + 280, up to a multiple of 64
    LAYOUT_ENTRY_BYTES = 16,   // of a summary, per unit of the block
};

static inline int layout_raw_bytes(enum flash_ecc ecc)
{
    return ecc == FLASH_ECC_BCH ? LAYOUT_RAW_BCH : LAYOUT_RAW_CRC;
}

// Pages at the end of a block that hold its summary.
static inline int layout_summary_pages(int pages, int units)
{
    int entries = FLASH_UNIT_BYTES / LAYOUT_ENTRY_BYTES; // of one unit
    int summary_units = (pages * units + entries - 1) / entries;
    return (summary_units + units - 1) / units;
}

// Units of a block that can hold data.
static inline int layout_data_units(const struct flash_profile *p)
{
    return (p->geometry.pages - layout_summary_pages(p->geometry.pages, p->units)) * p->units;
}

// Emptied blocks that are reclaimed together, for one sync.
int layout_batch(const struct flash_profile *profile);

#endif
