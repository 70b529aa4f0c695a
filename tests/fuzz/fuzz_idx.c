// SPDX-License-Identifier: Apache-2.0
// The IDX reader on arbitrary bytes, as labels and as images: what it accepts must lie in the
// buffer.
#include <stdlib.h>

#include "data/idx.h"
#include "target.h"

static void parse(const uint8_t *data, size_t size, int rank)
{
    struct data_idx idx;
    if (data_idx_parse("fuzz", data, size, rank, &idx) != STN_OK) {
        return;
    }
    size_t product = 1;
    for (int i = 0; i < rank; i++) {
        product *= idx.lengths[i];
    }
    if (product != idx.count || idx.values + idx.count != data + size) {
        abort();
    }
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < idx.count; i++) {
        sum = (uint8_t)(sum + idx.values[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    parse(data, size, 1);
    parse(data, size, 3);
    return 0;
}
