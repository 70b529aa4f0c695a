// SPDX-License-Identifier: Apache-2.0
// The choices among words that settings offer: a constant for the code, and the word, at the same
// place of a list that ends with NULL.
#ifndef SETTINGS_CHOICES_H
#define SETTINGS_CHOICES_H

#include "optim/optimizer.h"

enum settings_schedule { SETTINGS_CONSTANT, SETTINGS_STEP, SETTINGS_COSINE };
enum settings_augment { SETTINGS_NONE, SETTINGS_CROP, SETTINGS_FLIP, SETTINGS_FULL };

// Where nodes' private sets differ in size: the smaller ones leave more room for public data, or
// are repeated until all count like the largest.
enum settings_fill { SETTINGS_FILL_PUBLIC, SETTINGS_FILL_REPEAT };
// Policy hypertune: how a node's new batch is found; see hypertune/paper.h.
enum settings_rebatch { SETTINGS_INTERPOLATE, SETTINGS_INVERSE, SETTINGS_CPU };
enum settings_lr_scale { SETTINGS_LR_SCALE_NONE, SETTINGS_LR_SCALE_LINEAR };
// How weights follow the gradient: of optim_rules[].
#define SETTINGS_OPTIMIZER(word, help) SETTINGS_OPTIMIZER_##word,
enum settings_optimizer { OPTIM_LIST(SETTINGS_OPTIMIZER) };
#undef SETTINGS_OPTIMIZER
// How gradients travel.
enum settings_wire { SETTINGS_FP32, SETTINGS_FP16 };

extern const char *const settings_schedule_names[], *const settings_augment_names[],
                                                        *const settings_fill_names[],
                                                            *const settings_rebatch_names[],
                                                                *const settings_lr_scale_names[],
                                                                    *const settings_wire_names[];
extern const char *const settings_optimizer_names[];
extern const char *const settings_policy_names[]; // of enum stn_policy
extern const char *const settings_subset_names[]; // of enum stn_subset
// Of the display of a training, and of enum sim_failure.
extern const char *const settings_progress_names[], *const settings_failure_names[];
// Of enum flash_ecc and enum flash_timing_mode.
extern const char *const settings_ecc_names[], *const settings_flash_timing_names[];

#endif
