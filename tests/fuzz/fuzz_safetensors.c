// SPDX-License-Identifier: Apache-2.0
// Any bytes at all into the safetensors reader; what it accepts must be safe to walk.
#include <stdlib.h>

#include "checkpoint/safetensors.h"
#include "target.h"

// Reads every byte, so that a sanitizer sees a tensor that reaches outside.
static unsigned sum(const struct safetensors *file)
{
    unsigned total = 0;
    for (int i = 0; i < safetensors_count(file); i++) {
        const struct safetensors_tensor *t = safetensors_at(file, i);
        const unsigned char *bytes = t->data;
        for (size_t b = 0; b < t->bytes; b++) {
            total += bytes[b];
        }
        if (!safetensors_find(file, t->name)) {
            abort();
        }
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    struct safetensors *file;
    if (safetensors_parse(data, size, "input", &file) == STN_OK) {
        volatile unsigned kept = sum(file);
        (void)kept;
        safetensors_close(file);
    }
    return 0;
}
