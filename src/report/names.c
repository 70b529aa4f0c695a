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
const char *const report_subset_names[] = {
    [STN_SUBSET_TRAIN] = "train", [STN_SUBSET_VAL] = "val", NULL};
const char *const report_fill_names[] = {
    [STN_FILL_PUBLIC] = "public", [STN_FILL_REPEAT] = "repeat", NULL};
#define NAME(id, word, help) #word,
const char *const report_policy_names[] = {STN_POLICY_LIST(NAME) NULL};
#undef NAME
const char *const report_rebatch_names[] = {[STN_REBATCH_INTERPOLATE] = "interpolate",
                                            [STN_REBATCH_INVERSE] = "inverse",
                                            [STN_REBATCH_CPU] = "cpu",
                                            NULL};
const char *const report_lr_scale_names[] = {
    [STN_LR_SCALE_NONE] = "none", [STN_LR_SCALE_LINEAR] = "linear", NULL};
const char *const report_wire_names[] = {[STN_WIRE_FP32] = "fp32", [STN_WIRE_FP16] = "fp16", NULL};
