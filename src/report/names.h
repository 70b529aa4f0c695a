// SPDX-License-Identifier: Apache-2.0
// What the enums of the public headers are called on the command line and in reports; NULL at the
// end.
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

extern const char *const report_schedule_names[];
extern const char *const report_augment_names[];
extern const char *const report_subset_names[];
extern const char *const report_fill_names[];
extern const char *const report_wire_names[];
extern const char *const report_policy_names[];
extern const char *const report_rebatch_names[];
extern const char *const report_lr_scale_names[];

#endif
