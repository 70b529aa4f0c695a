// SPDX-License-Identifier: Apache-2.0
// What is in a directory, sorted by name (bytes, not locale), hidden entries left out.
#ifndef DATA_LISTING_H
#define DATA_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "stannis/status.h"

struct data_listing {
    const char **names; // [count]; freed by data_listing_fini, the texts are the arena's
    int64_t count, room;
    int64_t others; // entries that were not what was asked for
};

enum data_listing_want { DATA_LISTING_DIRS, DATA_LISTING_PICTURES };

STN_MUST_CHECK enum stn_status data_listing_read(const char *dir, enum data_listing_want want,
                                                 struct base_arena *arena,
                                                 struct data_listing *out);
// At the end; false when memory is out.
bool data_listing_add(struct data_listing *listing, struct base_arena *arena, const char *name);
void data_listing_fini(struct data_listing *listing);

#endif
