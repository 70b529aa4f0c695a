// SPDX-License-Identifier: Apache-2.0
#include "csd/media/sheet.h"

#include <stdlib.h>
#include <string.h>

struct sheet_page {
    int owners;
    uint8_t bytes[];
};

enum stn_status sheet_init(struct sheet *sheet, const struct media_geometry *geometry)
{
    *sheet = (struct sheet){.page_bytes = (size_t)geometry->page_bytes,
                            .count = media_blocks(geometry) * (uint32_t)geometry->pages};
    sheet->pages = calloc(sheet->count, sizeof(*sheet->pages));
    return sheet->pages ? STN_OK : stn_fail(STN_ERR_NO_MEMORY, "memory for a medium");
}

void sheet_fini(struct sheet *sheet)
{
    for (uint32_t i = 0; sheet->pages && i < sheet->count; i++) {
        sheet_page_release(sheet->pages[i]);
    }
    free(sheet->pages);
    sheet->pages = NULL;
}

const uint8_t *sheet_bytes(const struct sheet *sheet, uint32_t page)
{
    return sheet->pages[page] ? sheet->pages[page]->bytes : NULL;
}

void sheet_read(const struct sheet *sheet, uint32_t page, size_t offset, size_t bytes, void *out)
{
    const uint8_t *from = sheet_bytes(sheet, page);
    if (from) {
        memcpy(out, from + offset, bytes);
    } else {
        memset(out, 0, bytes);
    }
}

struct sheet_page *sheet_page_new(const void *bytes, size_t size)
{
    struct sheet_page *page = malloc(sizeof(*page) + size);
    if (page) {
        page->owners = 1;
        memcpy(page->bytes, bytes, size);
    }
    return page;
}

void sheet_set(struct sheet *sheet, uint32_t page, struct sheet_page *value)
{
    sheet_page_share(value);
    sheet_page_release(sheet->pages[page]);
    sheet->pages[page] = value;
}

void sheet_page_release(struct sheet_page *page)
{
    if (page && --page->owners == 0) {
        free(page);
    }
}

struct sheet_page *sheet_page_share(struct sheet_page *page)
{
    if (page) {
        page->owners++;
    }
    return page;
}

const uint8_t *sheet_page_bytes(const struct sheet_page *page)
{
    return page->bytes;
}
