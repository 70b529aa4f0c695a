// SPDX-License-Identifier: Apache-2.0
// A file of class names (--class-list), one a line: their order is the order of labels. For classes
// that no single store shows all of, as where some exist only on one node.
#ifndef DATA_CLASS_LIST_H
#define DATA_CLASS_LIST_H

#include <stddef.h>

#include "base/arena.h"
#include "stannis/status.h"

struct data_class_list {
    const char **names; // [count], different ones
    int count;          // at least 1
    struct base_arena arena;
};

STN_MUST_CHECK enum stn_status data_class_list_load(const char *path, struct data_class_list *out);
// `label` stands for the file in messages: "label:LINE: …".
STN_MUST_CHECK enum stn_status data_class_list_parse(const char *text, size_t bytes,
                                                     const char *label,
                                                     struct data_class_list *out);
// A zeroed list may be ended too.
void data_class_list_fini(struct data_class_list *list);

#endif
