// SPDX-License-Identifier: Apache-2.0
// Arrays that grow as they fill.
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stddef.h>
#include <stdint.h>

#include "stannis/status.h"

// An array of malloc with twice its room, `first` items if it has none yet; the array may be
// elsewhere afterwards. NULL when memory is out: the array and *room are as they were.
STN_MUST_CHECK void *base_grow(void *array, uint32_t *room, uint32_t first, size_t item_bytes);

#endif
