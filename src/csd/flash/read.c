// SPDX-License-Identifier: Apache-2.0
// Reading: out of page buffers, or off the medium, corrected and checked to be what was asked for.
#include <string.h>

#include "csd/flash/state.h"

static int examine(struct flash *f, uint32_t place, uint8_t *raw, struct unit_meta *meta)
{
    int worst, bits = unit_open(raw, f->profile.ecc, meta, &worst);
    if (bits > 0) {
        f->stats.corrected_bits += (uint64_t)bits;
        f->stats.corrected_units++;
    }
    struct block *b = &f->blocks[place_block(f, place)];
    b->urgent = b->urgent || worst >= UNIT_BITS_URGENT;
    return bits;
}

static bool fetch(struct flash *f, uint32_t place, int count, uint8_t *raw)
{
    uint32_t units = (uint32_t)f->profile.units, block = place_block(f, place);
    size_t bytes = (size_t)count * (size_t)f->raw_bytes;
    if (result_of_media(f,
                        f->medium->ops->read(f->medium, place / units,
                                             place % units * (size_t)f->raw_bytes, bytes, raw))) {
        return false;
    }
    timing_read(f, block, bytes);
    wear_disturb(f, block_erases(&f->blocks[block]), raw, bytes);
    return true;
}

enum flash_result read_unit(struct flash *f, uint32_t place, uint8_t *raw, struct unit_meta *meta,
                            int *bits)
{
    if (!fetch(f, place, 1, raw)) {
        return FLASH_LOST;
    }
    *bits = examine(f, place, raw, meta);
    return FLASH_OK;
}

static enum flash_result open_data(struct flash *f, struct space *space, uint64_t lpn,
                                   uint32_t place, uint8_t *raw, uint8_t *out)
{
    struct unit_meta meta;
    int bits = examine(f, place, raw, &meta);
    if (bits < 0 || meta.kind != UNIT_DATA || meta.ns != space->about.id || meta.lpn != lpn ||
        !cipher_decrypt(space->cipher, lpn, meta.seq, raw, out)) {
        f->stats.unrecovered_units++;
        return FLASH_UNRECOVERED;
    }
    return FLASH_OK;
}

// Units from lpn on that lie one after another in one page, or only the first. Returns how many
// were read.
static uint32_t read_run(struct flash *f, uint8_t slot, uint64_t lpn, uint32_t most, uint8_t *out,
                         enum flash_result *result)
{
    struct space *space = &f->spaces[slot];
    uint8_t *waiting_data;
    const struct waiting *waiting = stream_find(f, slot, lpn, &waiting_data);
    uint32_t place = space->map[lpn], units = (uint32_t)f->profile.units, run = 1;
    *result = FLASH_OK;
    if (waiting) {
        bool well = cipher_decrypt(space->cipher, lpn, waiting->meta.seq, waiting_data, out);
        *result = well ? FLASH_OK : FLASH_UNRECOVERED;
        return 1;
    }
    if (!map_is_place(place)) {
        memset(out, 0, FLASH_UNIT_BYTES);
        return 1;
    }
    while (run < most && (place + run) % units && space->map[lpn + run] == place + run &&
           !stream_find(f, slot, lpn + run, &waiting_data)) {
        run++;
    }
    if (!fetch(f, place, (int)run, f->scratch)) {
        *result = FLASH_LOST;
        return 0;
    }
    for (uint32_t i = 0; i < run; i++) {
        *result = open_data(f, space, lpn + i, place + i, f->scratch + i * (size_t)f->raw_bytes,
                            out + (size_t)i * FLASH_UNIT_BYTES);
        if (*result) {
            return i;
        }
    }
    return run;
}

enum flash_result flash_read(struct flash *f, uint32_t id, uint64_t first, uint32_t count,
                             void *out, uint32_t *done)
{
    uint8_t slot = 0;
    uint32_t n = 0;
    timing_begin(f);
    enum flash_result result = space_range(f, id, first, count, &slot);
    while (n < count && !result) {
        n += read_run(f, slot, first + n, count - n, (uint8_t *)out + (size_t)n * FLASH_UNIT_BYTES,
                      &result);
    }
    f->stats.host_units_read += n;
    if (done) {
        *done = n;
    }
    return result;
}
