// SPDX-License-Identifier: Apache-2.0
// What a power cut leaves of the changes since the last sync.
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "csd/media/faulty_state.h"

enum fate { LOST, DONE, TORN };

// How a cut treats all of its pending changes together.
enum style {
    ALL_LOST,
    ALL_DONE,
    IN_ORDER, // done up to a point, torn there, lost behind it
    ANY_OR_NOT,
    ANYTHING,
    ALMOST_DONE, // one in eight is torn or lost
    STYLES,
};

struct cut {
    struct base_random random;
    enum style style;
    size_t point; // IN_ORDER
    uint8_t *buffer;
};

static enum fate draw_fate(struct cut *cut, size_t i)
{
    switch (cut->style) {
    case ALL_LOST: return LOST;
    case ALL_DONE: return DONE;
    case IN_ORDER: return i < cut->point ? DONE : i == cut->point ? TORN : LOST;
    case ANY_OR_NOT: return (enum fate)base_random_below(&cut->random, 2);
    case ANYTHING: return (enum fate)base_random_below(&cut->random, 3);
    default:
        return base_random_below(&cut->random, 8)   ? DONE
               : base_random_below(&cut->random, 2) ? TORN
                                                    : LOST;
    }
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
    return !bytes[0] && memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Bytes of both: sectors of 512 drawn one by one, or all up to some byte.
static void mix(struct cut *cut, size_t size, const uint8_t *after)
{
    if (base_random_below(&cut->random, 3) == 0) {
        size_t until = base_random_below(&cut->random, size + 1);
        memcpy(cut->buffer, after, until);
        return;
    }
    for (size_t at = 0; at < size; at += 512) {
        if (base_random_below(&cut->random, 2)) {
            memcpy(cut->buffer + at, after + at, size - at < 512 ? size - at : 512);
        }
    }
}

// `after` is NULL for an erase.
static bool change_page(struct cut *cut, struct sheet *sheet, uint32_t page,
                        struct sheet_page *after, enum fate fate)
{
    if (fate != TORN) {
        if (fate == DONE) {
            sheet_set(sheet, page, after);
        }
        return true;
    }
    size_t size = sheet->page_bytes;
    uint8_t *erased = calloc(1, size);
    if (!erased) {
        return false;
    }
    sheet_read(sheet, page, 0, size, cut->buffer);
    mix(cut, size, after ? sheet_page_bytes(after) : erased);
    free(erased);
    struct sheet_page *torn = NULL;
    if (!all_zero(cut->buffer, size)) {
        torn = sheet_page_new(cut->buffer, size);
        if (!torn) {
            return false;
        }
    }
    sheet_set(sheet, page, torn);
    sheet_page_release(torn);
    return true;
}

static bool apply(struct cut *cut, struct sheet *sheet, const struct faulty_pending *pending,
                  size_t i, uint32_t pages)
{
    enum fate fate = draw_fate(cut, i);
    if (pending->change == MEDIA_PROGRAM) {
        return change_page(cut, sheet, pending->where, pending->page, fate);
    }
    bool alone = base_random_below(&cut->random, 2); // each page for itself
    bool well = true;
    for (uint32_t k = 0; k < pages && well; k++) {
        enum fate part =
            fate == TORN && alone ? (enum fate)base_random_below(&cut->random, 3) : fate;
        well = change_page(cut, sheet, pending->where * pages + k, NULL, part);
    }
    return well;
}

static enum stn_status make_like(const struct faulty *from, const struct sheet *durable,
                                 struct media **out)
{
    enum stn_status status = media_faulty_create(&from->base.geometry, out);
    if (status) {
        return status;
    }
    struct faulty *f = (struct faulty *)*out;
    memcpy(f->blocks, from->blocks, media_blocks(&from->base.geometry));
    memcpy(f->label, from->label, sizeof(f->label));
    for (uint32_t i = 0; i < durable->count; i++) {
        sheet_set(&f->durable, i, durable->pages[i]);
    }
    return STN_OK;
}

enum stn_status media_faulty_cut(struct media *media, uint64_t seed, struct media **out)
{
    struct faulty *from = (struct faulty *)media, *f;
    enum stn_status status = make_like(from, &from->durable, out);
    if (status) {
        return status;
    }
    f = (struct faulty *)*out;
    struct cut cut = {.random = base_random_from(seed), .buffer = malloc(f->durable.page_bytes)};
    cut.style = (enum style)base_random_below(&cut.random, STYLES);
    cut.point = base_random_below(&cut.random, from->pending_count + 1);
    bool well = cut.buffer;
    for (size_t i = 0; i < from->pending_count && well; i++) {
        well = apply(&cut, &f->durable, &from->pending[i], i, (uint32_t)media->geometry.pages);
    }
    free(cut.buffer);
    for (uint32_t i = 0; i < f->durable.count; i++) {
        sheet_set(&f->now, i, f->durable.pages[i]);
    }
    if (!well) {
        media_close(*out);
        return stn_fail(STN_ERR_NO_MEMORY, "memory for a copy of a medium");
    }
    return STN_OK;
}

enum stn_status media_faulty_copy(struct media *media, struct media **out)
{
    struct faulty *from = (struct faulty *)media, *f;
    enum stn_status status = make_like(from, &from->durable, out);
    if (status) {
        return status;
    }
    f = (struct faulty *)*out;
    for (uint32_t i = 0; i < f->now.count; i++) {
        sheet_set(&f->now, i, from->now.pages[i]);
    }
    f->pending = malloc((from->pending_count + 1) * sizeof(*f->pending));
    if (!f->pending) {
        media_close(*out);
        return stn_fail(STN_ERR_NO_MEMORY, "memory for a copy of a medium");
    }
    f->pending_room = from->pending_count + 1;
    for (size_t i = 0; i < from->pending_count; i++) {
        f->pending[i] = from->pending[i];
        sheet_page_share(f->pending[i].page);
    }
    f->pending_count = from->pending_count;
    return STN_OK;
}
