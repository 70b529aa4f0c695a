// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "csd/flash/state.h"

static void count_blocks(const struct flash *f, struct flash_stats *out)
{
    uint64_t sum = 0;
    uint32_t good = 0;
    out->blocks = f->block_count;
    out->blocks_bad_factory = out->blocks_bad_grown = out->blocks_free = 0;
    out->erases_min = UINT32_MAX;
    out->erases_max = 0;
    for (uint32_t i = 0; i < f->block_count; i++) {
        const struct block *b = &f->blocks[i];
        if (b->state == BLOCK_BAD) {
            out->blocks_bad_grown += b->retired;
            out->blocks_bad_factory += !b->retired;
            continue;
        }
        uint32_t erases = block_erases(b);
        good++;
        sum += erases;
        out->erases_min = erases < out->erases_min ? erases : out->erases_min;
        out->erases_max = erases > out->erases_max ? erases : out->erases_max;
    }
    out->blocks_free = f->free_count;
    out->erases_min = good ? out->erases_min : 0;
    out->erases_mean = good ? (double)sum / good : 0.0;
}

static void fill_histogram(const struct flash *f, struct flash_stats *out)
{
    uint32_t width = (out->erases_max - out->erases_min) / FLASH_ERASE_BUCKETS + 1;
    memset(out->erase_histogram, 0, sizeof(out->erase_histogram));
    for (uint32_t i = 0; i < f->block_count; i++) {
        if (f->blocks[i].state != BLOCK_BAD) {
            out->erase_histogram[(block_erases(&f->blocks[i]) - out->erases_min) / width]++;
        }
    }
}

void flash_stats(const struct flash *f, struct flash_stats *out)
{
    *out = f->stats;
    count_blocks(f, out);
    fill_histogram(f, out);
    out->units_total = f->total_units;
    out->units_used = 0;
    for (int i = 0; i < FLASH_NAMESPACES_MAX; i++) {
        out->units_used += f->spaces[i].about.units_used;
    }
    out->percentage_used = (int)(100.0 * out->erases_mean / (double)f->profile.endurance);
    out->read_only = f->read_only;
}

double flash_write_amplification(const struct flash_stats *s)
{
    if (s->host_units_written == 0) {
        return 0.0;
    }
    uint64_t all = s->host_units_written + s->gc_units + s->level_units + s->scrub_units +
                   s->log_units + s->padding_units;
    return (double)all / (double)s->host_units_written;
}
