// SPDX-License-Identifier: Apache-2.0
// The table: namespaces, counters, and whether power went off cleanly. One unit, always whole,
// newest wins; two copies of it, for nothing can be read without it.
#include <string.h>

#include "base/bytes.h"
#include "csd/flash/state.h"

enum {
    VERSION = 1,
    AT_CLEAN = 4,
    AT_NEXT_ID = 8,
    AT_TOTAL = 16,
    AT_COUNTERS = 64,
    AT_TAG = 512,
    AT_SPACES = 1024,
    SPACE_BYTES = 64,
};

// The counters over the life of a device, in the order in which they are kept.
#define COUNTERS(X)                                                                                \
    X(host_units_read)                                                                             \
    X(host_units_written)                                                                          \
    X(host_units_trimmed)                                                                          \
    X(gc_units)                                                                                    \
    X(level_units)                                                                                 \
    X(scrub_units)                                                                                 \
    X(log_units)                                                                                   \
    X(padding_units)                                                                               \
    X(pages_programmed)                                                                            \
    X(blocks_erased)                                                                               \
    X(syncs)                                                                                       \
    X(flushes)                                                                                     \
    X(corrected_bits)                                                                              \
    X(corrected_units)                                                                             \
    X(unrecovered_units)                                                                           \
    X(lost_units)                                                                                  \
    X(power_cuts)                                                                                  \
    X(power_ons)                                                                                   \
    X(modelled_read_ns)                                                                            \
    X(modelled_program_ns)                                                                         \
    X(modelled_erase_ns)

static void make_table(const struct flash *f, bool clean, uint8_t *data)
{
    memset(data, 0, FLASH_UNIT_BYTES);
    base_put_le(data, VERSION, 4);
    data[AT_CLEAN] = clean;
    base_put_le(data + AT_NEXT_ID, f->next_id, 4);
    base_put_le(data + AT_TOTAL, f->total_units, 8);
    uint8_t *p = data + AT_COUNTERS;
#define X(name)                                                                                    \
    base_put_le(p, f->stats.name, 8);                                                              \
    p += 8;
    COUNTERS(X)
#undef X
    memcpy(data + AT_TAG, f->device_tag, FLASH_DEVICE_TAG_BYTES);
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        const struct flash_namespace *ns = &f->spaces[i].about;
        uint8_t *at = data + AT_SPACES + (size_t)i * SPACE_BYTES;
        if (ns->id && ns->id != f->leaving) {
            base_put_le(at, ns->id, 4);
            base_put_le(at + 8, ns->units, 8);
            memcpy(at + 16, ns->tag, FLASH_TAG_BYTES);
        }
    }
}

// Into f: ids and sizes of namespaces, not yet their maps.
bool table_parse(struct flash *f, const uint8_t *data, bool *clean)
{
    if (base_get_le(data, 4) != VERSION) {
        return false;
    }
    *clean = data[AT_CLEAN];
    f->next_id = (uint32_t)base_get_le(data + AT_NEXT_ID, 4);
    f->total_units = base_get_le(data + AT_TOTAL, 8);
    const uint8_t *p = data + AT_COUNTERS;
#define X(name)                                                                                    \
    f->stats.name = base_get_le(p, 8);                                                             \
    p += 8;
    COUNTERS(X)
#undef X
    memcpy(f->device_tag, data + AT_TAG, FLASH_DEVICE_TAG_BYTES);
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        struct flash_namespace *ns = &f->spaces[i].about;
        const uint8_t *at = data + AT_SPACES + (size_t)i * SPACE_BYTES;
        ns->id = (uint32_t)base_get_le(at, 4);
        ns->units = base_get_le(at + 8, 8);
        memcpy(ns->tag, at + 16, FLASH_TAG_BYTES);
    }
    return true;
}

static enum flash_result put_copy(struct flash *f, uint16_t copy, bool clean,
                                  enum stream_name stream)
{
    struct waiting *waiting;
    uint8_t *data;
    enum flash_result result = stream_room(f, stream, &waiting, &data);
    if (result) {
        return result;
    }
    make_table(f, clean, data);
    *waiting = (struct waiting){.meta = {.kind = UNIT_TABLE, .count = copy, .seq = f->table_seq},
                                .from = PLACE_NONE};
    f->stats.log_units++;
    return stream_added(f, stream);
}

enum flash_result table_write(struct flash *f, bool clean)
{
    f->table_seq = ++f->seq;
    f->table_due = false;
    enum flash_result result = put_copy(f, 0, clean, STREAM_MOVE);
    result = result ? result : put_copy(f, 1, clean, STREAM_HOT);
    result = result ? result : stream_flush(f, STREAM_MOVE);
    return result ? result : stream_flush(f, STREAM_HOT);
}

// What a collected block held of the table goes on as a new one.
enum flash_result table_move(struct flash *f)
{
    return table_write(f, false);
}

enum flash_result table_unmark(struct flash *f)
{
    if (!f->clean_mark) {
        return FLASH_OK;
    }
    enum flash_result result = table_write(f, false);
    result = result ? result : block_sync(f);
    f->clean_mark = result != FLASH_OK;
    return result;
}
