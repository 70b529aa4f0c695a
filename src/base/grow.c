// SPDX-License-Identifier: Apache-2.0
#include "base/grow.h"

#include <stdlib.h>

void *base_grow(void *array, uint32_t *room, uint32_t first, size_t item_bytes)
{
    uint32_t more = *room ? 2 * *room : first;
    void *grown = realloc(array, more * item_bytes);
    if (grown) {
        *room = more;
    }
    return grown;
}
