// SPDX-License-Identifier: Apache-2.0
// What faulty.c and faulty_cut.c share.
#ifndef CSD_MEDIA_FAULTY_STATE_H
#define CSD_MEDIA_FAULTY_STATE_H

#include "csd/media/faulty.h"
#include "csd/media/sheet.h"

// A change that no sync has made durable yet.
struct faulty_pending {
    enum media_change change;
    uint32_t where;          // page or block
    struct sheet_page *page; // PROGRAM: what was programmed; owned
};

enum { FAULTY_FAILS = 1, FAULTY_BAD = 2 };

struct faulty {
    struct media base;
    struct sheet durable, now;
    struct faulty_pending *pending; // in the order of the changes
    uint32_t pending_count, pending_room;
    uint8_t *blocks; // FAULTY_FAILS, FAULTY_BAD
    bool full, lost;
    uint8_t label[MEDIA_LABEL_BYTES];
    void (*hook)(void *context, enum media_change change);
    void *context;
    const char *broken_rule;
    uint64_t changes;
};

#endif
