// SPDX-License-Identifier: Apache-2.0
#include "report/names.h"

#include <stddef.h>

#include "stannis/train.h"

const char *const report_schedule_names[] = {[STN_SCHEDULE_CONSTANT] = "constant",
                                             [STN_SCHEDULE_STEP] = "step",
                                             [STN_SCHEDULE_COSINE] = "cosine",
                                             NULL};
const char *const report_augment_names[] = {[STN_AUGMENT_NONE] = "none",
                                            [STN_AUGMENT_CROP] = "crop",
                                            [STN_AUGMENT_FLIP] = "flip",
                                            [STN_AUGMENT_FULL] = "full",
                                            NULL};
const char *const report_split_names[] = {
    [STN_SPLIT_TRAIN] = "train", [STN_SPLIT_VAL] = "val", NULL};
