// SPDX-License-Identifier: Apache-2.0
#include "csd/flash/cipher.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "base/bytes.h"

struct cipher {
    EVP_CIPHER_CTX *encrypt, *decrypt;
};

struct cipher *cipher_create(const uint8_t key[KEY_BYTES])
{
    struct cipher *cipher = calloc(1, sizeof(*cipher));
    if (!cipher) {
        return NULL;
    }
    cipher->encrypt = EVP_CIPHER_CTX_new();
    cipher->decrypt = EVP_CIPHER_CTX_new();
    if (!cipher->encrypt || !cipher->decrypt ||
        EVP_EncryptInit_ex(cipher->encrypt, EVP_aes_256_xts(), NULL, key, NULL) != 1 ||
        EVP_DecryptInit_ex(cipher->decrypt, EVP_aes_256_xts(), NULL, key, NULL) != 1) {
        cipher_destroy(cipher);
        return NULL;
    }
    return cipher;
}

void cipher_destroy(struct cipher *cipher)
{
    if (cipher) {
        EVP_CIPHER_CTX_free(cipher->encrypt);
        EVP_CIPHER_CTX_free(cipher->decrypt);
        free(cipher);
    }
}

static void make_tweak(uint64_t lpn, uint64_t seq, uint8_t out[16])
{
    base_put_le(out, lpn, 8);
    base_put_le(out + 8, seq, 8);
}

bool cipher_encrypt(struct cipher *cipher, uint64_t lpn, uint64_t seq, const void *plain, void *out)
{
    uint8_t tweak[16];
    int size = 0;
    make_tweak(lpn, seq, tweak);
    return EVP_EncryptInit_ex(cipher->encrypt, NULL, NULL, NULL, tweak) == 1 &&
           EVP_EncryptUpdate(cipher->encrypt, out, &size, plain, FLASH_UNIT_BYTES) == 1;
}

bool cipher_decrypt(struct cipher *cipher, uint64_t lpn, uint64_t seq, const void *sealed,
                    void *out)
{
    uint8_t tweak[16];
    int size = 0;
    make_tweak(lpn, seq, tweak);
    return EVP_DecryptInit_ex(cipher->decrypt, NULL, NULL, NULL, tweak) == 1 &&
           EVP_DecryptUpdate(cipher->decrypt, out, &size, sealed, FLASH_UNIT_BYTES) == 1;
}
