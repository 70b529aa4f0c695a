// SPDX-License-Identifier: Apache-2.0
// GF(2^14) by logarithms, for the BCH code alone. Polynomials over GF(2) of the code's parity are
// nine words, the highest power first; the lowest 16 bits of the last word are not used.
#ifndef CSD_ECC_FIELD_H
#define CSD_ECC_FIELD_H

#include <stdint.h>

enum {
    FIELD_BITS = 14,
    FIELD_ORDER = (1 << FIELD_BITS) - 1,
    FIELD_POLYNOMIAL = 0x4443, // x^14 + x^10 + x^6 + x + 1, primitive
    PARITY_BITS = 560,
    PARITY_WORDS = 9,
    SLICES = 8,
};

struct bch_tables {
    uint16_t
        power[2 * FIELD_ORDER]; // α^i, twice over so that sums of two logarithms need no remainder
    uint16_t log[FIELD_ORDER + 1];
    // slice[k][b]: remainder of byte b, k bytes before the parity.
    uint64_t slice[SLICES][256][PARITY_WORDS];
};

// Made once.
const struct bch_tables *bch_tables(void);
// Remainder of data and metadata: what the encoder stores.
void bch_remainder(const uint8_t *data, const uint8_t *meta, uint64_t out[PARITY_WORDS]);

static inline uint16_t field_product(const struct bch_tables *t, uint16_t a, uint16_t b)
{
    return a && b ? t->power[t->log[a] + t->log[b]] : 0;
}

#endif
