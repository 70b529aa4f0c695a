// SPDX-License-Identifier: Apache-2.0
// Garbage collection: which block to empty, moving what is current in it, and the reclaim that
// makes emptied blocks free: burials programmed, everything synced, only then erased.
#include "csd/flash/state.h"

static double worth(const struct flash *f, const struct block *b, enum flash_policy policy)
{
    double valid = (double)b->valid / (double)f->data_units;
    if (policy == FLASH_GREEDY) {
        return 1.0 - valid;
    }
    double age = (double)f->stamp - b->age + 1.0;
    return b->valid ? age * (1.0 - valid) / (2.0 * valid) : 1e300;
}

uint32_t collect_pick(const struct flash *f, enum flash_policy policy)
{
    uint32_t best = PLACE_NONE;
    double most = 0.0;
    for (uint32_t i = 0; i < f->block_count; i++) {
        const struct block *b = &f->blocks[i];
        if ((b->state == BLOCK_CLOSED || b->state == BLOCK_FULL) && !b->collected &&
            b->valid < f->data_units) {
            double gain = worth(f, b, policy);
            if (gain > most) {
                most = gain;
                best = i;
            }
        }
    }
    return best;
}

// A unit that cannot be read any more still hides its older copies: a mark takes its place, newer
// than all of them. The caller's newer version goes first if one waits.
static struct waiting lost_mark(struct flash *f, uint32_t place)
{
    const struct owner *o = &f->owners[place];
    return (struct waiting){.meta = {.kind = UNIT_LOST,
                                     .ns = f->spaces[o->slot].about.id,
                                     .lpn = o->lpn,
                                     .seq = ++f->seq},
                            .from = place,
                            .slot = o->slot};
}

static enum flash_result flush_newer(struct flash *f, uint32_t place)
{
    const struct owner o = f->owners[place];
    uint8_t *data;
    if (!stream_find(f, o.slot, o.lpn, &data)) {
        return FLASH_OK;
    }
    enum flash_result result = stream_flush(f, STREAM_HOT);
    return result ? result : stream_flush(f, STREAM_COLD);
}

static enum flash_result move_data(struct flash *f, uint32_t place, uint64_t *counter)
{
    struct waiting *waiting;
    uint8_t *data;
    int bits;
    const struct owner *o = &f->owners[place];
    bool rests = space_age(f, &f->spaces[o->slot], o->lpn) > f->heat;
    enum stream_name stream = rests ? STREAM_REST : STREAM_MOVE;
    enum flash_result result = stream_room(f, stream, &waiting, &data);
    if (result || !map_is_current(f, place)) {
        return result;
    }
    struct unit_meta meta;
    result = read_unit(f, place, data, &meta, &bits);
    if (result) {
        return result;
    }
    if (bits >= 0 && (meta.kind == UNIT_DATA || meta.kind == UNIT_LOST) && meta.lpn == o->lpn &&
        meta.ns == f->spaces[o->slot].about.id) {
        *waiting = (struct waiting){.meta = meta, .from = place, .slot = o->slot};
    } else {
        result = flush_newer(f, place);
        if (result || !map_is_current(f, place)) {
            return result;
        }
        f->stats.unrecovered_units++;
        *waiting = lost_mark(f, place);
    }
    f->spaces[o->slot].copies[o->lpn]++;
    ++*counter;
    return stream_added(f, stream);
}

enum flash_result collect_block(struct flash *f, uint32_t block, uint64_t *counter)
{
    enum flash_result result = FLASH_OK;
    for (uint32_t i = 0; i < f->data_units && !result; i++) {
        uint32_t place = block_place(f, block) + i;
        if (!map_is_current(f, place)) {
            continue;
        }
        switch (f->owners[place].kind) {
        case UNIT_RECORDS: records_leave(f, place); break;
        case UNIT_TABLE: result = table_move(f); break;
        default: result = move_data(f, place, counter);
        }
    }
    if (!result) {
        f->blocks[block].collected = true;
        f->collected++;
    }
    return result;
}

// A burial that survives a power cut is believed, so it must not be programmed before what took the
// place of the block's units is durable.
static uint32_t bury_empty(struct flash *f)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->block_count; i++) {
        struct block *b = &f->blocks[i];
        if ((b->state != BLOCK_CLOSED && b->state != BLOCK_FULL) || !b->empty) {
            continue;
        }
        struct record burial = {
            .kind = RECORD_BURY, .a = i, .lpn = b->generation, .count = b->failing};
        if (records_add(f, &burial) != PLACE_NONE) {
            b->retired = b->failing;
            f->stats.blocks_bad_grown += b->retired;
            block_set_state(f, i, BLOCK_DYING);
            count++;
        }
    }
    return count;
}

static enum flash_result sync_moved(struct flash *f)
{
    enum flash_result result = records_put(f, STREAM_MOVE);
    result = result ? result : stream_flush(f, STREAM_MOVE);
    result = result ? result : stream_flush(f, STREAM_REST);
    return result ? result : block_sync(f);
}

enum flash_result collect_reclaim(struct flash *f)
{
    enum flash_result result = FLASH_OK;
    uint32_t count = bury_empty(f);
    if (count == 0) { // what was collected last is not durable yet
        result = sync_moved(f);
        count = result ? 0 : bury_empty(f);
    }
    f->collected = 0;
    return result || count == 0 ? result : sync_moved(f);
}

enum flash_result collect_urgent(struct flash *f, bool *any)
{
    *any = false;
    for (uint32_t i = 0; i < f->block_count; i++) {
        const struct block *b = &f->blocks[i];
        if ((b->state == BLOCK_CLOSED || b->state == BLOCK_FULL) && (b->urgent || b->failing) &&
            !b->collected) {
            *any = true;
            return collect_block(f, i, &f->stats.scrub_units);
        }
    }
    return FLASH_OK;
}

static enum flash_result level_wear(struct flash *f)
{
    uint32_t victim = f->free_count < f->least ? PLACE_NONE : wear_victim(f);
    if (victim == PLACE_NONE) {
        return FLASH_OK;
    }
    if (f->blocks[victim].state == BLOCK_OPEN) {
        stream_leave(f, victim);
        return FLASH_OK;
    }
    f->levelling = true;
    enum flash_result result = collect_block(f, victim, &f->stats.level_units);
    f->levelling = false;
    return result;
}

// One step towards more free blocks: moves one block's units, or reclaims what was emptied.
static enum flash_result step(struct flash *f, bool *stuck)
{
    enum flash_result result = FLASH_OK;
    if (f->collected == 0 || (f->collected < f->batch && f->free_count > f->least)) {
        bool urgent;
        result = collect_urgent(f, &urgent);
        uint32_t victim = result || urgent ? PLACE_NONE : collect_pick(f, f->options.policy);
        if (victim != PLACE_NONE) {
            result = collect_block(f, victim, &f->stats.gc_units);
        }
        if (result || urgent || victim != PLACE_NONE) {
            return result;
        }
    }
    uint32_t before = f->free_count;
    *stuck = f->collected == 0;
    result = collect_reclaim(f);
    *stuck = *stuck && f->free_count <= before;
    return result ? result : level_wear(f);
}

enum flash_result collect_for_room(struct flash *f)
{
    enum flash_result result = FLASH_OK;
    bool stuck = false;
    for (uint32_t i = 0; f->free_count < f->low && !result && !stuck && i < 4 * f->block_count;
         i++) {
        result = step(f, &stuck);
    }
    return result;
}
