// SPDX-License-Identifier: Apache-2.0
// The second half of recovery: records, table, maps, blocks. Nothing is programmed until all of it
// is known; cutting power before that changes nothing. docs/decisions/0030-flash.md says why the
// result is right.
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "csd/flash/recover.h"

// ---- Records and table
// ---------------------------------------------------------------------------

static bool keep_record(struct recovery *r, const struct record *record)
{
    if (r->record_count == r->record_room) {
        struct record *more = base_grow(r->records, &r->record_room, 256, sizeof(*more));
        if (!more) {
            return false;
        }
        r->records = more;
    }
    r->records[r->record_count++] = *record;
    return true;
}

static bool take_records(struct recovery *r, uint32_t place, const uint8_t *data)
{
    struct record record;
    for (int i = 0; i < RECORDS_PER_UNIT && records_parse(data, i, &record); i++) {
        record.home = place;
        if (!keep_record(r, &record)) {
            return false;
        }
    }
    return true;
}

static void take_table(struct flash *f, struct recovery *r, const struct unit_meta *meta)
{
    if (meta->seq < r->table_seq || (r->table_found && meta->seq == r->table_seq)) {
        r->table_stamp = meta->seq == r->table_seq && meta->stamp > r->table_stamp ? meta->stamp
                                                                                   : r->table_stamp;
        return;
    }
    if (table_parse(f, f->scratch, &r->clean)) {
        r->table_seq = meta->seq;
        r->table_stamp = meta->stamp;
        r->table_found = true;
    }
}

// A unit of the log; what was weak might not be read a second time.
static bool read_log_unit(struct flash *f, const struct recovery *r, uint32_t place,
                          struct unit_meta *meta, int *bits)
{
    for (uint32_t i = 0; i < r->weak_count; i++) {
        if (r->weak[i].place == place) {
            *meta = r->weak[i].meta;
            *bits = 0;
            memcpy(f->scratch, r->weak[i].data, FLASH_UNIT_BYTES);
            return true;
        }
    }
    return read_unit(f, place, f->scratch, meta, bits) == FLASH_OK;
}

// Units of the log itself, of one kind, wherever they are.
static enum stn_status read_log(struct flash *f, struct recovery *r, enum unit_kind kind)
{
    for (uint32_t place = 0; place < f->block_count * f->units_per_block; place++) {
        struct unit_meta meta;
        int bits;
        if (r->entries[place].kind != kind) {
            continue;
        }
        if (!read_log_unit(f, r, place, &meta, &bits)) {
            return stn_fail(STN_ERR_IO, "%s: %s", f->medium->name, flash_result_text(FLASH_LOST));
        }
        if (bits < 0) {
            r->entries[place].kind = kind == UNIT_RECORDS ? UNIT_ROTTEN : UNIT_VOID;
            r->newest_rotten = kind == UNIT_TABLE && r->entries[place].seq > r->newest_rotten
                                   ? r->entries[place].seq
                                   : r->newest_rotten;
        } else if (kind == UNIT_TABLE) {
            r->stamp = meta.stamp > r->stamp ? meta.stamp : r->stamp;
            take_table(f, r, &meta);
        } else if (!take_records(r, place, f->scratch)) {
            return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", f->medium->name);
        }
    }
    return STN_OK;
}

// Burials and voids are true of a generation, wherever they were found.
static void apply_facts(struct flash *f, struct recovery *r)
{
    for (uint32_t i = 0; i < r->record_count; i++) {
        const struct record *record = &r->records[i];
        if (record->kind == RECORD_BURY && record->a < f->block_count) {
            struct seen *s = &r->blocks[record->a];
            s->buried = record->lpn > s->buried ? (uint32_t)record->lpn : s->buried;
            s->retired = s->retired || record->count;
        }
    }
    for (uint32_t block = 0; block < f->block_count; block++) {
        struct seen *s = &r->blocks[block];
        s->dead = s->retired || s->generation <= s->buried;
        for (uint32_t i = 0; i < f->data_units && !s->dead; i++) {
            r->unreadable_records += r->entries[block_place(f, block) + i].kind == UNIT_ROTTEN;
        }
    }
    for (uint32_t i = 0; i < r->record_count; i++) {
        const struct record *record = &r->records[i];
        if (record->kind == RECORD_VOID && record->a < f->block_count * f->units_per_block &&
            r->blocks[place_block(f, record->a)].generation == record->lpn) {
            r->entries[record->a].kind = UNIT_NONE; // and known to be
        }
    }
}

// ---- Blocks
// --------------------------------------------------------------------------------------

