// SPDX-License-Identifier: Apache-2.0
// All verbs and their options as JSON, for whatever is made of them: man pages, completion, tests.
#ifndef TOOLS_STANNIS_TABLE_H
#define TOOLS_STANNIS_TABLE_H

#include "verb.h"

// [{"verb": "train", "summary": …, "options": [{"name": "net", …}, …]}, …] on standard output.
STN_MUST_CHECK enum stn_status table_print(const struct verb *const verbs[], int count);

#endif
