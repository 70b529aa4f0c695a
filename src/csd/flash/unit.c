// SPDX-License-Identifier: Apache-2.0
#include "csd/flash/unit.h"

#include <string.h>

#include "base/bytes.h"
#include "csd/ecc/bch.h"
#include "csd/ecc/crc32c.h"

enum {
    WORDS = FLASH_UNIT_BYTES / BCH_DATA_BYTES,
    AT_META = FLASH_UNIT_BYTES,
    AT_CRC = AT_META + LAYOUT_META_BYTES - 4,
    AT_PARITY = AT_META + LAYOUT_META_BYTES,
};

_Static_assert((int)LAYOUT_META_BYTES == WORDS * (int)BCH_META_BYTES, "metadata is shared out");
_Static_assert((int)LAYOUT_PARITY_BYTES == WORDS * (int)BCH_PARITY_BYTES, "parity of all words");

static void put_meta(uint8_t *p, const struct unit_meta *m)
{
    p[0] = m->kind;
    p[1] = m->stream;
    base_put_le(p + 2, m->count, 2);
    base_put_le(p + 4, m->ns, 4);
    base_put_le(p + 8, m->lpn, 8);
    base_put_le(p + 16, m->seq, 8);
    base_put_le(p + 24, m->stamp, 8);
    base_put_le(p + 32, m->durable, 8);
    base_put_le(p + 40, m->generation, 4);
}

static void get_meta(const uint8_t *p, struct unit_meta *out)
{
    *out = (struct unit_meta){.kind = p[0],
                              .stream = p[1],
                              .count = (uint16_t)base_get_le(p + 2, 2),
                              .ns = (uint32_t)base_get_le(p + 4, 4),
                              .lpn = base_get_le(p + 8, 8),
                              .seq = base_get_le(p + 16, 8),
                              .stamp = base_get_le(p + 24, 8),
                              .durable = base_get_le(p + 32, 8),
                              .generation = (uint32_t)base_get_le(p + 40, 4)};
}

void unit_seal(uint8_t *raw, enum flash_ecc ecc, const struct unit_meta *meta)
{
    put_meta(raw + AT_META, meta);
    base_put_le(raw + AT_CRC, ecc_crc32c(0, raw, AT_CRC), 4);
    for (int w = 0; ecc == FLASH_ECC_BCH && w < WORDS; w++) {
        ecc_bch_encode(raw + w * BCH_DATA_BYTES, raw + AT_META + w * BCH_META_BYTES,
                       raw + AT_PARITY + w * BCH_PARITY_BYTES);
    }
}

static bool crc_agrees(const uint8_t *raw)
{
    return base_get_le(raw + AT_CRC, 4) == ecc_crc32c(0, raw, AT_CRC);
}

static bool is_erased(const uint8_t *raw)
{
    return !raw[0] && memcmp(raw, raw + 1, AT_PARITY - 1) == 0;
}

static int correct(uint8_t *raw, int *worst)
{
    int bits = 0;
    for (int w = 0; w < WORDS; w++) {
        int wrong = ecc_bch_decode(raw + w * BCH_DATA_BYTES, raw + AT_META + w * BCH_META_BYTES,
                                   raw + AT_PARITY + w * BCH_PARITY_BYTES);
        if (wrong < 0) {
            return UNIT_UNREADABLE;
        }
        bits += wrong;
        *worst = wrong > *worst ? wrong : *worst;
    }
    return crc_agrees(raw) ? bits : UNIT_UNREADABLE;
}

int unit_open(uint8_t *raw, enum flash_ecc ecc, struct unit_meta *out, int *worst)
{
    int bits = 0;
    *worst = 0;
    if (!crc_agrees(raw) || raw[AT_META] == UNIT_NONE) {
        if (is_erased(raw)) {
            return UNIT_ERASED;
        }
        bits = ecc == FLASH_ECC_BCH ? correct(raw, worst) : UNIT_UNREADABLE;
    }
    if (bits >= 0) {
        get_meta(raw + AT_META, out);
    }
    return bits;
}

int unit_inspect(uint8_t *raw, enum flash_ecc ecc, struct unit_meta *out, int *worst)
{
    uint8_t copy[LAYOUT_RAW_BCH]; // a torn parity would have right bytes "corrected"
    int bits = unit_open(raw, ecc, out, worst);
    if (bits == 0 && ecc == FLASH_ECC_BCH) {
        memcpy(copy, raw, sizeof(copy));
        bits = correct(copy, worst);
        if (bits < 0) {
            bits = *worst = BCH_BITS + 1;
        }
    }
    return bits;
}
