// SPDX-License-Identifier: Apache-2.0
// The key store from inside; flash.h says what it is.
#ifndef CSD_FLASH_KEYS_H
#define CSD_FLASH_KEYS_H

#include "csd/flash/flash.h"

enum { KEY_BYTES = 64 }; // AES-256-XTS: two keys of 32

// Durable when they return STN_OK.
STN_MUST_CHECK enum stn_status keys_make(struct flash_keys *keys, uint32_t id);
STN_MUST_CHECK enum stn_status keys_destroy(struct flash_keys *keys, uint32_t id);
// NULL: there is none. Borrowed until the next change.
const uint8_t *keys_find(const struct flash_keys *keys, uint32_t id);
// Ids of all keys; returns how many.
int keys_list(const struct flash_keys *keys, uint32_t out[FLASH_NAMESPACES_MAX]);
// The same keys, in memory only.
STN_MUST_CHECK enum stn_status keys_copy(const struct flash_keys *keys, struct flash_keys **out);
const char *keys_name(const struct flash_keys *keys);

#endif
