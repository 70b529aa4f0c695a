// SPDX-License-Identifier: Apache-2.0
#include "csd/media/faulty.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/random.h"
#include "csd/media/faulty_state.h"

static void break_rule(struct faulty *f, const char *rule)
{
    if (!f->broken_rule) {
        f->broken_rule = rule;
    }
}

static bool add_pending(struct faulty *f, enum media_change change, uint32_t where,
                        struct sheet_page *page)
{
    if (f->pending_count == f->pending_room) {
        struct faulty_pending *more = base_grow(f->pending, &f->pending_room, 64, sizeof(*more));
        if (!more) {
            return false;
        }
        f->pending = more;
    }
    f->pending[f->pending_count++] = (struct faulty_pending){change, where, page};
    return true;
}

static void call_hook(struct faulty *f, enum media_change change)
{
    f->changes++;
    if (f->hook) {
        f->hook(f->context, change);
    }
}

static enum media_result read_page(struct media *media, uint32_t page, size_t offset, size_t bytes,
                                   void *out)
{
    struct faulty *f = (struct faulty *)media;
    if (f->lost) {
        return MEDIA_LOST;
    }
    sheet_read(&f->now, page, offset, bytes, out);
    return MEDIA_OK;
}

static void check_program(struct faulty *f, uint32_t page)
{
    uint32_t pages = (uint32_t)f->base.geometry.pages, block = page / pages;
    if (sheet_bytes(&f->now, page)) {
        break_rule(f, "a page is programmed twice");
    }
    for (uint32_t later = page + 1; later < (block + 1) * pages; later++) {
        if (sheet_bytes(&f->now, later)) {
            break_rule(f, "a page is programmed before one that was programmed already");
        }
    }
    for (size_t i = 0; i < f->pending_count; i++) {
        if (f->pending[i].change == MEDIA_ERASE && f->pending[i].where == block) {
            break_rule(f, "a page is programmed before the erase of its block is durable");
        }
    }
    if (f->blocks[block] & FAULTY_BAD) {
        break_rule(f, "a page of a bad block is programmed");
    }
}

static enum media_result program(struct media *media, uint32_t page, const void *bytes)
{
    struct faulty *f = (struct faulty *)media;
    uint32_t block = page / (uint32_t)media->geometry.pages;
    if (f->lost || (f->full && page % (uint32_t)media->geometry.pages == 0)) {
        return f->lost ? MEDIA_LOST : MEDIA_NO_SPACE;
    }
    check_program(f, page);
    struct sheet_page *value = sheet_page_new(bytes, f->now.page_bytes);
    if (!value || !add_pending(f, MEDIA_PROGRAM, page, value)) {
        sheet_page_release(value);
        return MEDIA_LOST;
    }
    sheet_set(&f->now, page, value);
    call_hook(f, MEDIA_PROGRAM);
    return f->blocks[block] & FAULTY_FAILS ? MEDIA_FAILED : MEDIA_OK;
}

static enum media_result erase(struct media *media, uint32_t block)
{
    struct faulty *f = (struct faulty *)media;
    uint32_t pages = (uint32_t)media->geometry.pages;
    if (f->lost || !add_pending(f, MEDIA_ERASE, block, NULL)) {
        return MEDIA_LOST;
    }
    bool fails = f->blocks[block] & FAULTY_FAILS;
    for (uint32_t i = 0; i < pages && !fails; i++) {
        sheet_set(&f->now, block * pages + i, NULL);
    }
    call_hook(f, MEDIA_ERASE);
    return fails ? MEDIA_FAILED : MEDIA_OK;
}

static enum media_result sync_pages(struct media *media)
{
    struct faulty *f = (struct faulty *)media;
    uint32_t pages = (uint32_t)media->geometry.pages;
    if (f->lost) {
        return MEDIA_LOST;
    }
    call_hook(f, MEDIA_SYNC);
    for (size_t i = 0; i < f->pending_count; i++) {
        const struct faulty_pending *p = &f->pending[i];
        bool erase = p->change == MEDIA_ERASE;
        for (uint32_t k = 0; k < (erase ? pages : 1); k++) {
            uint32_t page = erase ? p->where * pages + k : p->where;
            sheet_set(&f->durable, page, f->now.pages[page]);
        }
        sheet_page_release(p->page);
    }
    f->pending_count = 0;
    return MEDIA_OK;
}

