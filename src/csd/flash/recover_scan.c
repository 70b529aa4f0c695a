// SPDX-License-Identifier: Apache-2.0
// The first half of recovery: what the medium holds, block by block. A summary that agrees with its
// CRC is believed, for it was programmed when all it lists was durable; without one, every page
// speaks for itself.
#include <string.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "csd/flash/recover.h"

static enum stn_status fail_read(const struct flash *f)
{
    return stn_fail(STN_ERR_IO, "%s: %s", f->medium->name, flash_result_text(FLASH_LOST));
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
    return !bytes[0] && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static bool read_page(struct flash *f, struct recovery *r, uint32_t block, int page, bool *erased)
{
    size_t bytes = (size_t)f->profile.geometry.page_bytes;
    uint32_t at = block * (uint32_t)f->profile.geometry.pages + (uint32_t)page;
    if (f->medium->ops->read(f->medium, at, 0, bytes, r->raw)) {
        return false;
    }
    *erased = all_zero(r->raw, bytes);
    if (!*erased) {
        wear_disturb(f, block_erases(&f->blocks[block]), r->raw, bytes);
    }
    return true;
}

static void note_meta(struct recovery *r, const struct unit_meta *m)
{
    r->seq = m->seq > r->seq ? m->seq : r->seq;
    r->stamp = m->stamp > r->stamp ? m->stamp : r->stamp;
    r->durable = m->durable > r->durable ? m->durable : r->durable;
}

static void get_entry(const uint8_t *p, struct entry *out)
{
    uint32_t ns = (uint32_t)base_get_le(p + 4, 4);
    *out = (struct entry){.lpn = (uint32_t)base_get_le(p, 4),
                          .ns = ns & 0xffffffu,
                          .kind = (uint8_t)(ns >> 24),
                          .seq = base_get_le(p + 8, 8)};
}

// One unit of a summary into the block's entries. False: it is none.
static bool take_part(struct flash *f, struct recovery *r, uint32_t block, uint32_t part,
                      uint8_t *raw)
{
    struct seen *s = &r->blocks[block];
    struct unit_meta meta;
    int worst;
    uint32_t per_unit = FLASH_UNIT_BYTES / LAYOUT_ENTRY_BYTES;
    if (unit_open(raw, f->profile.ecc, &meta, &worst) < 0 || meta.kind != UNIT_SUMMARY ||
        meta.lpn != block || meta.count != part || (part > 0 && meta.generation != s->generation)) {
        return false;
    }
    s->generation = meta.generation;
    s->stream = meta.stream;
    s->stamp = meta.stamp;
    note_meta(r, &meta);
    for (uint32_t i = 0; i < per_unit && part * per_unit + i < f->data_units; i++) {
        struct entry *e = &r->entries[block_place(f, block) + part * per_unit + i];
        get_entry(raw + (size_t)i * LAYOUT_ENTRY_BYTES, e);
        r->seq = e->seq > r->seq ? e->seq : r->seq;
    }
    return true;
}

static enum stn_status read_summary(struct flash *f, struct recovery *r, uint32_t block)
{
    struct seen *s = &r->blocks[block];
    uint32_t units = (uint32_t)f->profile.units;
    bool whole = true;
    for (int p = f->data_pages; p < f->profile.geometry.pages; p++) {
        bool erased;
        if (!read_page(f, r, block, p, &erased)) {
            return fail_read(f);
        }
        s->sealed = s->sealed || !erased;
        for (uint32_t u = 0; u < units && whole; u++) {
            whole = !erased && take_part(f, r, block, (uint32_t)(p - f->data_pages) * units + u,
                                         r->raw + u * (size_t)f->raw_bytes);
        }
    }
    s->summed = whole;
    s->dirty = s->sealed;
    if (!whole) {
        s->generation = 0;
        memset(&r->entries[block_place(f, block)], 0, f->data_units * sizeof(*r->entries));
    }
    return STN_OK;
}

static bool keep_weak(struct recovery *r, uint32_t place, const struct unit_meta *meta,
                      const uint8_t *raw)
{
    if (r->weak_count == r->weak_room) {
        struct weak *more = base_grow(r->weak, &r->weak_room, 8, sizeof(*more));
        if (!more) {
            return false;
        }
        r->weak = more;
    }
    struct weak *w = &r->weak[r->weak_count++];
    w->place = place;
    w->meta = *meta;
    memcpy(w->data, raw, FLASH_UNIT_BYTES);
    return true;
}

static bool take_unit(struct flash *f, struct recovery *r, uint32_t block, uint32_t place,
                      uint8_t *raw)
{
    struct seen *s = &r->blocks[block];
    struct unit_meta meta;
    int worst, bits = unit_inspect(raw, f->profile.ecc, &meta, &worst);
    if (bits < 0) {
        r->entries[place].kind = UNIT_VOID; // no unit of a page that was programmed is erased
        return true;
    }
    s->generation = meta.generation;
    s->stream = meta.stream;
    s->stamp = meta.stamp;
    note_meta(r, &meta);
    r->stamps[place] = meta.stamp;
    r->entries[place] = (struct entry){(uint32_t)meta.lpn, meta.ns, meta.kind, meta.seq};
    return worst < UNIT_BITS_URGENT || keep_weak(r, place, &meta, raw);
}

// A first page that is still erased was never synced, nor was anything behind it: such a block
// holds nothing that anybody was promised.
static enum stn_status read_pages(struct flash *f, struct recovery *r, uint32_t block)
{
    struct seen *s = &r->blocks[block];
    uint32_t units = (uint32_t)f->profile.units;
    for (int p = 0; p < f->data_pages; p++) {
        bool erased;
        if (!read_page(f, r, block, p, &erased)) {
            return fail_read(f);
        }
        if (erased && p == 0) {
            return STN_OK;
        }
        s->dirty = true;
        if (!erased) {
            s->next = (uint16_t)(p + 1);
        }
        for (uint32_t u = 0; u < units && !erased; u++) {
            if (!take_unit(f, r, block, block_place(f, block) + (uint32_t)p * units + u,
                           r->raw + u * (size_t)f->raw_bytes)) {
                return stn_fail(STN_ERR_NO_MEMORY, "%s: memory for a device", f->medium->name);
            }
        }
    }
    return STN_OK;
}

enum stn_status recover_scan(struct flash *f, struct recovery *r)
{
    for (uint32_t block = 0; block < f->block_count; block++) {
        if (f->blocks[block].state == BLOCK_BAD) {
            continue;
        }
        enum stn_status status = read_summary(f, r, block);
        if (!status && !r->blocks[block].summed) {
            status = read_pages(f, r, block);
        }
        if (status) {
            return status;
        }
    }
    return STN_OK;
}
