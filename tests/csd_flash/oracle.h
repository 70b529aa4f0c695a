// SPDX-License-Identifier: Apache-2.0
// What a device must hold, kept beside it: for every unit the version that was flushed and those
// written since. Power cut: each unit may be any of these, and nothing else.
#ifndef TESTS_CSD_FLASH_ORACLE_H
#define TESTS_CSD_FLASH_ORACLE_H

#include "csd/flash/flash.h"

enum { ORACLE_UNITS_MAX = 4096, ORACLE_LOG_MAX = 65536 };

struct oracle {
    uint32_t id;    // of the namespace; 0: there is none
    bool may_exist; // it is being made or deleted
    uint64_t units;
    uint32_t flushed[ORACLE_UNITS_MAX]; // versions; 0: zeros
    uint32_t now[ORACLE_UNITS_MAX];
    uint32_t log_count;
    struct {
        uint32_t lpn, version;
    } log[ORACLE_LOG_MAX]; // since the last flush
};

void oracle_reset(struct oracle *o, uint32_t id, uint64_t units);
void oracle_copy(const struct oracle *from, struct oracle *out);
// Before the device is told.
void oracle_write(struct oracle *o, uint64_t lpn, uint32_t version);
// After the device flushed.
void oracle_flushed(struct oracle *o);
// The bytes of a version.
void oracle_fill(uint32_t id, uint64_t lpn, uint32_t version, uint8_t out[FLASH_UNIT_BYTES]);
// Reads everything. Exact: the latest version; otherwise any allowed one, which is from then on the
// one that was flushed. NULL: all is well; otherwise what is wrong, in words.
const char *oracle_check(struct oracle *o, struct flash *flash, bool exact);

#endif
