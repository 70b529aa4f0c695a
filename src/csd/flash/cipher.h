// SPDX-License-Identifier: Apache-2.0
// AES-256-XTS over units. The tweak is the unit's number and its seq, so that no two versions of a
// unit are encrypted alike, and moving a unit needs no key. One thread at a time for each cipher.
#ifndef CSD_FLASH_CIPHER_H
#define CSD_FLASH_CIPHER_H

#include "csd/flash/keys.h"

struct cipher; // the two directions of one key

struct cipher *cipher_create(const uint8_t key[KEY_BYTES]); // NULL: libcrypto refused
void cipher_destroy(struct cipher *cipher);                 // takes NULL
// False: libcrypto refused.
bool cipher_encrypt(struct cipher *cipher, uint64_t lpn, uint64_t seq, const void *plain,
                    void *out);
bool cipher_decrypt(struct cipher *cipher, uint64_t lpn, uint64_t seq, const void *sealed,
                    void *out);

#endif
