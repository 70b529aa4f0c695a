// SPDX-License-Identifier: Apache-2.0
// The decoder: syndromes from what the parity disagrees by, the error locator by Berlekamp and
// Massey, its zeros by trying every bit of the word.
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "csd/ecc/bch.h"
#include "csd/ecc/field.h"

enum {
    WORD_BITS = 8 * (BCH_DATA_BYTES + BCH_META_BYTES + BCH_PARITY_BYTES),
    SYNDROMES = 2 * BCH_BITS,
};

// syndrome[i] is the difference, a polynomial of degree below 560, at α^i; false: all are zero.
static bool find_syndromes(const struct bch_tables *t, const uint64_t difference[PARITY_WORDS],
                           uint16_t syndrome[SYNDROMES + 1])
{
    bool any = false;
    memset(syndrome, 0, (SYNDROMES + 1) * sizeof(*syndrome));
    for (int bit = 0; bit < PARITY_BITS; bit++) {
        if ((difference[bit / 64] >> (63 - bit % 64)) & 1) {
            any = true;
            int power = PARITY_BITS - 1 - bit;
            for (int i = 1; i <= SYNDROMES; i += 2) {
                syndrome[i] ^= t->power[power * i % FIELD_ORDER];
            }
        }
    }
    for (int i = 2; i <= SYNDROMES; i += 2) {
        syndrome[i] = field_product(t, syndrome[i / 2], syndrome[i / 2]);
    }
    return any;
}

struct locator {
    int degree;
    uint16_t at[SYNDROMES + 2];
};

// a −= factor · x^shift · b
static void subtract(const struct bch_tables *t, struct locator *a, uint16_t factor, int shift,
                     const struct locator *b)
{
    for (int i = 0; i + shift <= SYNDROMES; i++) {
        a->at[i + shift] ^= field_product(t, factor, b->at[i]);
    }
}

static void find_locator(const struct bch_tables *t, const uint16_t syndrome[SYNDROMES + 1],
                         struct locator *out)
{
    struct locator now = {.at = {1}}, before = {.at = {1}};
    uint16_t last = 1;
    int shift = 1;
    for (int n = 0; n < SYNDROMES; n++, shift++) {
        uint16_t gap = syndrome[n + 1];
        for (int i = 1; i <= now.degree; i++) {
            gap ^= field_product(t, now.at[i], syndrome[n + 1 - i]);
        }
        if (!gap) {
            continue;
        }
        uint16_t factor = t->power[t->log[gap] + FIELD_ORDER - t->log[last]];
        struct locator kept = now;
        subtract(t, &now, factor, shift, &before);
        if (2 * kept.degree <= n) {
            now.degree = n + 1 - kept.degree;
            before = kept;
            last = gap;
            shift = 0;
        }
    }
    *out = now;
}

// The bits, counted from the end of the word, at which the locator is zero. Returns their number;
// fewer than the degree: these are no 40 errors.
static int find_zeros(const struct bch_tables *t, const struct locator *locator,
                      int position[BCH_BITS])
{
    int found = 0, terms[BCH_BITS + 1]; // logarithms of the terms at the position tried
    for (int i = 1; i <= locator->degree; i++) {
        terms[i] = locator->at[i] ? t->log[locator->at[i]] : -1;
    }
    for (int bit = 0; bit < WORD_BITS && found < locator->degree; bit++) {
        uint16_t sum = 1;
        for (int i = 1; i <= locator->degree; i++) {
            if (terms[i] >= 0) {
                sum ^= t->power[terms[i]];
                terms[i] -= i; // the next position's α^−bit
                terms[i] += terms[i] < 0 ? FIELD_ORDER : 0;
            }
        }
        if (!sum) {
            position[found++] = bit;
        }
    }
    return found;
}

static void flip(uint8_t *data, uint8_t *meta, uint8_t *parity, int from_end)
{
    int bit = WORD_BITS - 1 - from_end, byte = bit / 8;
    uint8_t mask = (uint8_t)(128 >> (bit % 8));
    if (byte < BCH_DATA_BYTES) {
        data[byte] ^= mask;
    } else if (byte < BCH_DATA_BYTES + BCH_META_BYTES) {
        meta[byte - BCH_DATA_BYTES] ^= mask;
    } else {
        parity[byte - BCH_DATA_BYTES - BCH_META_BYTES] ^= mask;
    }
}

int ecc_bch_decode(uint8_t data[BCH_DATA_BYTES], uint8_t meta[BCH_META_BYTES],
                   uint8_t parity[BCH_PARITY_BYTES])
{
    const struct bch_tables *t = bch_tables();
    uint64_t difference[PARITY_WORDS];
    bch_remainder(data, meta, difference);
    for (int i = 0; i < BCH_PARITY_BYTES; i++) {
        difference[i / 8] ^= (uint64_t)parity[i] << (56 - 8 * (i % 8));
    }
    uint16_t syndrome[SYNDROMES + 1];
    if (!find_syndromes(t, difference, syndrome)) {
        return 0;
    }
    struct locator locator;
    find_locator(t, syndrome, &locator);
    int position[BCH_BITS];
    if (locator.degree > BCH_BITS || find_zeros(t, &locator, position) != locator.degree) {
        return -1;
    }
    for (int i = 0; i < locator.degree; i++) {
        flip(data, meta, parity, position[i]);
    }
    return locator.degree;
}
