// SPDX-License-Identifier: Apache-2.0
// Messages from arbitrary bytes, the first of which says which message: what is accepted are the
// bytes that encoding it again gives; what is refused can be looked at all the same.
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[WIRE_BYTES_MAX] = {0}, again[WIRE_BYTES_MAX];
    uint64_t value[2 * WIRE_BYTES_MAX / 8];
    if (size == 0) {
        return 0;
    }
    enum wire_message message = (enum wire_message)(data[0] % WIRE_MESSAGE_COUNT);
    size_t width = wire_layouts[message].bytes, given = size - 1 < width ? size - 1 : width;
    memcpy(bytes, data + 1, given);
    bool good = wire_decode(message, bytes, value);
    wire_encode(message, value, again);
    if (good && memcmp(bytes, again, width) != 0) {
        abort();
    }
    if (!wire_decode(message, again, value)) {
        abort();
    }
    return 0;
}