// A block without a summary goes on where it stopped, behind the last page that is not erased.
static enum stn_status reopen(struct flash *f, const struct recovery *r, uint32_t block)
{
    const struct seen *s = &r->blocks[block];
    struct block *b = &f->blocks[block];
    if (s->sealed) {
        block_set_state(f, block, BLOCK_CLOSED);
        return STN_OK;
    }
    struct stream *stream = &f->streams[s->stream < STREAMS ? s->stream : STREAM_COLD];
    b->entries = malloc(f->units_per_block * sizeof(*b->entries));
    if (!b->entries) {
        return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", f->medium->name);
    }
    memcpy(b->entries, &r->entries[block_place(f, block)],
           f->units_per_block * sizeof(*b->entries));
    b->next = s->next;
    block_set_state(f, block, BLOCK_FULL);
    for (int i = 0; i < f->profile.stripe && s->next < f->data_pages; i++) {
        if (stream->open[i] == PLACE_NONE) {
            stream->open[i] = block;
            block_set_state(f, block, BLOCK_OPEN);
            break;
        }
    }
    return STN_OK;
}

static enum stn_status settle_block(struct flash *f, struct recovery *r, uint32_t block, bool clean)
{
    const struct seen *s = &r->blocks[block];
    struct block *b = &f->blocks[block];
    if (b->state == BLOCK_BAD) {
        return STN_OK;
    }
    b->stamp = s->stamp;
    b->age = (double)s->stamp;
    b->stream = s->stream;
    b->generation = s->dead ? s->buried + 1 : s->generation;
    b->retired = s->retired;
    b->proven = !s->dead;
    if (s->dead) {
        enum block_state idle = clean && !s->dirty ? BLOCK_FREE : BLOCK_UNPROVEN;
        block_set_state(f, block, s->retired ? BLOCK_BAD : idle);
        return STN_OK;
    }
    if (s->summed) {
        block_set_state(f, block, BLOCK_CLOSED);
        return STN_OK;
    }
    return reopen(f, r, block);
}

// ---- Maps
// ----------------------------------------------------------------------------------------

static enum stn_status open_spaces(struct flash *f, struct recovery *r)
{
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        struct space *space = &f->spaces[i];
        if (!space->about.id) {
            continue;
        }
        enum stn_status status = space_open(f, (uint8_t)i);
        if (status) {
            return status;
        }
        r->best[i] = calloc(space->about.units, sizeof(uint64_t));
        if (!r->best[i]) {
            return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", f->medium->name);
        }
    }
    return STN_OK;
}

static void take_data(struct flash *f, struct recovery *r, uint32_t place)
{
    const struct entry *e = &r->entries[place];
    int slot = space_slot(f, e->ns);
    if (slot == NOWHERE || e->lpn >= f->spaces[slot].about.units) {
        return; // of a namespace that was deleted
    }
    f->owners[place] = (struct owner){e->lpn, UNIT_DATA, (uint8_t)slot};
    f->spaces[slot].copies[e->lpn]++;
    if (e->seq > r->best[slot][e->lpn]) {
        r->best[slot][e->lpn] = e->seq;
        f->spaces[slot].written[e->lpn] = (uint32_t)f->blocks[place_block(f, place)].stamp;
        map_set(f, (uint8_t)slot, e->lpn, place);
    }
}

static void take_table_place(struct flash *f, const struct recovery *r, uint32_t place)
{
    f->owners[place].kind = UNIT_TABLE;
    if (r->entries[place].seq != r->table_seq) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (f->table_place[i] == PLACE_NONE) {
            f->table_place[i] = place;
            f->blocks[place_block(f, place)].valid++;
            return;
        }
    }
}

static void take_units(struct flash *f, struct recovery *r)
{
    for (uint32_t block = 0; block < f->block_count; block++) {
        for (uint32_t i = 0; i < f->data_units && !r->blocks[block].dead; i++) {
            uint32_t place = block_place(f, block) + i;
            switch (r->entries[place].kind) {
            case UNIT_DATA:
            case UNIT_LOST: take_data(f, r, place); break;
            case UNIT_TABLE: take_table_place(f, r, place); break;
            default: break;
            }
        }
    }
}

static void take_trim(struct flash *f, struct recovery *r, uint32_t index)
{
    const struct record trim = f->records.at[index];
    int slot = space_slot(f, trim.a);
    if (slot == NOWHERE) {
        return;
    }
    struct space *space = &f->spaces[slot];
    for (uint64_t lpn = trim.lpn; lpn < trim.lpn + trim.count && lpn < space->about.units; lpn++) {
        if (space->copies[lpn] && r->best[slot][lpn] < trim.seq) {
            r->best[slot][lpn] = trim.seq;
            map_set(f, (uint8_t)slot, lpn, MAP_TRIMMED + index);
        }
    }
}

static bool still_needed(const struct flash *f, const struct record *record)
{
    switch (record->kind) {
    case RECORD_TRIM: return record->refs > 0;
    case RECORD_BURY:
        return f->blocks[record->a].generation == record->lpn + 1 && !f->blocks[record->a].proven;
    case RECORD_VOID:
        return f->blocks[place_block(f, record->a)].generation == record->lpn &&
               f->blocks[place_block(f, record->a)].proven;
    default: return true;
    }
}

