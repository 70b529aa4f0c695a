// SPDX-License-Identifier: Apache-2.0
// The end of recovery: what could not be read, or hardly, is written down, so that the next
// recovery sees it as this one did.
#include <string.h>

#include "csd/flash/recover.h"
#include "stannis/log.h"

// Was the unreadable unit durable once? Then it has rotted, and was no victim of the power cut.
static bool was_durable(const struct flash *f, const struct recovery *r, uint32_t place)
{
    uint32_t end = block_place(f, place_block(f, place)) + f->data_units;
    for (uint32_t later = place + 1; later < end; later++) {
        if (r->stamps[later]) {
            return r->stamps[later] <= r->durable;
        }
    }
    return false;
}

// With a code that corrects, what is unreadable today may be readable tomorrow: it must stay
// unread.
static bool void_block(struct flash *f, const struct recovery *r, uint32_t block)
{
    const struct seen *s = &r->blocks[block];
    if (s->summed || s->retired || !s->dirty || s->generation <= s->buried) {
        const struct record burial = {.kind = RECORD_BURY, .a = block, .lpn = s->buried + 1};
        bool torn = s->dirty && s->generation == 0 && !s->retired;
        if (torn) {
            f->blocks[block].generation = s->buried + 2;
            return records_add(f, &burial) != PLACE_NONE;
        }
        return true;
    }
    bool well = true;
    for (uint32_t i = 0; i < f->data_units && well; i++) {
        uint32_t place = block_place(f, block) + i;
        if (r->entries[place].kind != UNIT_VOID) {
            continue;
        }
        f->stats.lost_units += was_durable(f, r, place);
        const struct record unread = {.kind = RECORD_VOID, .a = place, .lpn = s->generation};
        well = records_add(f, &unread) != PLACE_NONE;
    }
    return well;
}

enum stn_status recover_void(struct flash *f, struct recovery *r)
{
    uint64_t lost = f->stats.lost_units;
    for (uint32_t block = 0; block < f->block_count; block++) {
        if (f->blocks[block].state != BLOCK_BAD && !void_block(f, r, block)) {
            return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", f->medium->name);
        }
    }
    if (f->stats.lost_units > lost || r->unreadable_records > 0) {
        f->read_only = true;
        stn_log(STN_LOG_ERROR,
                "%s: %llu units have rotted beyond what can be corrected, and nothing says which; "
                "the device can only be read",
                f->medium->name,
                (unsigned long long)(f->stats.lost_units - lost) + r->unreadable_records);
    }
    return STN_OK;
}

// Weak units go on in fresh pages. What they hold may be records or a table: those are written
// anew.
static enum flash_result copy_weak(struct flash *f, const struct weak *weak)
{
    if (!map_is_current(f, weak->place)) {
        return FLASH_OK;
    }
    if (weak->meta.kind == UNIT_RECORDS) {
        records_leave(f, weak->place);
        return FLASH_OK;
    }
    if (weak->meta.kind == UNIT_TABLE) {
        return table_write(f, false);
    }
    struct waiting *waiting;
    uint8_t *data;
    enum flash_result result = stream_room(f, STREAM_MOVE, &waiting, &data);
    if (result) {
        return result;
    }
    const struct owner *o = &f->owners[weak->place];
    memcpy(data, weak->data, FLASH_UNIT_BYTES);
    *waiting = (struct waiting){.meta = weak->meta, .from = weak->place, .slot = o->slot};
    f->spaces[o->slot].copies[o->lpn]++;
    return stream_added(f, STREAM_MOVE);
}

static enum flash_result put_and_sync(struct flash *f)
{
    enum flash_result result = records_put(f, STREAM_MOVE);
    result = result ? result : stream_flush(f, STREAM_MOVE);
    return result ? result : block_sync(f);
}

// When the copies are durable, the weak units themselves are not read again.
static bool void_weak(struct flash *f, const struct recovery *r)
{
    bool well = true;
    for (uint32_t i = 0; i < r->weak_count && well; i++) {
        uint32_t place = r->weak[i].place, block = place_block(f, place);
        struct block *b = &f->blocks[block];
        if (r->blocks[block].dead || r->entries[place].kind == UNIT_NONE) {
            continue;
        }
        const struct record unread = {.kind = RECORD_VOID, .a = place, .lpn = b->generation};
        well = records_add(f, &unread) != PLACE_NONE;
        if (b->entries) {
            b->entries[place - block_place(f, block)].kind = UNIT_NONE;
        }
    }
    return well;
}

// What was found unreadable is written down before anybody reads, what was found weak is copied.
enum stn_status recover_write_down(struct flash *f, struct recovery *r)
{
    block_check_life(f);
    if (f->records.pending == 0 && r->weak_count == 0) {
        f->durable = f->stamp;
        return STN_OK;
    }
    f->recovering = true;
    enum flash_result result = table_unmark(f);
    for (uint32_t i = 0; i < r->weak_count && !result; i++) {
        result = copy_weak(f, &r->weak[i]);
    }
    if (!result && r->weak_count > 0) {
        result = put_and_sync(f);
        if (!result && !void_weak(f, r)) {
            result = FLASH_LOST;
        }
    }
    result = result ? result : records_put(f, STREAM_MOVE);
    result = result ? result : stream_flush(f, STREAM_MOVE);
    f->recovering = false;
    result = result ? result : block_sync(f);
    return result ? stn_fail(result == FLASH_NO_SPACE ? STN_ERR_NO_SPACE : STN_ERR_IO, "%s: %s",
                             f->medium->name, flash_result_text(result))
                  : STN_OK;
}
