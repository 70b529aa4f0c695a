// SPDX-License-Identifier: Apache-2.0
// Blocks and what happens to them: taken by a stream, filled, summed up, buried, erased, retired.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "csd/flash/state.h"

enum { ERASE_AHEAD = 8 }; // unproven blocks that are erased for one sync

static bool counts_as_free(uint8_t state)
{
    return state == BLOCK_FREE || state == BLOCK_ERASING || state == BLOCK_UNPROVEN;
}

void block_set_state(struct flash *f, uint32_t block, enum block_state state)
{
    struct block *b = &f->blocks[block];
    f->free_count -= counts_as_free(b->state);
    b->state = (uint8_t)state;
    f->free_count += counts_as_free(b->state);
    if (state != BLOCK_OPEN && state != BLOCK_FULL) {
        free(b->entries);
        b->entries = NULL;
    }
}

enum flash_result result_of_media(struct flash *f, enum media_result result)
{
    if (result == MEDIA_LOST) {
        f->lost = true;
    }
    return result == MEDIA_OK ? FLASH_OK : result == MEDIA_NO_SPACE ? FLASH_NO_SPACE : FLASH_LOST;
}

// Read-only when a quarter of the over-provisioning is all that is left.
void block_check_life(struct flash *f)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < f->block_count; i++) {
        bad += f->blocks[i].state == BLOCK_BAD || f->blocks[i].failing;
    }
    struct flash_profile least = f->profile;
    least.over_provisioning /= 4.0;
    if (flash_profile_units(&least, bad) < f->total_units) {
        f->read_only = true;
    }
}

static void retire(struct flash *f, uint32_t block)
{
    struct block *b = &f->blocks[block];
    struct record burial = {.kind = RECORD_BURY, .a = block, .lpn = b->generation, .count = 1};
    records_add(f, &burial);
    b->retired = true;
    f->stats.blocks_bad_grown++;
    block_set_state(f, block, BLOCK_BAD);
    block_check_life(f);
}

// Units on their way out of a block that is gone are stale for sure; their source must not be
// mistaken for what is programmed there next.
static void forget_sources(struct flash *f, uint32_t block)
{
    for (int name = STREAM_MOVE; name < STREAMS; name++) {
        struct stream *s = &f->streams[name];
        for (int i = 0; i < s->filled; i++) {
            struct waiting *w = &s->waiting[i];
            if (w->from != PLACE_NONE && place_block(f, w->from) == block) {
                f->spaces[w->slot].copies[w->meta.lpn]--;
                w->meta = (struct unit_meta){.kind = UNIT_PAD};
                w->from = PLACE_NONE;
            }
        }
    }
}

enum flash_result block_erase(struct flash *f, uint32_t block)
{
    struct block *b = &f->blocks[block];
    forget_sources(f, block);
    timing_erase(f, block);
    enum media_result result =
        wear_out(f, block) ? MEDIA_FAILED : f->medium->ops->erase(f->medium, block);
    if (result == MEDIA_FAILED) {
        retire(f, block);
        return FLASH_OK;
    }
    if (result) {
        return result_of_media(f, result);
    }
    f->stats.blocks_erased++;
    if (b->state == BLOCK_DYING) {
        b->generation++;
    }
    block_set_state(f, block, BLOCK_ERASING);
    return FLASH_OK;
}

static uint32_t find_state(const struct flash *f, enum block_state state)
{
    for (uint32_t i = 0; i < f->block_count; i++) {
        if (f->blocks[i].state == state) {
            return i;
        }
    }
    return PLACE_NONE;
}

// The one that was erased least, or most for data that levelling moves off a block that was erased
// rarely. (To put all moved data on worn blocks would wear them on and on: much of it rests only
// seemingly.)
static uint32_t find_free(const struct flash *f, enum stream_name stream)
{
    bool worn = f->levelling && stream >= STREAM_MOVE;
    uint32_t best = PLACE_NONE;
    for (uint32_t i = 0; i < f->block_count; i++) {
        const struct block *b = &f->blocks[i];
        if (b->state == BLOCK_FREE &&
            (best == PLACE_NONE || (worn ? b->generation > f->blocks[best].generation
                                         : b->generation < f->blocks[best].generation))) {
            best = i;
        }
    }
    return best;
}

static enum flash_result prepare_some(struct flash *f)
{
    for (int i = 0; i < ERASE_AHEAD; i++) {
        uint32_t block = find_state(f, BLOCK_UNPROVEN);
        enum flash_result result = block == PLACE_NONE ? FLASH_OK : block_erase(f, block);
        if (result) {
            return result;
        }
    }
    return block_sync(f);
}

