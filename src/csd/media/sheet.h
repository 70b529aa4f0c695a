// SPDX-License-Identifier: Apache-2.0
// The pages of a medium in memory. Those that hold nothing take no space, and sheets may share
// pages.
#ifndef CSD_MEDIA_SHEET_H
#define CSD_MEDIA_SHEET_H

#include <stddef.h>
#include <stdint.h>

#include "csd/flash/media.h"

struct sheet_page; // its bytes never change while it has more than one owner

struct sheet {
    size_t page_bytes;
    uint32_t count;
    struct sheet_page **pages; // NULL: erased
};

STN_MUST_CHECK enum stn_status sheet_init(struct sheet *sheet,
                                          const struct media_geometry *geometry);
void sheet_fini(struct sheet *sheet); // also of one that is all zeros

// Of an erased page NULL.
const uint8_t *sheet_bytes(const struct sheet *sheet, uint32_t page);
void sheet_read(const struct sheet *sheet, uint32_t page, size_t offset, size_t bytes, void *out);
// A page of one owner with these bytes; NULL: out of memory.
struct sheet_page *sheet_page_new(const void *bytes, size_t size);
// Puts a page in its place, NULL for an erased one; the sheet becomes one more owner of it.
void sheet_set(struct sheet *sheet, uint32_t page, struct sheet_page *value);
void sheet_page_release(struct sheet_page *page); // takes NULL
struct sheet_page *sheet_page_share(struct sheet_page *page);
const uint8_t *sheet_page_bytes(const struct sheet_page *page);

#endif
