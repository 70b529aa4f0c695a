// SPDX-License-Identifier: Apache-2.0
// Small facts of the log, many to a unit: trims, burials, units found unreadable. A record is true
// for ever; it lives as long as something older on the medium would be believed without it, and
// moves when its unit's block is collected.
#include <string.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "csd/flash/state.h"

static bool grow(struct records *r)
{
    if (r->count < r->room) {
        return true;
    }
    struct record *more = base_grow(r->at, &r->room, 64, sizeof(*more));
    if (!more) {
        return false;
    }
    r->at = more;
    return true;
}

uint32_t records_add(struct flash *f, const struct record *record)
{
    struct records *r = &f->records;
    uint32_t index = r->first_free;
    if (index != PLACE_NONE) {
        r->first_free = r->at[index].a;
    } else if (grow(r)) {
        index = r->count++;
    } else {
        return PLACE_NONE;
    }
    r->at[index] = *record;
    r->at[index].home = PLACE_NONE;
    r->at[index].batch = 0;
    r->at[index].refs = 0;
    r->pending++;
    return index;
}

static void leave_home(struct flash *f, struct record *record)
{
    struct owner *home = &f->owners[record->home];
    if (--home->lpn == 0) {
        f->blocks[place_block(f, record->home)].valid--;
    }
    record->home = PLACE_NONE;
}

void records_die(struct flash *f, uint32_t index)
{
    struct records *r = &f->records;
    struct record *record = &r->at[index];
    if (record->home != PLACE_NONE) {
        leave_home(f, record);
    } else if (!record->batch) {
        r->pending--;
    }
    *record = (struct record){.kind = RECORD_NONE, .a = r->first_free};
    r->first_free = index;
}

static void put_record(uint8_t *p, const struct record *record)
{
    p[0] = record->kind;
    base_put_le(p + 4, record->a, 4);
    base_put_le(p + 8, record->lpn, 8);
    base_put_le(p + 16, record->count, 8);
    base_put_le(p + 24, record->seq, 8);
}

int records_parse(const uint8_t *data, int at, struct record *out)
{
    const uint8_t *p = data + (size_t)at * RECORD_BYTES;
    *out = (struct record){.kind = p[0],
                           .a = (uint32_t)base_get_le(p + 4, 4),
                           .lpn = base_get_le(p + 8, 8),
                           .count = base_get_le(p + 16, 8),
                           .seq = base_get_le(p + 24, 8),
                           .home = PLACE_NONE};
    return out->kind;
}

static void fill_unit(struct flash *f, uint64_t batch, uint8_t *data)
{
    struct records *r = &f->records;
    memset(data, 0, FLASH_UNIT_BYTES);
    int n = 0;
    for (uint32_t i = 0; i < r->count && n < RECORDS_PER_UNIT && r->pending > 0; i++) {
        struct record *record = &r->at[i];
        if (record->kind != RECORD_NONE && record->home == PLACE_NONE && !record->batch) {
            record->batch = batch;
            put_record(data + (size_t)n++ * RECORD_BYTES, record);
            r->pending--;
        }
    }
}

enum flash_result records_put(struct flash *f, enum stream_name stream)
{
    enum flash_result result = FLASH_OK;
    while (f->records.pending > 0 && !result) {
        struct waiting *waiting;
        uint8_t *data;
        result = stream_room(f, stream, &waiting, &data);
        if (!result) {
            *waiting = (struct waiting){.meta = {.kind = UNIT_RECORDS, .seq = ++f->seq},
                                        .from = PLACE_NONE};
            fill_unit(f, waiting->meta.seq, data);
            f->stats.log_units++;
            result = stream_added(f, stream);
        }
    }
    return result;
}

void records_settle(struct flash *f, uint32_t place, uint64_t batch)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < f->records.count; i++) {
        struct record *record = &f->records.at[i];
        if (record->kind != RECORD_NONE && record->batch == batch && record->home == PLACE_NONE) {
            record->home = place;
            record->batch = 0;
            live++;
        }
    }
    f->owners[place] = (struct owner){.kind = UNIT_RECORDS, .lpn = live};
    f->blocks[place_block(f, place)].valid += live > 0;
}

void records_leave(struct flash *f, uint32_t place)
{
    for (uint32_t i = 0; i < f->records.count && f->owners[place].lpn > 0; i++) {
        struct record *record = &f->records.at[i];
        if (record->kind != RECORD_NONE && record->home == place) {
            leave_home(f, record);
            f->records.pending++;
        }
    }
}

bool records_waiting(const struct flash *f)
{
    bool waiting = f->records.pending > 0;
    for (int name = 0; name < STREAMS && !waiting; name++) {
        const struct stream *s = &f->streams[name];
        for (int i = 0; i < s->filled; i++) {
            waiting = waiting || s->waiting[i].meta.kind == UNIT_RECORDS;
        }
    }
    return waiting;
}

bool records_buried(const struct flash *f, uint32_t block)
{
    for (uint32_t i = 0; i < f->records.count; i++) {
        const struct record *record = &f->records.at[i];
        if (record->kind == RECORD_BURY && record->a == block &&
            record->lpn == f->blocks[block].generation) {
            return record->home != PLACE_NONE;
        }
    }
    return false;
}

// What is now durable in the block is newer than its burial; or (erased) its units are gone, and
// with them the need to call some of them unreadable.
void records_proven(struct flash *f, uint32_t block, bool erased)
{
    for (uint32_t i = 0; i < f->records.count; i++) {
        const struct record *record = &f->records.at[i];
        if (erased ? record->kind == RECORD_VOID && place_block(f, record->a) == block
                   : record->kind == RECORD_BURY && record->a == block &&
                         record->lpn < f->blocks[block].generation) {
            records_die(f, i);
        }
    }
}
