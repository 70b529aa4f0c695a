// SPDX-License-Identifier: Apache-2.0
// Wear: bit errors that grow with it, blocks that end by it, and which data should rest on worn
// blocks.
#include <math.h>

#include "base/random.h"
#include "csd/flash/state.h"

enum {
    WORD_KEY = 0x5ea1,
};

static double error_rate(const struct flash_profile *p, uint32_t erases)
{
    double age = (double)erases / (double)p->endurance;
    return p->error_rate + (p->error_rate_worn - p->error_rate) * age * age;
}

// The number of wrong bits is Poisson's: their gaps are exponential.
void wear_disturb(struct flash *f, uint32_t erases, uint8_t *raw, size_t bytes)
{
    double rate = error_rate(&f->profile, erases);
    if (rate <= 0.0) {
        return;
    }
    struct base_random random = base_random_from(base_key(WORD_KEY, ++f->noise));
    double bits = 8.0 * (double)bytes;
    for (double at = 0.0;;) {
        at -= log(1.0 - base_random_unit(&random)) / rate;
        if (!(at < bits)) {
            return;
        }
        size_t bit = (size_t)at;
        raw[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
}

// Blocks last between one and 1.25 times what they are specified for.
bool wear_out(const struct flash *f, uint32_t block)
{
    double luck = (double)(base_random_at(WORD_KEY, block) >> 11) * 0x1p-53;
    return block_erases(&f->blocks[block]) >= (double)f->profile.endurance * (1.0 + luck / 4.0);
}

uint32_t wear_victim(const struct flash *f)
{
    uint32_t least = PLACE_NONE, most = 0;
    for (uint32_t i = 0; i < f->block_count; i++) {
        const struct block *b = &f->blocks[i];
        if (b->state == BLOCK_BAD) {
            continue;
        }
        most = b->generation > most ? b->generation : most;
        if ((b->state == BLOCK_CLOSED || b->state == BLOCK_OPEN) && !b->collected &&
            (least == PLACE_NONE || b->generation < f->blocks[least].generation)) {
            least = i;
        }
    }
    bool wide = least != PLACE_NONE && most - f->blocks[least].generation > WEAR_SPREAD_MAX;
    return wide ? least : PLACE_NONE;
}