// Records of living blocks take their homes; of two equal ones the second finds nothing to do.
static enum stn_status take_living_records(struct flash *f, struct recovery *r)
{
    for (uint32_t i = 0; i < r->record_count; i++) {
        const struct record *record = &r->records[i];
        uint32_t block = place_block(f, record->home);
        if (r->blocks[block].dead || r->entries[record->home].kind != UNIT_RECORDS) {
            continue; // buried, or in a unit that was unreadable before
        }
        uint32_t index = records_add(f, record);
        if (index == PLACE_NONE) {
            return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", f->medium->name);
        }
        f->records.at[index].home = record->home;
        f->records.pending--;
        f->owners[record->home].kind = UNIT_RECORDS;
        f->blocks[block].valid += f->owners[record->home].lpn++ == 0;
        if (record->kind == RECORD_TRIM) {
            f->records.at[index].refs = 1; // while the others are looked at
            take_trim(f, r, index);
        }
    }
    for (uint32_t i = 0; i < f->records.count; i++) {
        struct record *record = &f->records.at[i];
        record->refs -= record->kind == RECORD_TRIM;
        if (record->kind != RECORD_NONE && !still_needed(f, record)) {
            records_die(f, i);
        }
    }
    return STN_OK;
}

// Keys without a namespace are of one whose making or unmaking was cut short.
static enum stn_status drop_keys(struct flash *f)
{
    uint32_t ids[FLASH_NAMESPACES_MAX];
    int count = keys_list(f->keys, ids);
    for (int i = 0; i < count; i++) {
        if (space_slot(f, ids[i]) == NOWHERE) {
            enum stn_status status = keys_destroy(f->keys, ids[i]);
            if (status) {
                return status;
            }
        }
    }
    return STN_OK;
}

static void factory_state(struct flash *f)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < f->block_count; i++) {
        f->blocks[i].generation = 1;
        f->blocks[i].state = BLOCK_CLOSED; // until settled: none is free
        if (f->medium->ops->bad_from_factory(f->medium, i)) {
            block_set_state(f, i, BLOCK_BAD);
            bad++;
        }
    }
    f->next_id = 1;
    f->total_units = flash_profile_units(&f->profile, bad);
}

// What was found becomes the device.
static enum stn_status assemble(struct flash *f, struct recovery *r)
{
    enum stn_status status = read_log(f, r, UNIT_RECORDS);
    if (status) {
        return status;
    }
    apply_facts(f, r); // so that a table that was unreadable before is not read now
    status = read_log(f, r, UNIT_TABLE);
    if (status) {
        return status;
    }
    if (r->newest_rotten > r->table_seq) {
        return stn_fail(STN_ERR_CORRUPT,
                        "%s: both copies of the table of namespaces are unreadable",
                        f->medium->name);
    }
    bool fresh = r->stamp == 0; // never written to
    bool clean = fresh || (r->clean && r->table_stamp == r->stamp);
    uint64_t units = (uint64_t)f->block_count * f->units_per_block;
    f->table_seq = r->table_seq;
    f->seq = r->seq + units; // above all that may have been lost
    f->stamp = r->stamp + units;
    f->durable = r->durable; // until what is unreadable is written down
    f->clean_mark = clean && !fresh;
    f->table_due = !clean;
    f->stats.power_cuts += !clean;
    for (uint32_t block = 0; block < f->block_count && !status; block++) {
        status = settle_block(f, r, block, clean && !fresh);
    }
    status = status ? status : open_spaces(f, r);
    if (!status) {
        take_units(f, r);
        status = take_living_records(f, r);
    }
    status = status ? status : recover_void(f, r);
    return status ? status : drop_keys(f);
}

static void free_recovery(struct recovery *r)
{
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        free(r->best[i]);
    }
    free(r->blocks);
    free(r->entries);
    free(r->stamps);
    free(r->records);
    free(r->weak);
    free(r->raw);
}

enum stn_status recover_device(struct flash *f)
{
    size_t units = (size_t)f->block_count * f->units_per_block;
    struct recovery r = {.blocks = calloc(f->block_count, sizeof(*r.blocks)),
                         .entries = calloc(units, sizeof(*r.entries)),
                         .stamps = calloc(units, sizeof(*r.stamps)),
                         .raw = malloc((size_t)f->profile.geometry.page_bytes)};
    enum stn_status status = STN_OK;
    if (!r.blocks || !r.entries || !r.stamps || !r.raw) {
        status = stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", f->medium->name);
    } else if (f->medium->ops->sync(f->medium)) { // what is read from here on will not go away
        status = stn_fail(STN_ERR_IO, "%s: %s", f->medium->name, flash_result_text(FLASH_LOST));
    }
    if (!status) {
        factory_state(f);
        status = recover_scan(f, &r);
    }
    status = status ? status : assemble(f, &r);
    status = status ? status : recover_write_down(f, &r);
    free_recovery(&r);
    return status;
}
