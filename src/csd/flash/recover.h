// SPDX-License-Identifier: Apache-2.0
// What recover_scan.c finds on the medium and recover.c makes a device of.
#ifndef CSD_FLASH_RECOVER_H
#define CSD_FLASH_RECOVER_H

#include "csd/flash/state.h"

struct seen {      // a block
    bool summed;   // by its summary; otherwise its pages were read
    bool dirty;    // some page is not erased, whatever it holds
    bool sealed;   // a page of the summary is not erased: nothing more can be programmed
    bool dead;     // buried, or nothing in it can be read
    uint16_t next; // behind the last page that is not erased
    uint8_t stream;
    uint32_t generation; // 0: nothing readable
    uint64_t stamp;
    uint32_t buried; // by records: the highest generation that is
    bool retired;
};

// A unit without a summary that was hard to read: torn a little, perhaps. It can be read today, so
// it is copied today.
struct weak {
    uint32_t place;
    struct unit_meta meta;
    uint8_t data[FLASH_UNIT_BYTES];
};

struct recovery {
    struct seen *blocks;
    struct entry *entries;                // by place
    uint64_t *stamps;                     // by place, of units that were read
    uint64_t *best[FLASH_NAMESPACES_MAX]; // seq of what the map shows
    struct record *records;               // of living blocks
    uint32_t record_count, record_room;
    struct weak *weak;
    uint32_t weak_count, weak_room;
    uint8_t *raw;                 // one page
    uint64_t seq, stamp, durable; // the highest seen
    uint64_t table_seq, table_stamp;
    uint64_t newest_rotten; // seq of a table that cannot be read
    uint32_t unreadable_records;
    bool table_found, clean;
};

// Reads summaries, and the pages of blocks without one.
STN_MUST_CHECK enum stn_status recover_scan(struct flash *f, struct recovery *r);
// Notes units that cannot be read as records; the device is read-only if some were durable once.
STN_MUST_CHECK enum stn_status recover_void(struct flash *f, struct recovery *r);
// Programs these records, and copies of what was weak.
STN_MUST_CHECK enum stn_status recover_write_down(struct flash *f, struct recovery *r);

#endif
