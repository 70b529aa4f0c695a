// SPDX-License-Identifier: Apache-2.0
// One unit as the medium holds it: data, metadata with a CRC32C, and parity with BCH. Pure; any
// thread.
#ifndef CSD_FLASH_UNIT_H
#define CSD_FLASH_UNIT_H

#include "csd/flash/layout.h"

enum unit_kind {
    UNIT_NONE,
    UNIT_DATA,
    UNIT_LOST,    // was data that could not be read when it had to move: reads as unrecovered
    UNIT_RECORDS, // what records.h keeps
    UNIT_TABLE,   // namespaces and counters
    UNIT_PAD,
    UNIT_SUMMARY, // what the block holds; part `count` of it
    UNIT_VOID,    // in summaries only: nothing readable
    UNIT_ROTTEN,  // in recovery only: RECORDS that cannot be read any more
};

// Out-of-band data.
struct unit_meta {
    uint8_t kind, stream;
    uint16_t count;
    uint32_t ns;         // DATA, LOST: id of the namespace
    uint64_t lpn;        // DATA, LOST: unit of the namespace; SUMMARY: block
    uint64_t seq;        // order of acceptance; moving a unit keeps it
    uint64_t stamp;      // order of programming, of the whole page
    uint64_t durable;    // the stamp up to which all was synced when this was programmed
    uint32_t generation; // of the block: erases + 1
};

enum {
    UNIT_ERASED = -2,
    UNIT_UNREADABLE = -1,
    UNIT_BITS_URGENT =
        24, // wrong bits in a KiB, of 40 that can be corrected: move it while that is easy
};

// Completes a raw unit whose data bytes are in place.
void unit_seal(uint8_t *raw, enum flash_ecc ecc, const struct unit_meta *meta);
// Corrects a raw unit in place. Returns how many bits were wrong, at most in *worst of one KiB;
// UNIT_ERASED or UNIT_UNREADABLE, when *out is not set.
int unit_open(uint8_t *raw, enum flash_ecc ecc, struct unit_meta *out, int *worst);
// The same, and looks for wrong bits in the parity also when the CRC agrees.
int unit_inspect(uint8_t *raw, enum flash_ecc ecc, struct unit_meta *out, int *worst);

#endif
