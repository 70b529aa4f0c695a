// SPDX-License-Identifier: Apache-2.0
// The parser of data set specs on arbitrary text: what it accepts must be complete.
#include <stdbool.h>
#include <stdlib.h>

#include "data/spec.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    fuzz_quiet();
    struct data_spec spec;
    if (data_spec_parse(text, &spec) == STN_OK) {
        bool dir_ok = !spec.dir || (*spec.dir && spec.dir > text && spec.dir <= text + size);
        if (!spec.kind || !dir_ok || spec.count < 0 || spec.count > DATA_SPEC_COUNT_MAX) {
            abort();
        }
    }
    free(text);
    return 0;
}
