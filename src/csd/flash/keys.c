// SPDX-License-Identifier: Apache-2.0
#include "csd/flash/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "csd/ecc/crc32c.h"

// The file: slots of 128 bytes, one more than there can be namespaces. A slot: magic, id (0:
// empty), key, CRC32C.
enum {
    SLOTS = FLASH_NAMESPACES_MAX + 1,
    SLOT_BYTES = 128,
    AT_ID = 4,
    AT_KEY = 8,
    AT_CRC = AT_KEY + KEY_BYTES
};
static const char magic[4] = "SKEY";

struct flash_keys {
    int fd; // −1: in memory only
    uint8_t slots[SLOTS][SLOT_BYTES];
    char name[];
};

const char *keys_name(const struct flash_keys *keys)
{
    return keys->name;
}

static uint32_t slot_id(const struct flash_keys *keys, int i)
{
    return (uint32_t)base_get_le(keys->slots[i] + AT_ID, 4);
}

static int slot_of(const struct flash_keys *keys, uint32_t id)
{
    for (int i = 0; i < SLOTS; i++) {
        if (slot_id(keys, i) == id) {
            return i;
        }
    }
    return -1;
}

static enum stn_status store(struct flash_keys *keys, int i)
{
    base_put_le(keys->slots[i] + AT_CRC, ecc_crc32c(0, keys->slots[i], AT_CRC), 4);
    if (keys->fd < 0) {
        return STN_OK;
    }
    if (pwrite(keys->fd, keys->slots[i], SLOT_BYTES, (off_t)i * SLOT_BYTES) != SLOT_BYTES ||
        fdatasync(keys->fd)) {
        return stn_fail(errno == ENOSPC ? STN_ERR_NO_SPACE : STN_ERR_IO, "%s: %s", keys->name,
                        strerror(errno));
    }
    return STN_OK;
}

enum stn_status keys_make(struct flash_keys *keys, uint32_t id)
{
    int i = slot_of(keys, 0);
    if (i < 0) {
        return stn_fail(STN_ERR_NO_SPACE, "%s: holds %d keys already", keys->name, SLOTS);
    }
    if (RAND_bytes(keys->slots[i] + AT_KEY, KEY_BYTES) != 1) {
        return stn_fail(STN_ERR_INTERNAL, "%s: the system gives no random bytes for a key",
                        keys->name);
    }
    base_put_le(keys->slots[i] + AT_ID, id, 4);
    enum stn_status status = store(keys, i);
    if (status) {
        memset(keys->slots[i] + AT_ID, 0, SLOT_BYTES - AT_ID);
    }
    return status;
}

enum stn_status keys_destroy(struct flash_keys *keys, uint32_t id)
{
    int i = slot_of(keys, id);
    if (i < 0) {
        return STN_OK;
    }
    OPENSSL_cleanse(keys->slots[i] + AT_ID, SLOT_BYTES - AT_ID);
    return store(keys, i);
}

const uint8_t *keys_find(const struct flash_keys *keys, uint32_t id)
{
    int i = id ? slot_of(keys, id) : -1;
    return i < 0 ? NULL : keys->slots[i] + AT_KEY;
}

int keys_list(const struct flash_keys *keys, uint32_t out[FLASH_NAMESPACES_MAX])
{
    int count = 0;
    for (int i = 0; i < SLOTS && count < FLASH_NAMESPACES_MAX; i++) {
        if (slot_id(keys, i)) {
            out[count++] = slot_id(keys, i);
        }
    }
    return count;
}

static enum stn_status fill(struct flash_keys *keys)
{
    for (int i = 0; i < SLOTS; i++) {
        memcpy(keys->slots[i], magic, sizeof(magic));
        base_put_le(keys->slots[i] + AT_CRC, ecc_crc32c(0, keys->slots[i], AT_CRC), 4);
    }
    if (keys->fd >= 0 &&
        (pwrite(keys->fd, keys->slots, sizeof(keys->slots), 0) != (ssize_t)sizeof(keys->slots) ||
         fsync(keys->fd))) {
        return stn_fail(STN_ERR_IO, "%s: %s", keys->name, strerror(errno));
    }
    return STN_OK;
}

// A slot that a power cut tore is an empty one: its key was never used, or was being destroyed.
static enum stn_status load(struct flash_keys *keys)
{
    struct stat stat;
    if (fstat(keys->fd, &stat) || stat.st_size != (off_t)sizeof(keys->slots) ||
        pread(keys->fd, keys->slots, sizeof(keys->slots), 0) != (ssize_t)sizeof(keys->slots) ||
        memcmp(keys->slots[0], magic, sizeof(magic)) != 0) {
        return stn_fail(STN_ERR_CORRUPT, "%s: this is no key store of Stannis", keys->name);
    }
    if (stat.st_mode & 077) {
        return stn_fail(STN_ERR_INVALID, "%s: others may read these keys: chmod 600 it",
                        keys->name);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (base_get_le(keys->slots[i] + AT_CRC, 4) != ecc_crc32c(0, keys->slots[i], AT_CRC)) {
            OPENSSL_cleanse(keys->slots[i] + AT_ID, SLOT_BYTES - AT_ID);
        }
    }
    return STN_OK;
}

enum stn_status flash_keys_open(const char *path, bool create, struct flash_keys **out)
{
    const char *name = path ? path : "keys in memory";
    struct flash_keys *keys = calloc(1, sizeof(*keys) + strlen(name) + 1);
    if (!keys) {
        return stn_fail(STN_ERR_NO_MEMORY, "memory for keys");
    }
    strcpy(keys->name, name);
    keys->fd = path ? open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600) : -1;
    enum stn_status status;
    if (path && keys->fd < 0) {
        status = stn_fail(errno == ENOENT ? STN_ERR_NOT_FOUND : STN_ERR_IO, "%s: %s", path,
                          strerror(errno));
    } else {
        status = create || !path ? fill(keys) : load(keys);
    }
    if (status) {
        flash_keys_close(keys);
        return status;
    }
    *out = keys;
    return STN_OK;
}

enum stn_status keys_copy(const struct flash_keys *keys, struct flash_keys **out)
{
    enum stn_status status = flash_keys_open(NULL, true, out);
    if (!status) {
        memcpy((*out)->slots, keys->slots, sizeof(keys->slots));
    }
    return status;
}

void flash_keys_close(struct flash_keys *keys)
{
    if (keys) {
        if (keys->fd >= 0) {
            close(keys->fd);
        }
        OPENSSL_cleanse(keys->slots, sizeof(keys->slots));
        free(keys);
    }
}
