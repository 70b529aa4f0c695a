// SPDX-License-Identifier: Apache-2.0
#include "settings/choices.h"

#include <stddef.h>

#include "stannis/dataset.h"
#include "stannis/plan.h"

const char *const settings_schedule_names[] = {
    [SETTINGS_CONSTANT] = "constant", [SETTINGS_STEP] = "step", [SETTINGS_COSINE] = "cosine", NULL};
const char *const settings_augment_names[] = {[SETTINGS_NONE] = "none",
                                              [SETTINGS_CROP] = "crop",
                                              [SETTINGS_FLIP] = "flip",
                                              [SETTINGS_FULL] = "full",
                                              NULL};
const char *const settings_fill_names[] = {
    [SETTINGS_FILL_PUBLIC] = "public", [SETTINGS_FILL_REPEAT] = "repeat", NULL};
const char *const settings_rebatch_names[] = {[SETTINGS_INTERPOLATE] = "interpolate",
                                              [SETTINGS_INVERSE] = "inverse",
                                              [SETTINGS_CPU] = "cpu",
                                              NULL};
const char *const settings_lr_scale_names[] = {
    [SETTINGS_LR_SCALE_NONE] = "none", [SETTINGS_LR_SCALE_LINEAR] = "linear", NULL};
const char *const settings_wire_names[] = {
    [SETTINGS_FP32] = "fp32", [SETTINGS_FP16] = "fp16", NULL};
const char *const settings_progress_names[] = {"auto", "plain", "json", "none", NULL};
const char *const settings_failure_names[] = {"stop", "resume", NULL};
const char *const settings_ecc_names[] = {"crc", "bch", NULL};
const char *const settings_flash_timing_names[] = {"off", "counted", "enforced", NULL};
const char *const settings_subset_names[] = {
    [STN_SUBSET_TRAIN] = "train", [STN_SUBSET_VAL] = "val", NULL};
#define WORD(word, help) #word,
const char *const settings_optimizer_names[] = {OPTIM_LIST(WORD) NULL};
#undef WORD
#define WORD(id, word, help) #word,
const char *const settings_policy_names[] = {STN_POLICY_LIST(WORD) NULL};
#undef WORD
