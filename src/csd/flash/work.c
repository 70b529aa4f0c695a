// SPDX-License-Identifier: Apache-2.0
// What a device does when nobody asks it for anything: moves what rots, makes room ahead, reads
// everything once in a while.
#include "csd/flash/state.h"

enum { SCRUB_UNITS = 16 };

static enum flash_result scrub_unit(struct flash *f, uint32_t place)
{
    struct unit_meta meta;
    int bits;
    if (!map_is_current(f, place)) {
        return FLASH_OK;
    }
    enum flash_result result = read_unit(f, place, f->scratch, &meta, &bits);
    f->stats.unrecovered_units += !result && bits < 0;
    return result;
}

static enum flash_result scrub_some(struct flash *f, uint32_t most)
{
    uint64_t all = (uint64_t)f->block_count * f->units_per_block;
    enum flash_result result = FLASH_OK;
    for (uint32_t n = 0; n < most && !result; f->scrub_at = (f->scrub_at + 1) % all) {
        n += map_is_current(f, (uint32_t)f->scrub_at);
        result = scrub_unit(f, (uint32_t)f->scrub_at);
        most -=
            f->scrub_at + 1 == all && most < all ? most - n : 0; // the end of a pass ends a piece
    }
    return result;
}

static enum flash_result move_urgent(struct flash *f, bool *any)
{
    enum flash_result result = collect_for_room(f);
    *any = false;
    result = result ? result : collect_urgent(f, any);
    return result || !*any ? result : collect_reclaim(f);
}

enum flash_result flash_work(struct flash *f, bool *more)
{
    timing_begin(f);
    *more = false;
    if (f->lost) {
        return FLASH_LOST;
    }
    if (f->clean_mark) {
        return scrub_some(f, SCRUB_UNITS);
    }
    enum flash_result result = move_urgent(f, more);
    if (result || *more) {
        return result;
    }
    uint32_t victim = f->free_count < 2 * f->low ? collect_pick(f, FLASH_GREEDY) : PLACE_NONE;
    if (victim != PLACE_NONE && f->blocks[victim].valid < f->data_units / 2) {
        *more = true;
        return f->collected < f->batch ? collect_block(f, victim, &f->stats.gc_units)
                                       : collect_reclaim(f);
    }
    return scrub_some(f, SCRUB_UNITS);
}

enum flash_result flash_scrub(struct flash *f)
{
    timing_begin(f);
    enum flash_result result = f->lost ? FLASH_LOST : table_unmark(f);
    for (uint64_t i = 0; i < (uint64_t)f->block_count * f->units_per_block && !result; i++) {
        result = scrub_unit(f, (uint32_t)i);
    }
    for (bool any = true; any && !result;) {
        result = move_urgent(f, &any);
    }
    return result;
}
