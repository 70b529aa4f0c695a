// SPDX-License-Identifier: Apache-2.0
#include "csd/media/memory.h"

#include <stdlib.h>
#include <string.h>

#include "csd/media/sheet.h"

struct memory {
    struct media base;
    struct sheet sheet;
    uint8_t label[MEDIA_LABEL_BYTES];
};

static enum media_result read_page(struct media *media, uint32_t page, size_t offset, size_t bytes,
                                   void *out)
{
    sheet_read(&((struct memory *)media)->sheet, page, offset, bytes, out);
    return MEDIA_OK;
}

static enum media_result program(struct media *media, uint32_t page, const void *bytes)
{
    struct memory *memory = (struct memory *)media;
    struct sheet_page *value = sheet_page_new(bytes, memory->sheet.page_bytes);
    if (!value) {
        return MEDIA_NO_SPACE;
    }
    sheet_set(&memory->sheet, page, value);
    sheet_page_release(value);
    return MEDIA_OK;
}

static enum media_result erase(struct media *media, uint32_t block)
{
    uint32_t pages = (uint32_t)media->geometry.pages;
    for (uint32_t i = 0; i < pages; i++) {
        sheet_set(&((struct memory *)media)->sheet, block * pages + i, NULL);
    }
    return MEDIA_OK;
}

static enum media_result sync_nothing(struct media *media)
{
    (void)media;
    return MEDIA_OK;
}

static enum media_result read_label(struct media *media, uint8_t label[MEDIA_LABEL_BYTES])
{
    memcpy(label, ((struct memory *)media)->label, MEDIA_LABEL_BYTES);
    return MEDIA_OK;
}

static enum media_result write_label(struct media *media, const uint8_t label[MEDIA_LABEL_BYTES])
{
    memcpy(((struct memory *)media)->label, label, MEDIA_LABEL_BYTES);
    return MEDIA_OK;
}

static bool bad_from_factory(struct media *media, uint32_t block)
{
    (void)media;
    (void)block;
    return false;
}

static void close_memory(struct media *media)
{
    sheet_fini(&((struct memory *)media)->sheet);
    free(media);
}

static const struct media_ops memory_ops = {read_page,        program,     erase,
                                            sync_nothing,     read_label,  write_label,
                                            bad_from_factory, close_memory};

enum stn_status media_memory_create(const struct media_geometry *geometry, struct media **out)
{
    struct memory *memory = calloc(1, sizeof(*memory));
    if (!memory) {
        return stn_fail(STN_ERR_NO_MEMORY, "memory for a medium");
    }
    memory->base = (struct media){.ops = &memory_ops, .geometry = *geometry, .name = "memory"};
    enum stn_status status = sheet_init(&memory->sheet, geometry);
    if (status) {
        free(memory);
        return status;
    }
    *out = &memory->base;
    return STN_OK;
}