uint32_t block_take(struct flash *f, enum stream_name stream, enum flash_result *result)
{
    uint32_t block = find_free(f, stream);
    *result = FLASH_OK;
    while (block == PLACE_NONE && f->free_count > 0) {
        *result = prepare_some(f);
        if (*result) {
            return PLACE_NONE;
        }
        block = find_free(f, stream);
    }
    struct entry *entries =
        block == PLACE_NONE ? NULL : calloc(f->units_per_block, sizeof(*entries));
    if (!entries) {
        *result = FLASH_READ_ONLY;
        return PLACE_NONE;
    }
    struct block *b = &f->blocks[block];
    uint32_t generation = b->generation;
    block_set_state(f, block, BLOCK_OPEN);
    *b = (struct block){.state = BLOCK_OPEN,
                        .stream = (uint8_t)stream,
                        .generation = generation,
                        .entries = entries};
    return block;
}

void block_fail(struct flash *f, uint32_t block)
{
    f->blocks[block].failing = true;
    block_set_state(f, block, BLOCK_FULL);
    block_check_life(f);
}

static void put_entry(uint8_t *p, const struct entry *e)
{
    base_put_le(p, e->lpn, 4);
    base_put_le(p + 4, e->ns | (uint32_t)e->kind << 24, 4);
    base_put_le(p + 8, e->seq, 8);
}

// Part `part` of the block's summary, as a raw unit.
static void make_summary(struct flash *f, uint32_t block, uint32_t part, uint8_t *raw)
{
    const struct block *b = &f->blocks[block];
    uint32_t per_unit = FLASH_UNIT_BYTES / LAYOUT_ENTRY_BYTES;
    memset(raw, 0, (size_t)f->raw_bytes);
    for (uint32_t i = 0; i < per_unit && part * per_unit + i < f->data_units; i++) {
        put_entry(raw + (size_t)i * LAYOUT_ENTRY_BYTES, &b->entries[part * per_unit + i]);
    }
    const struct unit_meta meta = {.kind = UNIT_SUMMARY,
                                   .stream = b->stream,
                                   .count = (uint16_t)part,
                                   .lpn = block,
                                   .stamp = f->stamp,
                                   .durable = f->durable,
                                   .generation = b->generation};
    unit_seal(raw, f->profile.ecc, &meta);
}

// All its pages are durable: the summary may say what they hold.
static enum flash_result sum_up(struct flash *f, uint32_t block)
{
    struct block *b = &f->blocks[block];
    uint32_t page = block * (uint32_t)f->profile.geometry.pages, units = (uint32_t)f->profile.units;
    for (int p = f->data_pages; p < f->profile.geometry.pages && !b->failing; p++) {
        f->stamp++;
        for (uint32_t u = 0; u < units; u++) {
            make_summary(f, block, (uint32_t)(p - f->data_pages) * units + u,
                         f->scratch + u * (uint32_t)f->raw_bytes);
        }
        enum media_result result =
            f->medium->ops->program(f->medium, page + (uint32_t)p, f->scratch);
        timing_program(f, block, false);
        f->stats.log_units += units;
        f->stats.pages_programmed++;
        b->failing = result == MEDIA_FAILED;
        if (result && !b->failing) {
            return result_of_media(f, result);
        }
    }
    b->stamp = f->stamp;
    block_set_state(f, block, BLOCK_CLOSED);
    return FLASH_OK;
}

static enum flash_result bury(struct flash *f, uint32_t block)
{
    map_forget_block(f, block);
    if (f->blocks[block].retired) {
        block_set_state(f, block, BLOCK_BAD);
        return FLASH_OK;
    }
    return block_erase(f, block);
}

static enum flash_result after_sync(struct flash *f, uint32_t block, bool all_durable)
{
    struct block *b = &f->blocks[block];
    if ((b->state == BLOCK_CLOSED || b->state == BLOCK_FULL) && b->valid == 0) {
        b->empty = b->empty || all_durable;
    }
    if ((b->state == BLOCK_OPEN || b->state == BLOCK_FULL) && b->next > 0 && !b->proven) {
        b->proven = true;
        records_proven(f, block, false);
    }
    switch (b->state) {
    case BLOCK_ERASING: block_set_state(f, block, BLOCK_FREE); return FLASH_OK;
    case BLOCK_FULL: return f->recovering ? FLASH_OK : sum_up(f, block);
    case BLOCK_DYING: return records_buried(f, block) ? bury(f, block) : FLASH_OK;
    default: return FLASH_OK;
    }
}

enum flash_result block_sync(struct flash *f)
{
    uint64_t stamp = f->stamp;
    bool all_durable = !records_waiting(f); // trims, too, that made units stale
    enum flash_result result = result_of_media(f, f->medium->ops->sync(f->medium));
    if (result) {
        return result;
    }
    f->stats.syncs++;
    if (!f->recovering) {
        f->durable = stamp;
    }
    for (uint32_t i = 0; i < f->block_count && !result; i++) {
        result = after_sync(f, i, all_durable);
    }
    return result;
}
