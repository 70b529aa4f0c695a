// SPDX-License-Identifier: Apache-2.0
// A BCH code over GF(2^14) that corrects 40 wrong bits in a code word of 1 KiB of data, 12 bytes of
// metadata and 70 bytes of parity. Encoding takes eight bytes a step from sliced tables; decoding
// is for the rare word that is known to be wrong (by its CRC). The tables are made at the first
// call. Any thread.
#ifndef CSD_ECC_BCH_H
#define CSD_ECC_BCH_H

#include <stdint.h>

enum {
    BCH_DATA_BYTES = 1024,
    BCH_META_BYTES = 12,
    BCH_PARITY_BYTES = 70,
    BCH_BITS = 40, // that can be corrected
};

void ecc_bch_encode(const uint8_t data[BCH_DATA_BYTES], const uint8_t meta[BCH_META_BYTES],
                    uint8_t parity[BCH_PARITY_BYTES]);
// Corrects the word in place and returns how many bits were wrong; −1: more than can be corrected,
// and nothing was changed. A word with very many errors may be taken for another one: check the
// CRC.
int ecc_bch_decode(uint8_t data[BCH_DATA_BYTES], uint8_t meta[BCH_META_BYTES],
                   uint8_t parity[BCH_PARITY_BYTES]);

#endif
