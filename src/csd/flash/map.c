// SPDX-License-Identifier: Apache-2.0
// Which unit is where, whose each programmed unit is, and how many copies of a unit there are.
#include "csd/flash/state.h"

int space_slot(const struct flash *f, uint32_t id)
{
    for (int i = 0; i < FLASH_NAMESPACES_MAX && id; i++) {
        if (f->spaces[i].about.id == id) {
            return i;
        }
    }
    return NOWHERE;
}

enum flash_result space_range(const struct flash *f, uint32_t id, uint64_t first, uint64_t count,
                              uint8_t *slot)
{
    int found = space_slot(f, id);
    if (found == NOWHERE) {
        return FLASH_NO_NAMESPACE;
    }
    uint64_t units = f->spaces[found].about.units;
    *slot = (uint8_t)found;
    return first > units || count > units - first ? FLASH_OUT_OF_RANGE : FLASH_OK;
}

double space_age(const struct flash *f, const struct space *space, uint64_t lpn)
{
    return (double)((uint32_t)f->stamp - space->written[lpn]);
}

void map_set(struct flash *f, uint8_t slot, uint64_t lpn, uint32_t value)
{
    struct space *space = &f->spaces[slot];
    uint32_t old = space->map[lpn];
    space->map[lpn] = value;
    if (map_is_place(value)) {
        f->blocks[place_block(f, value)].valid++;
        space->about.units_used++;
    } else if (value != MAP_UNWRITTEN) {
        f->records.at[value - MAP_TRIMMED].refs++;
    }
    if (map_is_place(old)) {
        f->blocks[place_block(f, old)].valid--;
        space->about.units_used--;
    } else if (old != MAP_UNWRITTEN && --f->records.at[old - MAP_TRIMMED].refs == 0) {
        records_die(f, old - MAP_TRIMMED);
    }
}

static void settle_table(struct flash *f, uint32_t place, const struct waiting *waiting)
{
    f->owners[place].kind = UNIT_TABLE;
    if (waiting->meta.seq != f->table_seq) {
        return; // there is a newer one by now
    }
    uint32_t *home = &f->table_place[waiting->meta.count];
    if (*home != PLACE_NONE) {
        f->blocks[place_block(f, *home)].valid--;
    }
    *home = place;
    f->blocks[place_block(f, place)].valid++;
}

void map_settle(struct flash *f, uint32_t place, const struct waiting *waiting)
{
    const struct unit_meta *meta = &waiting->meta;
    if (meta->kind == UNIT_RECORDS) {
        records_settle(f, place, meta->seq);
    } else if (meta->kind == UNIT_TABLE) {
        settle_table(f, place, waiting);
    } else {
        f->owners[place] = (struct owner){(uint32_t)meta->lpn, UNIT_DATA, waiting->slot};
        struct space *space = &f->spaces[waiting->slot];
        struct block *b = &f->blocks[place_block(f, place)];
        uint32_t now = space->map[meta->lpn];
        if (waiting->from == PLACE_NONE) {
            space->written[meta->lpn] = (uint32_t)f->stamp;
        }
        b->age += ((double)f->stamp - space_age(f, space, meta->lpn) - b->age) / ++b->aged;
        if (waiting->from == PLACE_NONE || waiting->from == now) {
            map_set(f, waiting->slot, meta->lpn, place);
        }
    }
}

bool map_is_current(const struct flash *f, uint32_t place)
{
    const struct owner *o = &f->owners[place];
    switch (o->kind) {
    case UNIT_DATA: return f->spaces[o->slot].map[o->lpn] == place;
    case UNIT_RECORDS: return o->lpn > 0;
    case UNIT_TABLE: return f->table_place[0] == place || f->table_place[1] == place;
    default: return false;
    }
}

void map_forget_block(struct flash *f, uint32_t block)
{
    for (uint32_t i = 0; i < f->data_units; i++) {
        struct owner *o = &f->owners[block_place(f, block) + i];
        if (o->kind == UNIT_DATA) {
            struct space *space = &f->spaces[o->slot];
            if (--space->copies[o->lpn] == 0 && !map_is_place(space->map[o->lpn])) {
                map_set(f, o->slot, o->lpn, MAP_UNWRITTEN);
            }
        }
        o->kind = UNIT_NONE;
    }
    records_proven(f, block, true);
}