static enum media_result read_label(struct media *media, uint8_t label[MEDIA_LABEL_BYTES])
{
    memcpy(label, ((struct faulty *)media)->label, MEDIA_LABEL_BYTES);
    return MEDIA_OK;
}

static enum media_result write_label(struct media *media, const uint8_t label[MEDIA_LABEL_BYTES])
{
    memcpy(((struct faulty *)media)->label, label, MEDIA_LABEL_BYTES);
    return MEDIA_OK;
}

static bool bad_from_factory(struct media *media, uint32_t block)
{
    return ((struct faulty *)media)->blocks[block] & FAULTY_BAD;
}

static void close_faulty(struct media *media)
{
    struct faulty *f = (struct faulty *)media;
    for (size_t i = 0; i < f->pending_count; i++) {
        sheet_page_release(f->pending[i].page);
    }
    sheet_fini(&f->durable);
    sheet_fini(&f->now);
    free(f->pending);
    free(f->blocks);
    free(f);
}

static const struct media_ops faulty_ops = {
    read_page, program, erase, sync_pages, read_label, write_label, bad_from_factory, close_faulty};

enum stn_status media_faulty_create(const struct media_geometry *geometry, struct media **out)
{
    struct faulty *f = calloc(1, sizeof(*f));
    if (!f) {
        return stn_fail(STN_ERR_NO_MEMORY, "memory for a medium");
    }
    f->base = (struct media){.ops = &faulty_ops, .geometry = *geometry, .name = "faulty memory"};
    f->blocks = calloc(media_blocks(geometry), 1);
    if (!f->blocks || sheet_init(&f->durable, geometry) || sheet_init(&f->now, geometry)) {
        close_faulty(&f->base);
        return stn_fail(STN_ERR_NO_MEMORY, "memory for a medium");
    }
    *out = &f->base;
    return STN_OK;
}

void media_faulty_hook(struct media *media, void (*hook)(void *context, enum media_change change),
                       void *context)
{
    struct faulty *f = (struct faulty *)media;
    f->hook = hook;
    f->context = context;
}

const char *media_faulty_broken_rule(const struct media *media)
{
    return ((const struct faulty *)media)->broken_rule;
}

void media_faulty_fail(struct media *media, uint32_t block)
{
    ((struct faulty *)media)->blocks[block] |= FAULTY_FAILS;
}

void media_faulty_full(struct media *media, bool full)
{
    ((struct faulty *)media)->full = full;
}

void media_faulty_lost(struct media *media, bool lost)
{
    ((struct faulty *)media)->lost = lost;
}

void media_faulty_bad_from_factory(struct media *media, uint32_t block)
{
    ((struct faulty *)media)->blocks[block] |= FAULTY_BAD;
}

uint64_t media_faulty_changes(const struct media *media)
{
    return ((const struct faulty *)media)->changes;
}

enum stn_status media_faulty_rot(struct media *media, uint32_t page, size_t offset, size_t bytes,
                                 int count, uint64_t seed)
{
    struct faulty *f = (struct faulty *)media;
    uint8_t *rotten = malloc(f->now.page_bytes);
    if (!rotten) {
        return stn_fail(STN_ERR_NO_MEMORY, "memory for a page");
    }
    sheet_read(&f->now, page, 0, f->now.page_bytes, rotten);
    for (int i = 0; i < count; i++) {
        uint64_t bit = base_permute(seed, 8 * bytes, (uint64_t)i);
        rotten[offset + bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    struct sheet_page *value = sheet_page_new(rotten, f->now.page_bytes);
    free(rotten);
    if (!value) {
        return stn_fail(STN_ERR_NO_MEMORY, "memory for a page");
    }
    sheet_set(&f->now, page, value);
    sheet_set(&f->durable, page, value);
    sheet_page_release(value);
    return STN_OK;
}
