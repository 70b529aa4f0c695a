// SPDX-License-Identifier: Apache-2.0
// The text that names a data set: KIND or KIND:ARGUMENT. Pure.
#ifndef DATA_SPEC_H
#define DATA_SPEC_H

#include <stdint.h>

#include "stannis/status.h"

struct data_store_kind;

enum data_spec_argument {
    DATA_SPEC_NONE,  // KIND
    DATA_SPEC_COUNT, // KIND or KIND:COUNT
    DATA_SPEC_DIR,   // KIND:DIR
};

enum { DATA_SPEC_COUNT_MAX = 1000000000 };

struct data_spec {
    const struct data_store_kind *kind;
    const char *dir; // DATA_SPEC_DIR: borrowed from the text, not empty
    int64_t count;   // DATA_SPEC_COUNT: 1 … DATA_SPEC_COUNT_MAX; 0: not given
};

STN_MUST_CHECK enum stn_status data_spec_parse(const char *text, struct data_spec *out);

#endif
