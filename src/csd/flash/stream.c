// SPDX-License-Identifier: Apache-2.0
// Page buffers: units wait here, acknowledged, until a page of them is programmed. Until then the
// map shows the older copy, so that nothing on the medium is taken for stale too early.
#include <string.h>

#include "csd/flash/state.h"

static uint8_t *unit_at(const struct flash *f, const struct stream *s, int i)
{
    return s->page + (size_t)i * (size_t)f->raw_bytes;
}

struct waiting *stream_find(struct flash *f, uint8_t slot, uint64_t lpn, uint8_t **data)
{
    for (int name = STREAM_HOT; name <= STREAM_COLD; name++) {
        struct stream *s = &f->streams[name];
        for (int i = 0; i < s->filled; i++) {
            struct waiting *w = &s->waiting[i];
            if (w->meta.lpn == lpn && w->slot == slot && w->meta.kind == UNIT_DATA) {
                *data = unit_at(f, s, i);
                return w;
            }
        }
    }
    return NULL;
}

static void seal(struct flash *f, struct stream *s, const struct block *b)
{
    f->stamp++;
    for (int i = 0; i < f->profile.units; i++) {
        struct unit_meta pad = {.kind = UNIT_PAD};
        struct unit_meta *meta = i < s->filled ? &s->waiting[i].meta : &pad;
        if (meta->kind == UNIT_PAD) {
            memset(unit_at(f, s, i), 0, FLASH_UNIT_BYTES);
            f->stats.padding_units++;
        }
        meta->stream = b->stream;
        meta->stamp = f->stamp;
        meta->durable = f->durable;
        meta->generation = b->generation;
        unit_seal(unit_at(f, s, i), f->profile.ecc, meta);
    }
}

static void settle(struct flash *f, struct stream *s, uint32_t block)
{
    struct block *b = &f->blocks[block];
    uint32_t first = b->next * (uint32_t)f->profile.units;
    b->next++;
    b->stamp = f->stamp;
    for (int i = 0; i < f->profile.units; i++) {
        struct entry *e = &b->entries[first + (uint32_t)i];
        if (i >= s->filled || s->waiting[i].meta.kind == UNIT_PAD) {
            e->kind = UNIT_PAD;
            continue;
        }
        const struct unit_meta *m = &s->waiting[i].meta;
        *e = (struct entry){.lpn = (uint32_t)m->lpn, .ns = m->ns, .kind = m->kind, .seq = m->seq};
        map_settle(f, block_place(f, block) + first + (uint32_t)i, &s->waiting[i]);
    }
    s->filled = 0;
}

static enum flash_result open_block(struct flash *f, enum stream_name name)
{
    struct stream *s = &f->streams[name];
    enum flash_result result = FLASH_OK;
    if (s->open[s->turn] == PLACE_NONE) {
        s->open[s->turn] = block_take(f, name, &result);
    }
    return result;
}

static enum flash_result program(struct flash *f, enum stream_name name)
{
    struct stream *s = &f->streams[name];
    for (;;) {
        enum flash_result result = open_block(f, name);
        if (result) {
            return result;
        }
        uint32_t block = s->open[s->turn];
        struct block *b = &f->blocks[block];
        uint32_t page = block * (uint32_t)f->profile.geometry.pages + b->next;
        seal(f, s, b);
        enum media_result programmed = f->medium->ops->program(f->medium, page, s->page);
        if (programmed == MEDIA_FAILED) {
            block_fail(f, block);
            s->open[s->turn] = PLACE_NONE;
            continue;
        }
        if (programmed) {
            return result_of_media(f, programmed);
        }
        timing_program(f, block, name < STREAM_MOVE);
        f->stats.pages_programmed++;
        settle(f, s, block);
        if (b->next == f->data_pages) {
            block_set_state(f, block, BLOCK_FULL);
            s->open[s->turn] = PLACE_NONE;
        }
        s->turn = (s->turn + 1) % f->profile.stripe;
        return FLASH_OK;
    }
}

enum flash_result stream_room(struct flash *f, enum stream_name stream, struct waiting **waiting,
                              uint8_t **data)
{
    struct stream *s = &f->streams[stream];
    if (s->filled == f->profile.units) {
        enum flash_result result = program(f, stream);
        if (result) {
            return result;
        }
    }
    *waiting = &s->waiting[s->filled];
    *data = unit_at(f, s, s->filled);
    return FLASH_OK;
}

enum flash_result stream_added(struct flash *f, enum stream_name stream)
{
    struct stream *s = &f->streams[stream];
    return ++s->filled == f->profile.units ? program(f, stream) : FLASH_OK;
}

enum flash_result stream_flush(struct flash *f, enum stream_name stream)
{
    return f->streams[stream].filled ? program(f, stream) : FLASH_OK;
}

void stream_leave(struct flash *f, uint32_t block)
{
    for (int name = 0; name < STREAMS; name++) {
        for (int i = 0; i < f->profile.stripe; i++) {
            if (f->streams[name].open[i] == block) {
                f->streams[name].open[i] = PLACE_NONE;
                block_set_state(f, block, BLOCK_FULL);
            }
        }
    }
}

void stream_forget_space(struct flash *f, uint8_t slot)
{
    for (int name = 0; name < STREAMS; name++) {
        struct stream *s = &f->streams[name];
        for (int i = 0; i < s->filled; i++) {
            struct waiting *w = &s->waiting[i];
            if ((w->meta.kind == UNIT_DATA || w->meta.kind == UNIT_LOST) && w->slot == slot) {
                w->meta = (struct unit_meta){.kind = UNIT_PAD};
                w->from = PLACE_NONE;
            }
        }
    }
}
