// SPDX-License-Identifier: Apache-2.0
// The encoder: division by the generator polynomial, eight bytes a step.
#include "csd/ecc/bch.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "csd/ecc/field.h"

static struct bch_tables tables;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_field(void)
{
    unsigned value = 1;
    for (int i = 0; i < FIELD_ORDER; i++) {
        tables.power[i] = tables.power[i + FIELD_ORDER] = (uint16_t)value;
        tables.log[value] = (uint16_t)i;
        value <<= 1;
        if (value >> FIELD_BITS) {
            value ^= FIELD_POLYNOMIAL;
        }
    }
}

// The product of (x − α^(root·2^j)) over all j: a polynomial over GF(2), bit i for x^i.
static unsigned minimal_polynomial(int root)
{
    uint16_t poly[FIELD_BITS + 1] = {1}; // poly[i] of x^i
    for (int j = 0; j < FIELD_BITS; j++) {
        uint16_t zero = tables.power[(root << j) % FIELD_ORDER];
        for (int i = j + 1; i > 0; i--) {
            poly[i] = (uint16_t)(poly[i - 1] ^ field_product(&tables, poly[i], zero));
        }
        poly[0] = field_product(&tables, poly[0], zero);
    }
    unsigned bits = 0;
    for (int i = 0; i <= FIELD_BITS; i++) {
        bits |= (unsigned)poly[i] << i;
    }
    return bits;
}

// coefficient[i] of x^i of the generator, i ≤ 560: the minimal polynomials of α, α^3, …, α^79.
static void make_generator(uint8_t coefficient[PARITY_BITS + 1])
{
    uint8_t product[PARITY_BITS + 1] = {1};
    for (int k = 0; k < BCH_BITS; k++) {
        unsigned factor = minimal_polynomial(2 * k + 1);
        memset(coefficient, 0, PARITY_BITS + 1);
        for (int i = 0; i <= FIELD_BITS * k; i++) {
            for (int j = 0; product[i] && j <= FIELD_BITS; j++) {
                coefficient[i + j] = (uint8_t)(coefficient[i + j] ^ ((factor >> j) & 1));
            }
        }
        memcpy(product, coefficient, sizeof(product));
    }
}

// One bit further: x · r modulo the generator, whose bits below x^560 are `generator`.
static void shift_bit(uint64_t r[PARITY_WORDS], const uint64_t generator[PARITY_WORDS])
{
    uint64_t carry = r[0] >> 63;
    for (int w = 0; w < PARITY_WORDS; w++) {
        uint64_t next = w + 1 < PARITY_WORDS ? r[w + 1] >> 63 : 0;
        r[w] = ((r[w] << 1) | next) ^ (carry ? generator[w] : 0);
    }
}

static void make_slices(const uint64_t generator[PARITY_WORDS])
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint64_t r[PARITY_WORDS] = {(uint64_t)byte << 56};
        for (int k = 0; k < SLICES; k++) {
            for (int bit = 0; bit < 8; bit++) {
                shift_bit(r, generator);
            }
            memcpy(tables.slice[k][byte], r, sizeof(r));
        }
    }
}

static void make_tables(void)
{
    uint8_t coefficient[PARITY_BITS + 1];
    uint64_t generator[PARITY_WORDS] = {0};
    make_field();
    make_generator(coefficient);
    for (int i = 0; i < PARITY_BITS; i++) { // x^559 is the highest bit of the first word
        int at = PARITY_BITS - 1 - i;
        generator[at / 64] |= (uint64_t)coefficient[i] << (63 - at % 64);
    }
    make_slices(generator);
}

const struct bch_tables *bch_tables(void)
{
    pthread_once(&tables_once, make_tables);
    return &tables;
}

static inline uint64_t big_endian(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof(value));
    return __builtin_bswap64(value);
}

static inline void add_eight(const struct bch_tables *t, uint64_t r[PARITY_WORDS],
                             const uint8_t *at)
{
    uint64_t x = r[0] ^ big_endian(at);
    const uint64_t *rows[SLICES];
    for (int k = 0; k < SLICES; k++) {
        rows[k] = t->slice[k][(x >> (8 * k)) & 255];
    }
    for (int w = 0; w < PARITY_WORDS; w++) {
        uint64_t low = w + 1 < PARITY_WORDS ? r[w + 1] : 0;
        r[w] = low ^ rows[0][w] ^ rows[1][w] ^ rows[2][w] ^ rows[3][w] ^ rows[4][w] ^ rows[5][w] ^
               rows[6][w] ^ rows[7][w];
    }
}

static inline void add_byte(const struct bch_tables *t, uint64_t r[PARITY_WORDS], uint8_t byte)
{
    const uint64_t *row = t->slice[0][(r[0] >> 56) ^ byte];
    for (int w = 0; w < PARITY_WORDS; w++) {
        uint64_t next = w + 1 < PARITY_WORDS ? r[w + 1] >> 56 : 0;
        r[w] = ((r[w] << 8) | next) ^ row[w];
    }
}

void bch_remainder(const uint8_t *data, const uint8_t *meta, uint64_t out[PARITY_WORDS])
{
    const struct bch_tables *t = bch_tables();
    uint64_t r[PARITY_WORDS] = {0};
    for (int i = 0; i < BCH_DATA_BYTES; i += 8) {
        add_eight(t, r, data + i);
    }
    add_eight(t, r, meta);
    for (int i = 8; i < BCH_META_BYTES; i++) {
        add_byte(t, r, meta[i]);
    }
    memcpy(out, r, sizeof(r));
}

void ecc_bch_encode(const uint8_t data[BCH_DATA_BYTES], const uint8_t meta[BCH_META_BYTES],
                    uint8_t parity[BCH_PARITY_BYTES])
{
    uint64_t r[PARITY_WORDS];
    bch_remainder(data, meta, r);
    for (int i = 0; i < BCH_PARITY_BYTES; i++) {
        parity[i] = (uint8_t)(r[i / 8] >> (56 - 8 * (i % 8)));
    }
}
