// SPDX-License-Identifier: Apache-2.0
// The parser of class lists on arbitrary bytes: what it accepts are different, printable names.
#include <stdlib.h>
#include <string.h>

#include "data/class_list.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    struct data_class_list list;
    if (data_class_list_parse((const char *)data, size, "list", &list) != STN_OK) {
        return 0;
    }
    size_t bytes = 0;
    for (int i = 0; i < list.count; i++) {
        bytes += strlen(list.names[i]) + 1;
        if (!*list.names[i] || strpbrk(list.names[i], "\r\n\t") ||
            (i > 0 && strcmp(list.names[i - 1], list.names[i]) == 0)) {
            abort();
        }
    }
    if (list.count < 1 || bytes > size + 1) {
        abort();
    }
    data_class_list_fini(&list);
    return 0;
}
