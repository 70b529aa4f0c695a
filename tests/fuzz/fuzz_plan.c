// SPDX-License-Identifier: Apache-2.0
// The reader of plan files on arbitrary bytes: what it accepts can be written and read again, and
// says the same.
#include <stdlib.h>
#include <string.h>

#include "planfile/planfile.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_quiet();
    struct stn_plan *plan, *again;
    char *text, *text_again;
    if (planfile_parse((const char *)data, size, "plan", &plan) != STN_OK) {
        return 0;
    }
    if (stn_plan_text(plan, &text) != STN_OK ||
        planfile_parse(text, strlen(text), "plan", &again) != STN_OK ||
        stn_plan_text(again, &text_again) != STN_OK || strcmp(text, text_again) != 0) {
        abort();
    }
    free(text_again);
    free(text);
    stn_plan_destroy(again);
    stn_plan_destroy(plan);
    return 0;
}
