// SPDX-License-Identifier: Apache-2.0
// Writing, trimming and flushing.
#include "csd/flash/state.h"

// What is written again sooner than others is hot.
static enum stream_name choose_stream(struct flash *f, const struct space *space, uint64_t lpn)
{
    uint32_t place = space->map[lpn];
    if (!map_is_place(place)) {
        return STREAM_COLD;
    }
    double distance = space_age(f, space, lpn);
    f->heat += (distance - f->heat) / 4096.0;
    return distance < f->heat ? STREAM_HOT : STREAM_COLD;
}

static enum flash_result check_writable(struct flash *f)
{
    return f->lost ? FLASH_LOST : f->read_only ? FLASH_READ_ONLY : table_unmark(f);
}

static enum flash_result write_unit(struct flash *f, uint8_t slot, uint64_t lpn, const void *plain)
{
    struct space *space = &f->spaces[slot];
    uint8_t *data;
    struct waiting *waiting = stream_find(f, slot, lpn, &data);
    if (waiting) {
        waiting->meta.seq = ++f->seq;
        return cipher_encrypt(space->cipher, lpn, waiting->meta.seq, plain, data) ? FLASH_OK
                                                                                  : FLASH_LOST;
    }
    enum flash_result result = collect_for_room(f);
    if (result) {
        return result;
    }
    enum stream_name stream = choose_stream(f, space, lpn);
    result = stream_room(f, stream, &waiting, &data);
    if (result) {
        return result;
    }
    *waiting = (struct waiting){.meta = {.kind = UNIT_DATA, .ns = space->about.id, .lpn = lpn},
                                .from = PLACE_NONE,
                                .slot = slot};
    waiting->meta.seq = ++f->seq;
    if (!cipher_encrypt(space->cipher, lpn, waiting->meta.seq, plain, data)) {
        return FLASH_LOST;
    }
    space->copies[lpn]++;
    result = stream_added(f, stream);
    return result == FLASH_LOST ? result : FLASH_OK; // otherwise it waits, acknowledged
}

enum flash_result flash_write(struct flash *f, uint32_t id, uint64_t first, uint32_t count,
                              const void *data, uint32_t *done)
{
    uint8_t slot = 0;
    uint32_t n = 0;
    timing_begin(f);
    enum flash_result result = space_range(f, id, first, count, &slot);
    if (!result && count > 0) {
        result = check_writable(f);
    }
    while (n < count && !result) {
        result =
            write_unit(f, slot, first + n, (const uint8_t *)data + (size_t)n * FLASH_UNIT_BYTES);
        n += !result;
    }
    f->stats.host_units_written += n;
    if (done) {
        *done = n;
    }
    return result;
}

// Units that wait in a page buffer become padding.
static void drop_waiting(struct flash *f, uint8_t slot, uint64_t first, uint64_t count)
{
    for (int name = STREAM_HOT; name <= STREAM_COLD; name++) {
        struct stream *s = &f->streams[name];
        for (int i = 0; i < s->filled; i++) {
            struct waiting *w = &s->waiting[i];
            if (w->meta.kind == UNIT_DATA && w->slot == slot && w->meta.lpn >= first &&
                w->meta.lpn - first < count) {
                f->spaces[slot].copies[w->meta.lpn]--;
                w->meta = (struct unit_meta){.kind = UNIT_PAD};
            }
        }
    }
}

static enum flash_result trim_range(struct flash *f, uint8_t slot, uint64_t first, uint64_t count)
{
    struct space *space = &f->spaces[slot];
    const struct record trim = {
        .kind = RECORD_TRIM, .a = space->about.id, .lpn = first, .count = count, .seq = ++f->seq};
    uint32_t index = records_add(f, &trim);
    if (index == PLACE_NONE) {
        return FLASH_LOST;
    }
    drop_waiting(f, slot, first, count);
    f->records.at[index].refs = 1; // of this call, while others come and go
    for (uint64_t lpn = first; lpn < first + count; lpn++) {
        uint32_t value = space->copies[lpn] ? MAP_TRIMMED + index : MAP_UNWRITTEN;
        if (space->map[lpn] != value) {
            map_set(f, slot, lpn, value);
        }
    }
    if (--f->records.at[index].refs == 0) {
        records_die(f, index);
    }
    return FLASH_OK;
}

enum flash_result flash_trim(struct flash *f, uint32_t id, uint64_t first, uint64_t count)
{
    uint8_t slot = 0;
    timing_begin(f);
    enum flash_result result = space_range(f, id, first, count, &slot);
    if (!result && count > 0) {
        result = check_writable(f);
    }
    if (result || count == 0) {
        return result;
    }
    if (f->records.pending >= RECORDS_PER_UNIT) {
        result = collect_for_room(f);
        result = result ? result : records_put(f, STREAM_MOVE);
    }
    result = result ? result : trim_range(f, slot, first, count);
    f->stats.host_units_trimmed += result ? 0 : count;
    return result;
}

static bool holds_log(const struct stream *s)
{
    for (int i = 0; i < s->filled; i++) {
        if (s->waiting[i].meta.kind == UNIT_RECORDS || s->waiting[i].meta.kind == UNIT_TABLE) {
            return true;
        }
    }
    return false;
}

static enum flash_result flush(struct flash *f)
{
    enum flash_result result = collect_for_room(f);
    if (!result && f->table_due) {
        result = table_write(f, false);
    }
    result = result ? result : records_put(f, STREAM_HOT);
    result = result ? result : stream_flush(f, STREAM_HOT);
    result = result ? result : stream_flush(f, STREAM_COLD);
    if (!result && holds_log(&f->streams[STREAM_MOVE])) {
        result = stream_flush(f, STREAM_MOVE);
    }
    return result || f->stamp == f->durable ? result : block_sync(f);
}

enum flash_result flash_flush(struct flash *f)
{
    timing_begin(f);
    if (f->clean_mark) {
        return FLASH_OK; // nothing was changed since power came on
    }
    f->stats.flushes++;
    enum flash_result result = f->lost ? FLASH_LOST : flush(f);
    timing_flush(f);
    return result;
}
